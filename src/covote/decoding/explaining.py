"""Explain why an item has its label: the evidence for each possible class, and who must be wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from covote.arguments import some_of
from covote.errors import InputError
from covote.labels import Labels
from covote.panel import Name, Panel
from covote.votes import Votes

MOST = 6
"""The most candidates to show, unless more are tied."""


@dataclass(frozen=True)
class Candidate:
    """A possible class of an item.

    Attributes
    ----------
    says
        The authorities of the class who name it.
    differs
        The authorities who answer something else (None: "none of mine"): wrong if this class is the truth.
    silent
        How many authorities of the class did not answer.
    chance
        The probability of the class; NaN if the labels have none.
    """

    name: Name
    says: tuple[Name, ...]
    differs: tuple[tuple[Name, Name | None], ...]
    silent: int
    chance: float = float("nan")


@dataclass(frozen=True)
class Explanation:
    """The answers about an item, by candidate.

    `others` are the answers of experts who know none of the candidates; `settling` is advice on how to settle
    an item without a label.
    """

    item: Any
    label: Name | None
    status: str
    candidates: tuple[Candidate, ...]
    others: tuple[tuple[Name | None, int], ...]
    settling: str = ""

    @property
    def wrong(self) -> tuple[Name, ...]:
        """The experts who are wrong whichever of the candidates is the truth."""
        if not self.candidates:
            return ()
        common = set.intersection(*({name for name, _ in one.differs} for one in self.candidates))
        return tuple(name for name, _ in self.candidates[0].differs if name in common)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as a dict that JSON can hold."""
        return {**asdict(self), "wrong": list(self.wrong)}

    def __str__(self) -> str:
        what = "has no label" if self.label is None else f"is {self.label}"
        lines = [f"{self.item} {what} ({self.status})."]
        width = max((len(str(one.name)) for one in self.candidates), default=0)
        for one in self.candidates:
            asked = len(one.says) + len(one.differs)
            chance = f", {one.chance:.0%} likely" if one.chance == one.chance else ""
            silent = f", {one.silent} not asked" if one.silent else ""
            who = f"{len(one.says)} of {asked} experts who know {one.name}"
            lines.append(f"  {one.name!s:{width}}  {who}{chance}{silent}")
            if one.says:
                lines.append(f"    for: {_listed(one.says)}")
            if one.differs:
                named = [f"{name} ({_said(answer)})" for name, answer in one.differs]
                lines.append(f"    against (wrong if this is the class): {_listed(named)}")
        if self.others:
            named = [f"{_said(answer)} x {count}" for answer, count in self.others]
            lines.append(f"  Others, who know none of these: {_listed(named)}")
        if self.wrong:
            lines.append(f"  Wrong whichever of these it is: {_listed(self.wrong)}.")
        if self.settling:
            lines.append(f"  {self.settling}")
        return "\n".join(lines)


def explain(votes: Votes, item: Any, labels: Labels | None = None) -> Explanation:
    """Explain a label: the evidence for each possible class, and who must be wrong.

    Parameters
    ----------
    votes
        The experts' answers.
    item
        The id of the item, as in ``votes.items``.
    labels
        The labels of these votes (default: decoded by the default method).

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], ["ann", "bob", "cy"])
    >>> print(explain(Votes.from_dense([[0, 1, 2]], panel), 0))
    0 has no label (tied).
      cat  1 of 2 experts who know cat, 33% likely
        for: ann
        against (wrong if this is the class): cy (fox)
      dog  1 of 2 experts who know dog, 33% likely
        for: bob
        against (wrong if this is the class): ann (cat)
      fox  1 of 2 experts who know fox, 33% likely
        for: cy
        against (wrong if this is the class): bob (dog)
      The experts contradict each other: ask another expert who knows cat, dog and fox, or look at the item.
    """
    from covote.decoding import decode  # which imports this module

    n = _position(votes, item)
    if labels is None:
        labels = decode(votes, proba=True)
    one = votes.part(n, n + 1).ragged
    answers = {
        votes.panel.names[i]: votes.label_name(int(label))
        for i, label in zip(one.expert.tolist(), one.label.tolist(), strict=True)
    }
    names = [labels.value[n], *labels.tied_classes(n), labels.runner_up[n]]
    names += [name for name, _ in Counter(answers.values()).most_common(MOST)]
    known = {name for name in names if name is not None}
    chances = (
        {} if labels.found_proba is None else dict(zip(votes.panel.classes, labels.proba[n], strict=True))
    )
    kept = [name for name in dict.fromkeys(names) if name in known][: max(MOST, len(labels.tied_classes(n)))]
    candidates, others = sides(votes.panel, kept, answers, chances)
    plain = item.item() if isinstance(item, np.generic) else item
    tied = labels.tied_classes(n) if labels.index[n] < 0 else ()
    found = str(labels.status[n])
    return Explanation(plain, labels.value[n], found, candidates, others, settling(votes.panel, tied))


def settling(panel: Panel, classes: Iterable[Name]) -> str:
    """Return advice on how to settle items that are tied between some classes; "" for fewer than two.

    >>> settling(Panel.from_blocks({"ann": ["cat", "fox"], "bob": ["dog", "fox"]}), ["cat", "dog"])
    'No one knows both cat and dog: an expert who does would settle it, or a few gold items of either.'
    """
    tied = list(classes)
    if len(tied) < 2:
        return ""
    index = [panel.class_index(name) for name in tied]
    common = panel.knows[:, index].astype(np.int64)
    apart = np.argwhere(np.triu(common.T @ common == 0, 1))
    if len(apart):
        one, other = tied[apart[0][0]], tied[apart[0][1]]
        more = f" ({len(apart) - 1} more such pairs)" if len(apart) > 1 else ""
        return (
            f"No one knows both {one} and {other}{more}: an expert who does would settle it, or a few gold "
            "items of either."
        )
    named = f"{', '.join(map(str, tied[:-1]))} and {tied[-1]}"
    known = named if len(tied) <= 3 else f"all {len(tied)} of them"
    return f"The experts contradict each other: ask another expert who knows {known}, or look at the item."


def sides(
    panel: Panel,
    names: Iterable[Name],
    answers: Mapping[Name, Name | None],
    chances: Mapping[Name, float] | None = None,
) -> tuple[tuple[Candidate, ...], tuple[tuple[Name | None, int], ...]]:
    """Return the answers to an item by candidate, and those of experts who know none of the candidates."""
    candidates, heard = [], set()
    for name in names:
        knows = panel.knows[:, panel.class_index(name)]
        asked = [expert for expert in answers if knows[panel.expert_index(expert)]]
        heard.update(asked)
        says = tuple(expert for expert in asked if answers[expert] == name)
        differs = tuple((expert, answers[expert]) for expert in asked if answers[expert] != name)
        chance = float((chances or {}).get(name, np.nan))
        candidates.append(Candidate(name, says, differs, int(knows.sum()) - len(asked), chance))
    rest = Counter(answer for expert, answer in answers.items() if expert not in heard)
    return tuple(candidates), tuple(rest.most_common())


def _position(votes: Votes, item: Any) -> int:
    found = np.flatnonzero(votes.items == item)
    if not len(found):
        some = some_of([repr(one) for one in votes.items[:5].tolist()])
        raise InputError(f"no item {item!r} in these votes; they have {len(votes):,} items, such as {some}")
    return int(found[0])


def _said(answer: Name | None) -> str:
    return "none of mine" if answer is None else str(answer)


def _listed(names: Iterable[Any]) -> str:
    shown = [str(name) for name in names]
    more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
    return ", ".join(shown[:12]) + more
