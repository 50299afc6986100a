"""The outcome of decoding: the votes, their labels, and the numbers of the summary and of the report."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from covote.arguments import some_of
from covote.decoding import Statistics
from covote.decoding.expert_report import Agreement, ExpertReport
from covote.decoding.methods.majority import Majority
from covote.files.review import ExpectedErrors, ReviewItem, first_items
from covote.labels import AGREED, GIVEN, STATUSES, GoldScore, Labels
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.problems import TableProblems

BINS = 20
MOST_PAIRS = 1000
"""Classes beyond which answers are not counted per pair of classes."""
SHOWN = 25
"""Items of the review list that a report shows."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Votes and their labels; every number about them is computed when it is first asked for.

    Attributes
    ----------
    votes, labels
        The answers, and what they say about every item.
    method
        The name of the method.
    statistics
        What was learned about the experts; None for methods that learn nothing from the answers.
    notes
        How the file was read, where that is not obvious.
    dropped
        What was left out with ``unknown="drop"``.
    better
        Which method is significantly better on the gold items than the default, if one is.
    findings
        What the method found out about the answers.
    """

    votes: Votes
    labels: Labels
    method: str = "learned"
    statistics: Statistics | None = None
    notes: tuple[str, ...] = ()
    dropped: TableProblems | None = None
    better: str = ""
    findings: tuple[str, ...] = ()

    @property
    def panel(self) -> Panel:
        """Who could answer what."""
        return self.votes.panel

    @property
    def gold(self) -> GoldScore | None:
        """How labels and experts did on items whose class is known; None without such items."""
        return self.labels.gold

    # Items

    @property
    def items(self) -> int:
        """How many items there are."""
        return len(self.labels)

    @cached_property
    def statuses(self) -> NDArray[np.int64]:
        """Items per status."""
        return np.bincount(self.labels.evidence.status, minlength=len(STATUSES))

    @cached_property
    def classes(self) -> NDArray[np.int64]:
        """Items per label."""
        index = self.labels.index
        return np.bincount(index[index >= 0], minlength=len(self.panel.classes))

    @property
    def unlabelled(self) -> int:
        """Items without a label."""
        return self.items - int(self.classes.sum())

    @property
    def unsure(self) -> int:
        """Items that are not agreed on."""
        return self.items - int(self.statuses[AGREED]) - int(self.statuses[GIVEN])

    @cached_property
    def confidence(self) -> NDArray[np.int64]:
        """Items per bin of confidence, from 0 to 1."""
        known = self.labels.confidence[np.isfinite(self.labels.confidence)]
        return np.bincount(np.minimum((known * BINS).astype(np.int64), BINS - 1), minlength=BINS)

    @property
    def calibrated(self) -> bool:
        """Whether every label has a confidence, so that wrong ones can be expected."""
        return int(self.confidence.sum()) >= self.items - self.unlabelled > 0

    @cached_property
    def expected_errors(self) -> ExpectedErrors:
        """How many labels are expected to be wrong; corrected by the gold items if they refute it."""
        expected, gold = ExpectedErrors.of(self.labels), self.gold
        return expected if gold is None or not gold.refutes else expected.scaled(gold.errors_per_expected)

    @property
    def violations(self) -> NDArray[np.int64]:
        """Items per number of answers that must be wrong, from 0 on."""
        return np.bincount(self.labels.violations)

    @property
    def answers_per_item(self) -> NDArray[np.int64]:
        """Items per number of answers, from 0 on."""
        rows = self.votes.rows
        return np.bincount(np.diff(rows.ragged.indptr), weights=rows.count).astype(np.int64)

    @cached_property
    def otherwise_by_majority(self) -> int:
        """Items that a majority vote would give another label.

        Those that it leaves open, and known classes, do not count.
        """
        index, majority = self.labels.index, Majority().score(self.votes, evidence=False).index
        differs = (majority != index) & (majority >= 0) & (index >= 0)
        return int((differs & (self.labels.evidence.status != GIVEN)).sum())

    @cached_property
    def review_head(self) -> list[ReviewItem]:
        """The first items of the review list."""
        return first_items(self.votes, self.labels, SHOWN)

    # Experts

    @cached_property
    def agreement(self) -> Agreement:
        """How the experts' answers compare with the labels; no pairs of classes beyond 1,000 classes."""
        found = Agreement.empty(self.panel, pairs=len(self.panel.classes) <= MOST_PAIRS)
        gold_rows = np.flatnonzero(self.labels.evidence.status == GIVEN)
        found.add(self.votes, gold_rows, self.labels.index[gold_rows])
        return found

    @property
    def answers(self) -> NDArray[np.int64]:
        """Answers per expert."""
        return self.agreement.counts.answers

    @cached_property
    def experts(self) -> ExpertReport:
        """How reliable each expert is."""
        return self.agreement.experts

    # Sentences

    def warnings(self) -> list[str]:
        """Return notes on experts without answers, and on what was dropped."""
        dropped = "" if self.dropped is None else self.dropped.drop_note
        return [*self.unanswered_experts(), *([dropped] if dropped else [])]

    def unanswered_experts(self) -> list[str]:
        """Name the experts of the panel who have no answer."""
        lost = [str(name) for name, n in zip(self.panel.names, self.answers.tolist(), strict=True) if not n]
        if not lost or len(lost) == len(self.panel):
            return []
        return [
            f"no answer from {some_of(lost)} was counted; if there should be any, check how the answers "
            "spell the name"
        ]


def percent(part: float, total: float = 1.0) -> str:
    """Return a share as text; 0% and 100% are exact.

    >>> percent(999_999, 1_000_000), percent(1, 1_000_000), percent(2, 2)
    ('>99.9%', '<0.1%', '100%')
    """
    share = 100 * part / total if total else 0.0
    if share in (0.0, 100.0):
        return f"{share:.0f}%"
    return "<0.1%" if share < 0.1 else ">99.9%" if share > 99.9 else f"{share:.1f}%"
