"""Promises: test on gold items how often the labels of the rule "posterior" are wrong.

A stopping rule that looks safe by its own model need not be: experts who learned from the same data make the
same mistakes. So the threshold at which an item is settled is chosen by what happens on items whose class is
known. Several thresholds are tried, which the confidence takes into account (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv

from covote.asking.answer_model import answer_table
from covote.errors import InputError
from covote.votes import Votes

Array = NDArray[Any]

FOLDS = 5
"""Each part of the gold items is asked about by a rule that was learned from the others."""

THRESHOLDS = (0.3, 0.1, 0.01, 0.001, 0.00001)
"""The thresholds that are tried, whatever is promised: those of a model that may be wrong itself."""

CONFIDENCE = 0.95
"""How sure a promise is to be kept, on items like the gold items."""

MOST_GOLD = 1_000_000
"""More gold items than this are not advised."""


@dataclass(frozen=True)
class Tried:
    """How many gold items a threshold settles, and how many of these are wrong."""

    threshold: float
    settled: int
    wrong: int

    @property
    def upper(self) -> float:
        """The largest share of wrong labels that these counts do not rule out."""
        return upper_bound(self.wrong, self.settled)


def check_promise(votes: Votes, truth: NDArray[np.int64], error: float, prior: ArrayLike | None) -> float:
    """Return the loosest threshold that keeps the promise on gold items, or raise an error that says why."""
    tried = trials(votes, truth, prior)
    for trial in tried:
        if trial.upper <= error:
            return trial.threshold
    best = min(tried, key=lambda trial: trial.upper)
    raise InputError(
        f"{len(votes):,} gold items do not support the promise that at most {error:.2%} of the labels are "
        f"wrong: of the {best.settled:,} that can be settled, {best.wrong:,} are wrong, so up to "
        f"{best.upper:.1%} may be; {_advice(tried, len(votes), error)}"
    )


def _advice(tried: list[Tried], items: int, error: float) -> str:
    needed = [
        gold_needed(trial.wrong / max(trial.settled, 1), error) * items / max(trial.settled, 1)
        if items
        else gold_needed(0.0, error)
        for trial in tried
    ]
    fewest = min(needed)
    if fewest <= MOST_GOLD:
        return f"at least about {_rounded(fewest):,} gold items would be needed"
    lowest = min(trial.upper for trial in tried)
    other = f"promise {np.ceil(100 * lowest) / 100:.0%} or more, or " if lowest < 0.99 else ""
    return f"more gold items would not help; {other}use the rule 'vote'"


def trials(votes: Votes, truth: NDArray[np.int64], prior: ArrayLike | None) -> list[Tried]:
    """Ask about every gold item from its votes, by rules that were learned from the other gold items."""
    from covote.asking.asker import Asker
    from covote.asking.posterior import Posterior

    fold = np.empty(len(truth), dtype=np.int64)
    fold[np.random.default_rng(0).permutation(len(truth))] = np.arange(len(truth)) % FOLDS
    counts = np.zeros((len(THRESHOLDS), 2), dtype=np.int64)
    for part in range(FOLDS):
        rows, others = np.flatnonzero(fold == part), np.flatnonzero(fold != part)
        if not len(rows):
            continue
        table, asked = answer_table(votes.subset(others), truth[others]), votes.subset(rows).dense
        for n, threshold in enumerate(THRESHOLDS):
            asker = Asker(votes.panel, len(rows), Posterior(table, threshold, prior))
            while len(questions := asker.next()):
                asker.tell_all(questions, asked[questions.item, questions.expert].astype(np.int64))
            done = asker.done
            counts[n] += done.sum(), (asker.labels().index != truth[rows])[done].sum()
    return [Tried(t, int(all_), int(wrong)) for t, (all_, wrong) in zip(THRESHOLDS, counts, strict=True)]


def upper_bound(wrong: int, items: int) -> float:
    """Return the largest share of wrong labels that the counts do not rule out (Clopper and Pearson, 1934).

    >>> round(upper_bound(0, 459), 4), round(upper_bound(1, 100), 3)
    (0.01, 0.065)
    """
    if wrong >= items:
        return 1.0
    return float(betaincinv(wrong + 1, items - wrong, 1 - (1 - CONFIDENCE) / len(THRESHOLDS)))


def gold_needed(rate: float, error: float) -> float:
    """Return how many settled gold items support a promise if this share of them is wrong.

    >>> gold_needed(0.0, 0.01), gold_needed(0.005, 0.01), gold_needed(0.02, 0.01)
    (459, 2010, inf)
    """
    if rate >= error:
        return np.inf
    low, high = 0, 1
    while upper_bound(round(rate * high), high) > error:
        low, high = high, 2 * high
        if high > 2 * MOST_GOLD:
            return np.inf
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if upper_bound(round(rate * middle), middle) > error else (low, middle)
    return high


def _rounded(number: float) -> int:
    """Round up to two digits."""
    unit: int = 10 ** max(0, len(str(int(number))) - 2)
    return int(-(-int(np.ceil(number)) // unit) * unit)
