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
ASKED = 3
"""The most experts to name whose answer would help."""


@dataclass(frozen=True)
class CandidateClass:
    """A possible class of an item.

    Attributes
    ----------
    named_by
        The authorities of the class who name it.
    contradicted_by
        The authorities who answer something else (None: "none of mine"): wrong if this class is the truth.
    unanswered
        How many authorities of the class did not answer.
    probability
        The probability of the class; NaN if the labels have none.
    """

    name: Name
    named_by: tuple[Name, ...]
    contradicted_by: tuple[tuple[Name, Name | None], ...]
    unanswered: int
    probability: float = float("nan")

    @property
    def support(self) -> str:
        """How many of the experts who know the class name it, and how likely it is."""
        answered = len(self.named_by) + len(self.contradicted_by)
        experts = answered + self.unanswered
        text = f"{len(self.named_by)} of {answered} experts who know {self.name}"
        if answered == 1 and self.named_by and self.unanswered:
            text = f"1 answer, from the only one of {experts} experts who know {self.name} who answered"
        elif self.unanswered:
            text += f" ({self.unanswered} more gave no answer)"
        return text + (f", {self.probability:.0%} likely" if self.probability == self.probability else "")


@dataclass(frozen=True)
class Explanation:
    """The answers about an item, by candidate.

    `others` are the answers of experts who know none of the candidates; `advice` is advice on how to settle
    an item without a label.
    """

    item: Any
    label: Name | None
    status: str
    candidates: tuple[CandidateClass, ...]
    others: tuple[tuple[Name | None, int], ...]
    advice: str = ""

    @property
    def wrong(self) -> tuple[Name, ...]:
        """The experts who are wrong whichever of the candidates is the truth."""
        if not self.candidates:
            return ()
        common = set.intersection(*({name for name, _ in one.contradicted_by} for one in self.candidates))
        return tuple(name for name, _ in self.candidates[0].contradicted_by if name in common)

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as a dict that JSON can hold."""
        return {**asdict(self), "wrong": list(self.wrong)}

    def __str__(self) -> str:
        what = "has no label" if self.label is None else f"is {self.label}"
        lines = [f"{self.item} {what} ({self.status})."]
        width = max((len(str(one.name)) for one in self.candidates), default=0)
        for one in self.candidates:
            lines.append(f"  {one.name!s:{width}}  {one.support}")
            if one.named_by:
                lines.append(f"    for: {_listed(one.named_by)}")
            if len(one.contradicted_by) == 1:
                (name, answer), *_ = one.contradicted_by
                lines.append(f"    contradicted by {name}, who says {_said(answer)} and would be wrong")
            elif one.contradicted_by:
                named = [f"{name} ({_said(answer)})" for name, answer in one.contradicted_by]
                lines.append(f"    contradicted by {_listed(named)}, who would be wrong")
        if self.others:
            named = [f"{_said(answer)} x {count}" for answer, count in self.others]
            lines.append(f"  Others, who know none of these: {_listed(named)}")
        if self.wrong:
            lines.append(f"  Wrong whichever of these it is: {_listed(self.wrong)}.")
        if self.advice:
            lines.append(f"  {self.advice}")
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
        contradicted by cy, who says fox and would be wrong
      dog  1 of 2 experts who know dog, 33% likely
        for: bob
        contradicted by ann, who says cat and would be wrong
      fox  1 of 2 experts who know fox, 33% likely
        for: cy
        contradicted by bob, who says dog and would be wrong
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
        {} if labels.proba_or_none is None else dict(zip(votes.panel.classes, labels.proba[n], strict=True))
    )
    kept = [name for name in dict.fromkeys(names) if name in known][: max(MOST, len(labels.tied_classes(n)))]
    candidates, others = group_answers(votes.panel, kept, answers, chances)
    plain = item.item() if isinstance(item, np.generic) else item
    tied = labels.tied_classes(n) if labels.index[n] < 0 else ()
    found = str(labels.status[n])
    todo = advice(votes.panel, found, labels.value[n], tied, answers)
    return Explanation(plain, labels.value[n], found, candidates, others, todo)


def advice(
    panel: Panel, status: str, label: Name | None, tied: Iterable[Name], answers: Mapping[Name, Name | None]
) -> str:
    """Return advice on how to settle an item that is tied or incomplete; "" for others.

    `tied` are the classes that share the best score, `answers` what every expert said who answered.

    >>> panel = Panel.from_blocks({"ann": ["cat", "fox"], "bob": ["dog", "fox"], "cy": ["cat", "dog"]})
    >>> advice(panel, "incomplete", "cat", [], {"ann": "cat"})
    'No one who knows dog has answered: ask cy or bob.'
    >>> advice(panel.without("cy"), "tied", None, ["cat", "dog"], {"ann": "cat", "bob": "dog"})
    'No one knows both cat and dog: an expert who does would settle it, or a few gold items of either.'
    """
    if status == "incomplete":
        return _whom_to_ask(panel, label, answers)
    tied = list(tied)
    if len(tied) < 2:
        return ""
    index = [panel.class_index(name) for name in tied]
    common = panel.present.knows[:, index].astype(np.int64)
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


def _whom_to_ask(panel: Panel, label: Name | None, answers: Mapping[Name, Name | None]) -> str:
    """Say whose answers are missing: of those who know the classes that no one judged, or the label."""
    answered = np.isin(np.arange(len(panel)), [panel.expert_index(name) for name in answers])
    unjudged = np.logical_not(panel.knows[answered].any(axis=0))
    wanted = unjudged.copy()
    if label is not None:
        wanted[panel.class_index(label)] = True
    # Who knows the most unjudged classes; among those, who knows the label.
    gain = 2 * (panel.knows & unjudged).sum(axis=1) + (panel.knows & wanted).sum(axis=1)
    gain[answered | panel.left] = 0
    first = [panel.names[i] for i in np.argsort(-gain, kind="stable") if gain[i] > 0][:ASKED]
    ask = f": ask {_either(first)}" if first else ", and the panel has no one else to ask"
    if not unjudged.any():
        return f"Only one expert who knows {label} has answered{ask}."
    if unjudged.all():
        return f"No one has answered{ask}."
    names = [panel.classes[k] for k in np.flatnonzero(unjudged)[:2]]
    more = int(unjudged.sum()) - len(names)
    which = f"{', '.join(map(str, names))} or {more} more classes" if more else _either(names)
    return f"No one who knows {which} has answered{ask}."


def _either(names: list[Name]) -> str:
    """Return names as text: "ann, bob or cy"."""
    return " or ".join(filter(None, [", ".join(map(str, names[:-1])), str(names[-1])]))


def group_answers(
    panel: Panel,
    names: Iterable[Name],
    answers: Mapping[Name, Name | None],
    chances: Mapping[Name, float] | None = None,
) -> tuple[tuple[CandidateClass, ...], tuple[tuple[Name | None, int], ...]]:
    """Return the answers to an item by candidate, and those of experts who know none of the candidates."""
    candidates, heard = [], set()
    for name in names:
        knows = panel.knows[:, panel.class_index(name)]
        asked = [expert for expert in answers if knows[panel.expert_index(expert)]]
        heard.update(asked)
        named_by = tuple(expert for expert in asked if answers[expert] == name)
        contradicted_by = tuple((expert, answers[expert]) for expert in asked if answers[expert] != name)
        chance = float((chances or {}).get(name, np.nan))
        candidates.append(
            CandidateClass(name, named_by, contradicted_by, int(knows.sum()) - len(asked), chance)
        )
    rest = Counter(answer for expert, answer in answers.items() if expert not in heard)
    return tuple(candidates), tuple(rest.most_common())


def _position(votes: Votes, item: Any) -> int:
    found = np.flatnonzero(votes.items == item)
    if not len(found):
        some = some_of([repr(one) for one in votes.items[:5].tolist()])
        raise InputError(f"no item {item!r} in these answers; they have {len(votes):,} items, such as {some}")
    return int(found[0])


def _said(answer: Name | None) -> str:
    return "none of mine" if answer is None else str(answer)


def _listed(names: Iterable[Any]) -> str:
    shown = [str(name) for name in names]
    more = f" and {len(shown) - 12} more" if len(shown) > 12 else ""
    return ", ".join(shown[:12]) + more
