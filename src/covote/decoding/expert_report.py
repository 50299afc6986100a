"""Expert report: how good each expert seems to be, and which classes experts confuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from covote.decoding import expert_report_kernels, shares, tie_score
from covote.decoding.gold import Gold
from covote.decoding.intervals import wilson
from covote.decoding.statistics import Statistics
from covote.errors import InputError, TooLargeError
from covote.panel import Name, Panel
from covote.votes import Votes
from covote.votes.rows import row_parts

if TYPE_CHECKING:
    import pandas as pd

LARGEST = 3000
"""The most classes for which agreement is counted for every pair."""


@dataclass(frozen=True, eq=False)
class ExpertReport:
    """What votes tell about each expert, one entry per expert.

    Attributes
    ----------
    accuracy, low, high
        Estimated accuracy on classes that the expert knows, with a 95% interval (Wilson); NaN, 0 and 1
        without such answers. It is measured against the estimated labels, or the known classes where there
        are some: the interval says how sure the count is, not how sure the labels are.
    inside, outside
        Answers about classes the expert knows, and about others, as far as the labels tell.
    none
        How often it answered "none of mine".
    """

    panel: Panel
    accuracy: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    none: NDArray[np.float64]

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per expert, indexed by its name."""
        import pandas as pd

        fields = ("accuracy", "low", "high", "inside", "outside", "none")
        columns = {field: getattr(self, field) for field in fields}
        return pd.DataFrame(columns, index=pd.Index(self.panel.names, name="expert"))

    def __str__(self) -> str:
        width = max([6, *(len(str(name)) for name in self.panel.names)])
        lines = [f"{'expert':{width}}  accuracy  interval      inside  outside    none"]
        for i, name in enumerate(self.panel.names):
            lines.append(
                f"{name!s:{width}}  {self.accuracy[i]:8.3f}  {self.low[i]:.3f}-{self.high[i]:.3f}"
                f"  {self.inside[i]:8.0f} {self.outside[i]:8.0f} {self.none[i]:7.0f}"
            )
        return "\n".join(lines)


def expert_report(
    votes: Votes | None = None, *, gold: Gold | None = None, statistics: Statistics | None = None
) -> ExpertReport:
    """Estimate how good each expert is, from votes or from statistics.

    Parameters
    ----------
    votes
        What the experts answered; compared with the authority labels.
    gold
        Items whose class is known: ``{item: class}``.
    statistics
        Counts of an earlier decoding, instead of votes (or in addition).

    >>> panel = Panel(["cat", "dog"], [[1, 1], [1, 1], [1, 1]], ["ann", "bob", "cyd"])
    >>> votes = Votes.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]], panel)
    >>> expert_report(votes).accuracy
    array([1. , 1. , 0.5])
    """
    if votes is None and statistics is None:
        raise InputError("an expert report needs votes or statistics")
    if votes is not None:
        counts = tie_score.statistics(votes, gold)
        statistics = counts if statistics is None else statistics + counts
    assert statistics is not None
    if statistics.coins is not None:
        raise InputError("statistics of 'em' only know accuracies; use those of 'authority' or 'dawid-skene'")
    right, inside, none = statistics.inside()
    size = len(statistics.panel)
    answers = np.bincount(
        statistics.panel.layout.cells.expert, weights=_all_answers(statistics), minlength=size
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = right / inside
    low, high = wilson(right, inside)
    return ExpertReport(statistics.panel, accuracy, low, high, inside, np.maximum(answers - inside, 0), none)


def _all_answers(statistics: Statistics) -> NDArray[np.float64]:
    """Return how often each answer was given, over all classes."""
    total = np.zeros(len(statistics.panel.layout.cells.label))
    for k in range(len(statistics.panel.classes)):
        total += statistics.column(k)
    return total


@dataclass(frozen=True, eq=False)
class PairAgreement:
    """How often two experts that know both classes of a pair agree, on items that seem to be one of the two.

    One agreement over all classes misleads for experts that know a part of them: three perfect experts seem
    to disagree on what one of them does not know. Per pair of classes, inside expertise, they agree always.

    `agree` and `both` are (classes x classes), symmetric: pairs of answers that agree, and all of them.
    """

    panel: Panel
    agree: NDArray[np.int64]
    both: NDArray[np.int64]

    def __add__(self, other: PairAgreement) -> PairAgreement:
        if self.panel != other.panel:
            raise InputError("agreement in two different panels cannot be added")
        return PairAgreement(self.panel, self.agree + other.agree, self.both + other.both)

    @property
    def share(self) -> NDArray[np.float64]:
        """The share of agreeing pairs of answers; NaN where there are none."""
        with np.errstate(invalid="ignore", divide="ignore"):
            share: NDArray[np.float64] = self.agree / self.both
        return share

    def worst(self, count: int = 10) -> list[tuple[Name, Name, float]]:
        """Return the pairs of classes on which experts agree least: (class, class, share)."""
        first, second = np.triu_indices(len(self.panel.classes), 1)
        share = self.share[first, second]
        order = [p for p in np.argsort(share, kind="stable") if not np.isnan(share[p])][:count]
        names = self.panel.classes
        return [(names[first[p]], names[second[p]], float(share[p])) for p in order]


def pair_agreement(votes: Votes) -> PairAgreement:
    """Count, for every pair of classes, how often experts that know both agree (theory.md section 9).

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 1, 1]])
    >>> pair_agreement(Votes.from_dense([[0, 2, 0], [1, 1, 1], [1, 2, 2]], panel)).worst()
    [('cat', 'dog', 1.0), ('dog', 'fox', 1.0)]
    """
    panel = votes.panel
    if len(panel.classes) > LARGEST:
        raise TooLargeError(
            f"agreement for every pair of {len(panel.classes)} classes needs too much memory; the limit is "
            f"{LARGEST} classes"
        )
    agree, both = (np.zeros((len(panel.classes), len(panel.classes)), dtype=np.int64) for _ in range(2))
    for patterns, _ in row_parts(votes):
        first, best = shares.best_classes(patterns.runs, panel)
        label = np.where(np.diff(first) == 1, np.append(best, -1)[first[:-1]], -1)
        expert_report_kernels.count_pairs(
            *patterns.runs, patterns.count, label, *panel.layout.known, panel.knows, agree, both
        )
    return PairAgreement(panel, agree, both)
