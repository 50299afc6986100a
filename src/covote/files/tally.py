"""Counts over votes and labels: the numbers of the summary and of the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.expert_report import Agreement, ExpertReport
from covote.decoding.methods.majority import Majority
from covote.files.review import LEVELS, UNIT, ExpectedErrors, error_probabilities
from covote.labels import AGREED, GIVEN, STATUSES, Labels
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.patterns import item_counts

BINS = 20
MOST_PAIRS = 1000
"""Classes beyond which answers are not counted per pair of classes."""


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts over some votes and their labels; those of two parts add up (``+``).

    Attributes
    ----------
    counts
        Every counter by its name, items per value from 0 on: ``status``, ``label`` (0: none), ``confidence``
        (in bins), ``violations``, ``doubt`` (in levels), ``wrong`` (what doubts add up to per level),
        ``answers`` (per item), and in ``majority`` the items that a majority vote would label otherwise.
    agreement
        How the experts' answers compare with the labels; without pairs of classes beyond 1,000 classes.
    """

    panel: Panel
    counts: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    agreement: Agreement | None = None

    @classmethod
    def of(cls, votes: Votes, labels: Labels) -> Tally:
        """Count a part; votes may stand for several items each."""
        times, evidence = item_counts(votes), labels.evidence
        given = np.flatnonzero(evidence.status == GIVEN)
        agreement = Agreement.empty(votes.panel, pairs=len(votes.panel.classes) <= MOST_PAIRS)
        agreement.add(votes, given, labels.index[given])
        known = np.isfinite(evidence.confidence)
        bins = np.minimum((evidence.confidence[known] * BINS).astype(np.int64), BINS - 1)
        other = _otherwise_by_majority(votes, labels)
        doubt = error_probabilities(labels)
        level = ExpectedErrors.levels(doubt)
        return cls(
            votes.panel,
            {
                "status": _counted(evidence.status, times, len(STATUSES)),
                "label": _counted(labels.index.astype(np.int64) + 1, times, len(votes.panel.classes) + 1),
                "confidence": _counted(bins, times[known], BINS),
                "violations": _counted(evidence.violations, times),
                "doubt": _counted(level, times, LEVELS + 1),
                "wrong": _counted(level, times * np.rint(doubt * UNIT), LEVELS + 1),
                "answers": _counted(np.diff(votes.ragged.indptr), times),
                "majority": _counted(np.zeros(len(other), np.int64), times[other]),
            },
            agreement,
        )

    def __add__(self, other: Tally) -> Tally:
        names = [*self.counts, *(name for name in other.counts if name not in self.counts)]
        none = np.zeros(0, np.int64)
        counts = {name: _sum(self.counts.get(name, none), other.counts.get(name, none)) for name in names}
        both = [some.agreement for some in (self, other) if some.agreement is not None]
        return Tally(self.panel, counts, sum(both[1:], both[0]) if both else None)

    def count(self, name: str, least: int = 1) -> NDArray[np.int64]:
        """Return a counter, of at least this length; zeros if nothing was counted."""
        found = self.counts.get(name, np.zeros(0, np.int64))
        return np.pad(found, (0, max(0, least - len(found))))

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.count("status").sum())

    @property
    def statuses(self) -> NDArray[np.int64]:
        """Items per status."""
        return self.count("status", len(STATUSES))

    @property
    def classes(self) -> NDArray[np.int64]:
        """Items per label."""
        return self.count("label", len(self.panel.classes) + 1)[1:]

    @property
    def unlabelled(self) -> int:
        """Items without a label."""
        return int(self.count("label")[0])

    @property
    def expected_errors(self) -> ExpectedErrors:
        """How many labels are expected to be wrong, the most doubtful items first."""
        items, units = self.count("doubt", LEVELS + 1), self.count("wrong", LEVELS + 1)
        return ExpectedErrors(items, np.concatenate([items[:1], units[1:] / UNIT]))

    @property
    def calibrated(self) -> bool:
        """Whether every label has a confidence, so that wrong ones can be expected."""
        return int(self.count("confidence").sum()) >= self.items - self.unlabelled > 0

    @property
    def known(self) -> Agreement:
        """How the experts' answers compare with the labels."""
        return self.agreement or Agreement.empty(self.panel, pairs=False)

    @property
    def answers(self) -> NDArray[np.int64]:
        """Answers per expert."""
        return self.known.counts.answers

    @property
    def votes(self) -> int:
        """How many answers there are."""
        return int(self.answers.sum())

    @property
    def otherwise_by_majority(self) -> int:
        """How many items a majority vote would give another label; those that it leaves open do not count."""
        return int(self.count("majority")[0])

    @property
    def experts(self) -> ExpertReport:
        """How reliable each expert is."""
        return self.known.experts

    @property
    def unsure(self) -> int:
        """How many items are not agreed on."""
        return self.items - int(self.statuses[AGREED]) - int(self.statuses[GIVEN])


def _otherwise_by_majority(votes: Votes, labels: Labels) -> NDArray[np.int64]:
    """Return the items that a majority vote would give another label; known classes do not count."""
    majority = Majority().score(votes, evidence=False).index
    differs = (majority != labels.index) & (majority >= 0) & (labels.index >= 0)
    return np.flatnonzero(differs & (labels.evidence.status != GIVEN))


def percent(part: float, whole: float = 1.0) -> str:
    """Return a share as text; 0% and 100% are exact.

    >>> percent(999_999, 1_000_000), percent(1, 1_000_000), percent(2, 2)
    ('>99.9%', '<0.1%', '100%')
    """
    share = 100 * part / whole if whole else 0.0
    if share in (0.0, 100.0):
        return f"{share:.0f}%"
    return "<0.1%" if share < 0.1 else ">99.9%" if share > 99.9 else f"{share:.1f}%"


def _sum(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    size = max(len(one), len(other))
    return np.pad(one, (0, size - len(one))) + np.pad(other, (0, size - len(other)))


def _counted(values: NDArray[Any], times: NDArray[Any], size: int = 1) -> NDArray[np.int64]:
    """Return how often each value from 0 on occurs."""
    # Counts stay far below 2**53, where sums of floats are exact.
    return np.bincount(values, weights=times, minlength=size).astype(np.int64)
