"""EM with one accuracy per expert, for independent experts of unequal skill.

After A. P. Dawid and A. M. Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM
algorithm", with one parameter per expert instead of a table. Right for people; on classifiers that answer
alike it loses to the authority vote (theory.md section 9).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from covote.decoding import halves, scoring
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.methods import em_kernels
from covote.decoding.methods.em_kernels import AUTHORITY, MODEL, SHARES, Coins
from covote.decoding.scoring import UNIT, Best, label_rows
from covote.decoding.statistics import ONE, Statistics
from covote.errors import InputError
from covote.labels import Labels, Ties
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.rows import Rows, row_parts
from covote.votes.vote_checks import check_choice

Array = NDArray[Any]

SAFE = 300.0
"""Products of chances are formed directly while their logarithm stays below this."""


@dataclass(frozen=True, eq=False)
class Accuracies:
    """One accuracy per expert, and what a right and a wrong answer inside expertise then weigh."""

    statistics: Statistics
    accuracy: NDArray[np.float64]
    coins: Coins
    settled: bool = False

    def column(self, k: int) -> NDArray[np.int64]:
        """Return what every answer weighs for class k."""
        panel, cells = self.statistics.panel, self.statistics.panel.layout.cells
        none = cells.label == len(panel.classes)
        other = np.where(none, self.coins.none[cells.expert], self.coins.wrong[cells.expert])
        weight = np.where(cells.label == k, self.coins.right[cells.expert], other)
        return np.where(panel.knows[cells.expert, k], weight, 0)

    def per_answer(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what answers weigh (answers x classes) beyond what a class has if nobody votes for it."""
        panel, (right, wrong, *_) = self.statistics.panel, self.coins
        cells = panel.layout.cells
        votes = np.flatnonzero(cells.label < len(panel.classes))
        weight = np.zeros((len(cells.label), len(panel.classes)), dtype=np.int64)
        weight[votes, cells.label[votes]] = (right - wrong)[cells.expert[votes]]
        return weight, np.where(panel.knows, wrong[:, None], 0).sum(axis=0)


