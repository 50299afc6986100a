"""What a file of votes and its labels add up to: the closing summary and the report's numbers."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.expert_report import Agreement, ExpertReport
from covote.labels import AGREED, GIVEN, STATUSES, Labels
from covote.panel import Name, Panel
from covote.votes import Votes
from covote.votes.rows import item_counts

BINS = 20
_MOST_PAIRS = 1000  # classes; beyond it, answers are not counted per pair of classes


@dataclass(frozen=True)
class Look:
    """An item worth a second look, and what was said about it.

    Attributes
    ----------
    tied
        The classes that share the best score; empty unless there are several.
    answers
        What each expert said: a class, or None for "none of mine".
    """

    item: Any
    label: Name | None
    tied: tuple[Name, ...]
    runner_up: Name | None
    confidence: float
    margin: float
    violations: int
    status: str
    answers: dict[Name, Name | None]

    @property
    def candidates(self) -> tuple[Name, ...]:
        """The classes that it may be: the label first, then what shares its score, else the next best."""
        named = (self.label, *(self.tied or (self.runner_up,)))
        return tuple(dict.fromkeys(name for name in named if name is not None))


@dataclass
class Tally:
    """Counts over all parts of votes and labels; they grow with :meth:`add`.

    Attributes
    ----------
    items
        How many.
    statuses, classes, confidences, violations
        Items per status, per label (last: no label), per bin of confidence, per number of violations.
    agreement
        How the experts' answers compare with the labels; without pairs of classes beyond 1,000 classes.
    """

    panel: Panel
    looks: int = 0
    items: int = 0
    statuses: NDArray[np.int64] = field(init=False)
    classes: NDArray[np.int64] = field(init=False)
    confidences: NDArray[np.int64] = field(init=False)
    violations: NDArray[np.int64] = field(init=False)
    agreement: Agreement = field(init=False)
    _worst: list[tuple[float, int, Look]] = field(init=False, default_factory=list)
    _seen: int = 0

    def __post_init__(self) -> None:
        classes = len(self.panel.classes)
        self.statuses = np.zeros(len(STATUSES), np.int64)
        self.classes = np.zeros(classes + 1, np.int64)
        self.confidences = np.zeros(BINS, np.int64)
        self.violations = np.zeros(1, np.int64)
        self.agreement = Agreement.nothing(self.panel, pairs=classes <= _MOST_PAIRS)

    def add(self, votes: Votes, labels: Labels) -> None:
        """Count a part; votes may stand for several items each."""
        times = item_counts(votes)
        given = np.flatnonzero(labels.evidence.status == GIVEN)
        self.agreement.add(votes, given, labels.index[given])
        evidence = labels.evidence
        self.items += int(times.sum())
        self.statuses += _counted(evidence.status, times, len(STATUSES))
        self.classes += np.roll(_counted(labels.index.astype(np.int64) + 1, times, len(self.classes)), -1)
        known = np.isfinite(evidence.confidence)
        bins = np.minimum((evidence.confidence[known] * BINS).astype(np.int64), BINS - 1)
        self.confidences += _counted(bins, times[known], BINS)
        counts = _counted(evidence.violations, times, len(self.violations))
        counts[: len(self.violations)] += self.violations
        self.violations = counts

    def __add__(self, later: Tally) -> Tally:
        """Return the tally of two parts, of which the other one comes later."""
        whole = Tally(self.panel, self.looks, self.items + later.items)
        size = max(len(self.violations), len(later.violations))
        whole.violations = np.zeros(size, np.int64)
        for part in (self, later):
            whole.statuses += part.statuses
            whole.classes += part.classes
            whole.confidences += part.confidences
            whole.violations[: len(part.violations)] += part.violations
        whole.agreement = self.agreement + later.agreement
        shifted = [(doubt, place - self._seen, look) for doubt, place, look in later._worst]
        whole._worst = heapq.nlargest(self.looks, self._worst + shifted, key=lambda entry: entry[:2])[::-1]
        whole._seen = self._seen + later._seen
        return whole

    def remember(self, part: Votes, labels: Labels) -> None:
        """Keep items on which not all agree: those without a label, then those with the least confidence.

        Of equal confidence, those with the smallest margin, then with the most violations.
        """
        if not self.looks or not len(labels):
            return
        evidence = labels.evidence
        doubt = 2.0 * (labels.index < 0) + 1 - np.nan_to_num(evidence.confidence.astype(np.float64), nan=0.5)
        doubt -= 1e-9 * np.nan_to_num(evidence.margin.astype(np.float64), nan=0.0)
        doubt += 1e-13 * np.minimum(evidence.violations, 999)
        doubt[(evidence.status == AGREED) | (evidence.status == GIVEN)] = -np.inf
        few = min(self.looks, int((doubt > -np.inf).sum()))
        for n in np.argsort(-doubt, kind="stable")[:few]:
            # Of equally doubtful items the first stay: an entry is the greater the earlier its item came.
            entry = (float(doubt[n]), -(self._seen + int(n)))
            if len(self._worst) < self.looks:
                heapq.heappush(self._worst, (*entry, _look(part, labels, int(n))))
            elif entry > self._worst[0][:2]:
                heapq.heapreplace(self._worst, (*entry, _look(part, labels, int(n))))
        self._seen += len(labels)

    @property
    def votes(self) -> int:
        """How many answers there are."""
        return int(self.agreement.counts.answers.sum())

    @property
    def experts(self) -> ExpertReport:
        """What is to be said about each expert."""
        return self.agreement.experts

    @property
    def second_look(self) -> list[Look]:
        """The items most worth a second look, the most doubtful first; at most `looks`."""
        return [look for *_, look in sorted(self._worst, key=lambda entry: (-entry[0], -entry[1]))]

    @property
    def unsure(self) -> int:
        """How many items are worth a second look."""
        return self.items - int(self.statuses[AGREED]) - int(self.statuses[GIVEN])


def _counted(values: NDArray[Any], times: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    """Return how often each value from 0 on occurs."""
    # Counts stay far below 2**53, where sums of floats are exact.
    return np.bincount(values, weights=times, minlength=size).astype(np.int64)


def _look(votes: Votes, labels: Labels, n: int) -> Look:
    evidence, classes = labels.evidence, (*labels.panel.classes, None)
    one = votes.part(n, n + 1)
    runs = one.ragged
    return Look(
        item=_plain(labels.items[n]),
        label=classes[labels.index[n]],
        tied=labels.tied_classes(n) if labels.tied[n] else (),
        runner_up=classes[evidence.runner_up[n]],
        confidence=float(evidence.confidence[n]),
        margin=float(evidence.margin[n]),
        violations=int(evidence.violations[n]),
        status=STATUSES[evidence.status[n]],
        answers={
            votes.panel.names[i]: one.label_name(int(v))
            for i, v in zip(runs.expert.tolist(), runs.label.tolist(), strict=True)
        },
    )


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
