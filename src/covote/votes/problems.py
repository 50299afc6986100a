"""Collect all problems of a table of votes, and report them in one message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from covote.arguments import certain, nearest, shown, some_of
from covote.errors import CovoteError, InputError, UnknownNameError
from covote.panel import Name, Panel
from covote.tables.matching import UNKNOWN, Matcher

_LISTED = 20  # names of one kind in a message
_PAIRS = 10  # answers outside what an expert knows that are listed one by one
EXPERTS = 5
"""Experts with answers outside what they know whom a sentence lists."""
NEARLY_NOTHING = 20
"""If fewer than one in this many votes would be left after dropping, the panel does not fit the votes."""
_DROP = "drop such answers with unknown='drop' (--unknown drop)"


class DroppedWarning(UserWarning):
    """Answers that were dropped because their expert cannot have given them."""


def unknown_class(panel: Panel, expert: int, name: object) -> str:
    """Return the message that an expert answered a class that it does not know."""
    known = some_of([panel.classes[k] for k in np.flatnonzero(panel.knows[expert])])
    return (
        f"expert {panel.names[expert]!r} answered {shown(name)}, which it does not know (it knows: {known}); "
        "correct the panel, or leave the answer out"
    )


@dataclass
class Count:
    """The number of answers with a problem, and the first row (0 for a column)."""

    answers: int
    row: int

    def __str__(self) -> str:
        where = f", first in row {self.row}" if self.answers > 1 else f", in row {self.row}"
        return f"{self.answers:,} answer{'s' * (self.answers != 1)}{where if self.row else ''}"


@dataclass
class TableProblems:
    """Problems of a table of votes, collected while it is read.

    Attributes
    ----------
    experts, labels
        Names that the panel does not have.
    outside
        Answers with classes that the expert does not know, by (expert, class).
    columns
        Columns of answers in a wide table whose expert is not in the panel.
    others
        Problems that cannot be dropped: rows without an item, two different answers, invalid probabilities.
    answers, valid
        The number of answers, and the number without those of unknown experts and classes.
    """

    panel: Panel
    expert_names: Matcher
    class_names: Matcher
    where: str = ""
    experts: dict[str, Count] = field(default_factory=dict)
    labels: dict[str, Count] = field(default_factory=dict)
    outside: dict[tuple[str, str], Count] = field(default_factory=dict)
    columns: dict[str, Count] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    answers: int = 0
    valid: int = 0
    _without_item: Count | None = None
    _kinds_of_others: set[str] = field(default_factory=set)

    # Collecting

    def add_fault(self, message: str, kind: str = "") -> None:
        """Add a problem that cannot be dropped; of one `kind` only the first is kept."""
        if message not in self.others and kind not in self._kinds_of_others:
            self.others.append(message)
            self._kinds_of_others |= {kind} - {""}

    def add_column(self, name: str, answers: int) -> None:
        """Add answers from a column whose expert is not in the panel."""
        self.columns.setdefault(name, Count(0, 0)).answers += answers
        self.answers += answers

    def add_rows_without_item(self, row: int, number: int) -> None:
        """Add rows with answers about no item, the first of which is `row`."""
        if self._without_item is None:
            self._without_item = Count(0, row)
        self._without_item.answers += number

    def add(self, pairs: Iterable[tuple[Any, int, Any, int, int, int]]) -> None:
        """Add answers that are not votes: (expert, its code, label, its code, number, first row)."""
        for expert, i, label, k, answers, row in sorted(pairs, key=lambda entry: entry[-1]):
            new = Count(0, row)
            if i < 0:
                found = self.experts.setdefault(str(expert), new)
            elif k < 0:
                found = self.labels.setdefault(str(label), new)
            else:
                pair = str(self.panel.names[i]), str(self.panel.classes[k])
                found = self.outside.setdefault(pair, new)
            found.answers += answers
            if i < 0 and k == UNKNOWN:
                self.labels.setdefault(str(label), Count(0, row)).answers += answers
            self.answers += answers

    def count(self, votes: int) -> None:
        """Count valid votes."""
        self.valid += votes
        self.answers += votes

    # Reporting

    @property
    def _place(self) -> str:
        return f"{self.where.removesuffix(', ')}: " if self.where else ""

    @property
    def dropped(self) -> int:
        """How many answers are not votes of the panel."""
        return self.answers - self.valid

    def _complete(self) -> None:
        """Find what only the whole table shows: rows without an item, names in two spellings."""
        lost = self._without_item
        if lost is not None:
            more = f" ({lost.answers:,} rows have none)" if lost.answers > 1 else ""
            self.add_fault(f"row {lost.row}: no item; give every row an item{more}", "no item")
        for matcher in (self.expert_names, self.class_names):
            for sentence in matcher.ambiguous_spellings() if matcher.ambiguous else ():
                self.add_fault(sentence)

    @property
    def _kinds(self) -> list[Any]:
        return [*self.columns, *self.experts, *self.labels, *self.outside]

    @property
    def problems(self) -> list[str]:
        """All problems, one sentence for each kind."""
        self._complete()
        return [*self._unknown(), *self.others]

    def _unknown(self) -> list[str]:
        found = [
            f"{what}{_named(kind, matcher)}"
            for what, kind, matcher in (
                ("columns of answers whose expert is not in the panel", self.columns, self.expert_names),
                ("experts that are not in the panel", self.experts, self.expert_names),
                ("labels that are not classes of the panel", self.labels, self.class_names),
            )
            if kind
        ]
        if self.labels and not self.valid and all(isinstance(name, int) for name in self.panel.classes):
            found.append(
                "the panel has numbers for classes, the answers have names: list the names in a .toml panel "
                '(classes = ["Robin", "Wren"], and knows = "1-40" for those with these numbers in the list)'
            )
        if self.outside:
            named = [f"{shown(i)} said {shown(k)} ({c})" for (i, k), c in _most(self.outside)]
            if len(named) == 1:
                ((name, _),) = self.outside
                named[0] += f"; {shown(name)} knows: {some_of(self._known(name))}"
            more = ""
            if len(named) > _PAIRS:
                by_expert = self.outside_experts()
                few = len(by_expert) <= EXPERTS
                named = [
                    f"{shown(name)} ({count}{f': {some_of([*map(shown, labels)])}' if few else ''})"
                    for name, count, labels in by_expert[:EXPERTS]
                ]
                more = "" if few else f", and {len(by_expert) - EXPERTS:,} more (covote check lists them)"
            found.append(f"classes that the expert does not know: {_some(named)}{more}")
        return found

    def _known(self, name: str) -> list[Name]:
        i = list(map(str, self.panel.names)).index(name)
        return [self.panel.classes[k] for k in np.flatnonzero(self.panel.knows[i])]

    def outside_experts(self) -> list[tuple[str, Count, list[str]]]:
        """Return the experts with answers outside what they know, how many, and which classes; most first."""
        by_expert: dict[str, list[tuple[str, Count]]] = {}
        for (name, label), count in _most(self.outside):
            by_expert.setdefault(name, []).append((label, count))
        counts = {name: Count(sum(c.answers for _, c in some), 0) for name, some in by_expert.items()}
        return [(name, count, [label for label, _ in by_expert[name]]) for name, count in _most(counts)]

    def _error(self, dropping: bool) -> CovoteError:
        """Return an error that reports all problems in one message."""
        if dropping or not self._kinds:
            return InputError("; ".join(f"{self.where}{problem}" for problem in self.others[:_LISTED]))
        hint = ""
        texts = {str(name) for name in self.panel.classes}
        if not self.valid and self.experts and texts.issuperset(self.experts):
            hint = "; the experts of the answers are classes of the panel: is it the wrong way round?"
        names_only = not (self.labels or self.outside or self.others)
        return (UnknownNameError if names_only else InputError)(
            f"{self._place}{'; '.join(self.problems)}"
            f"{hint}; correct them, say what they mean with rename={{...}} (--rename names.csv), add them to "
            f"the panel, or {_DROP}"
        )

    def judge(self, unknown: str) -> str:
        """Reject votes with problems, or of which hardly any are left; return a note on dropped votes.

        With ``unknown="drop"``, unknown names and classes are not problems.
        """
        self._complete()
        dropping = unknown == "drop"
        if self.others or (self._kinds and not dropping):
            raise self._error(dropping)
        return self.drop_note

    @property
    def drop_note(self) -> str:
        """A sentence about the dropped answers; "" if there are none; an error if hardly any are left."""
        if not self.dropped:
            return ""
        reasons = "; ".join(self._unknown())
        if self.valid * NEARLY_NOTHING < self.answers:
            raise InputError(
                f"{self._place}only {self.valid:,} of {self.answers:,} answers would be left, so this panel "
                f"probably does not belong to these answers: {reasons}"
            )
        return f"{self.dropped:,} of {self.answers:,} answers were dropped: {reasons}"

    def unknown_names(self, without_answers: Sequence[Name]) -> dict[str, Name | None]:
        """Return the names that the panel does not have, with the panel's name that is surely meant, or None.

        An expert who has answers is not meant by another name, so only those in `without_answers` are.
        """
        found = {name: certain(name, without_answers) for name in (*self.columns, *self.experts)}
        return found | {name: certain(name, self.class_names.names) for name in self.labels}

    def to_dict(self) -> dict[str, Any]:
        """Return the problems as a dict, for programs."""

        def listed(kind: dict[str, Count], matcher: Matcher) -> list[dict[str, Any]]:
            return [
                {
                    "name": name,
                    "answers": count.answers,
                    "row": count.row,
                    "meant": nearest(name, matcher.names),
                }
                for name, count in _most(kind)
            ]

        return {
            "answers": self.answers,
            "dropped": self.dropped,
            "unknown_experts": listed(self.experts | self.columns, self.expert_names),
            "unknown_labels": listed(self.labels, self.class_names),
            "outside": [
                {"expert": expert, "label": label, "answers": count.answers, "row": count.row}
                for (expert, label), count in _most(self.outside)
            ],
            "others": self.others,
        }


def _most(kind: dict[Any, Count]) -> list[tuple[Any, Count]]:
    return sorted(kind.items(), key=lambda entry: -entry[1].answers)


def _named(kind: dict[str, Count], matcher: Matcher) -> str:
    """Return unknown names with suggestions, after the names that there are if some have no suggestion."""
    hints = [matcher.suggestion(name) for name, _ in _most(kind)[:_LISTED]]
    known = "" if all(hints) else f" (the panel has: {some_of(matcher.names)})"
    names = [f"{shown(name)}{f' ({count})' if count.row else ''}" for name, count in _most(kind)]
    hints += [""] * (len(names) - len(hints))
    return f"{known}: {_some([name + hint for name, hint in zip(names, hints, strict=True)])}"


def _some(named: list[str]) -> str:
    more = f", and {len(named) - _LISTED:,} more" if len(named) > _LISTED else ""
    return ", ".join(named[:_LISTED]) + more