@dataclass(frozen=True)
class Em:
    """Estimate one accuracy per expert by expectation maximisation.

    An expert that knows the class answers it with probability p_i, else any other class it knows; outside its
    expertise it answers anything.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known).
    past
        What was learned from earlier votes of the same panel, to go on from.
    prior
        How many answers the common accuracy counts for in the accuracy of each expert.
    none
        What "none of mine" is: a ``"wrong"`` answer about classes that the expert knows; or an answer with
        two rates common to all experts, how often one that knows the class gives it, and how often one
        that does not: ``(inside, outside)``, or ``"learned"`` from the votes (theory: section 8).
    begin
        Begin from vote ``"shares"`` N_k / d_k, or from ``"authority"`` labels.
    iterations
        At most so many passes over the votes.
    tolerance
        Stop when no accuracy moves by more than this.
    """

    gold: Gold | None = None
    past: Statistics | None = None
    prior: float = 10.0
    none: Literal["wrong", "learned"] | tuple[float, float] = "wrong"
    begin: Literal["shares", "authority"] = "shares"
    iterations: int = 50
    tolerance: float = 1e-5
    needs_probabilities: ClassVar[bool] = False
    only_for_ties: ClassVar[bool] = False
    has_proba: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choice("begin", self.begin, ("shares", "authority"))
        if self.none not in ("wrong", "learned"):
            inside, outside = checked_rates(self.none)
            object.__setattr__(self, "none", (inside, outside))
        if self.prior < 0 or self.iterations < 1:
            raise InputError(
                f"prior={self.prior}, iterations={self.iterations}: give a prior >= 0, iterations >= 1"
            )

    @property
    def rounds(self) -> int:
        """At most `iterations` passes."""
        return self.iterations

    def start(self, panel: Panel) -> None:
        """Begin without weights: the first pass shares every item out by its votes."""

    def count(self, votes: Votes, weights: Accuracies | None) -> Statistics:
        """Count right answers inside expertise, by the probability of each class."""
        panel = votes.panel
        known = panel.layout.known
        coins = np.zeros((2 if self.none == "wrong" else 5, len(panel)), dtype=np.int64)
        share = np.zeros(len(panel.classes), dtype=np.int64)
        rows, truth = gold_rows(self.gold, votes)
        items = len(rows)
        nothing = np.zeros(len(panel), np.int64)
        how, weight = MODEL, Coins(nothing, nothing, nothing, 1.0)
        if weights is None:
            how = SHARES if self.begin == "shares" else AUTHORITY
        else:
            weight = weights.coins
        ratio = (weight.right - weight.wrong) / UNIT
        products = how == MODEL and votes.complete and self.none == "wrong" and np.abs(ratio).sum() < SAFE
        for patterns, span in row_parts(votes):
            mine = (rows >= span.start) & (rows < span.stop)
            count = patterns.count_without(rows[mine] - span.start)
            items += int(count.sum())
            if products and halves.pays(panel):
                assert weights is not None
                _count_in_halves(patterns, count, weights, share, coins)
            elif products:
                em_kernels.complete_counts(
                    patterns.runs, count, known, weight, np.exp(ratio), ONE, share, coins
                )
            else:
                em_kernels.coin_counts(patterns.runs, count, known, how, weight, ONE, share, coins)
        if len(rows):
            em_kernels.known_counts(votes.subset(rows).ragged, truth, panel.knows, ONE, share, coins)
        return Statistics.of_coins(panel, "em", items, share, coins)

    def learn(self, panel: Panel, counts: Statistics, weights: Accuracies | None) -> Accuracies:
        """Return better accuracies."""
        if self.past is not None:
            counts = self.past + counts
        right, total, _ = counts.inside()
        common = (right.sum() + 9) / (total.sum() + 10)
        size = panel.sizes
        accuracy = (right + self.prior * common) / np.maximum(total + self.prior, 1e-9)
        accuracy = np.clip(accuracy, np.minimum(0.02, 0.5 / size), 0.995)
        if weights is not None and np.abs(accuracy - weights.accuracy).max() <= self.tolerance:
            return replace(weights, settled=True)
        says = size > 1
        log_right = np.log(np.where(says, size * accuracy, 1.0))
        log_wrong = np.log(np.where(says, size * (1 - accuracy) / np.maximum(size - 1, 1), 1.0))
        log_none = log_wrong
        if self.none != "wrong":
            inside, outside = _rates(counts) if self.none == "learned" else self.none
            heard = np.log((1 - inside) / (1 - outside))
            log_right, log_wrong = log_right + heard, log_wrong + heard
            log_none = np.full(len(panel), np.log(inside / outside))
        right, wrong, none = (np.rint(w * UNIT).astype(np.int64) for w in (log_right, log_wrong, log_none))
        return Accuracies(counts, accuracy, Coins(right, wrong, none, 1 / UNIT))

    def score(self, votes: Votes, weights: Accuracies, evidence: bool = True) -> Labels:
        """Return the labels; the confidence is the probability of the class under the model."""
        panel = votes.panel
        in_halves = votes.complete and halves.pays(panel) and self.none == "wrong"

        def find(patterns: Rows) -> tuple[Best, Ties]:
            if in_halves:
                return halves.best(patterns, panel, *weights.per_answer())
            best = Best.empty(len(patterns))
            classes = em_kernels.coin_best(
                patterns.runs, panel.layout.known, len(panel.classes), weights.coins, best
            )
            return best, best.ties(classes)

        return label_rows(votes, find, evidence)

    def proba(self, votes: Votes, weights: Accuracies) -> NDArray[np.float64]:
        """Return how likely every class is under the model."""
        return scoring.chances(votes, weights.column)


def checked_rates(none: Any) -> tuple[float, float]:
    """Return two rates of "none of mine", inside and outside expertise."""
    try:
        inside, outside = map(float, none)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"none={none!r} must be 'wrong', 'learned', or two rates (inside, outside expertise)"
        ) from error
    if not (0 < inside < 1 and 0 < outside < 1):
        raise InputError(f"none={none!r}: both rates must be above 0 and below 1")
    return inside, outside


def _rates(counts: Statistics) -> tuple[float, float]:
    """Return how often experts said "none of mine" inside and outside expertise, one answer each added."""
    assert counts.coins is not None
    _, voted, none_inside, none_outside, outside = counts.coins.sum(axis=1) / ONE
    return (none_inside + 0.5) / (none_inside + voted + 1), (none_outside + 0.5) / (
        none_outside + outside + 1
    )


def _count_in_halves(patterns: Rows, count: Array, weights: Accuracies, share: Array, coins: Array) -> None:
    """Do as `em_kernels.complete_counts`: a vote multiplies the chance of its class by a ratio."""
    panel = weights.statistics.panel
    cells = panel.layout.cells
    weight, base = weights.per_answer()
    known = panel.knows.any(axis=0)
    silent = np.where(known, np.exp((base - base[known].max()) / UNIT), 0.0)
    items, table = np.zeros_like(share), np.zeros(weight.shape, dtype=np.int64)
    halves.shared_out(patterns, count, panel, np.exp(weight / UNIT), silent, items, table)
    votes = np.flatnonzero(cells.label < len(panel.classes))
    np.add.at(coins[0], cells.expert[votes], table[votes, cells.label[votes]])
    coins[1] += np.where(panel.knows, items, 0).sum(axis=1)
    share += items
