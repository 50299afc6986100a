"""EM with one accuracy per expert, for independent experts of unequal skill.

Right for people; on classifiers that answer alike it loses to the authority vote (theory.md section 9).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from covote.decoding import halves
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.rows import Patterns, cells, pattern_parts
from covote.decoding.scoring import UNIT, Scored
from covote.decoding.statistics import ONE, Statistics
from covote.errors import InputError
from covote.labels import Labels
from covote.panel import Panel
from covote.panel.known_lists import known_lists
from covote.votes import Votes
from covote.votes.vote_checks import check_choice

Array = NDArray[Any]


SAFE = 300.0
"""Products of chances are formed directly while their logarithm stays below this."""


@dataclass(frozen=True, eq=False)
class Coins:
    """One accuracy per expert, and what a right and a wrong answer inside expertise then weigh."""

    statistics: Statistics
    accuracy: NDArray[np.float64]
    right: NDArray[np.int64]
    wrong: NDArray[np.int64]

    def per_answer(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return what answers weigh (answers x classes) beyond what a class has if nobody votes for it."""
        panel, layout = self.statistics.panel, cells(self.statistics.panel)
        votes = np.flatnonzero(layout.label < len(panel.classes))
        weight = np.zeros((len(layout), len(panel.classes)), dtype=np.int64)
        weight[votes, layout.label[votes]] = (self.right - self.wrong)[layout.expert[votes]]
        return weight, np.where(panel.knows, self.wrong[:, None], 0).sum(axis=0)


@dataclass(frozen=True)
class Em:
    """Estimate one accuracy per expert by expectation maximisation.

    An expert that knows the class answers it with probability p_i, else any other class it knows; outside its
    expertise it answers anything. A "none of mine" counts as a wrong answer about the classes it knows.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known).
    past
        What was learned from earlier votes of the same panel, to go on from.
    prior
        How many answers the common accuracy counts for in the accuracy of each expert.
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
    begin: Literal["shares", "authority"] = "shares"
    iterations: int = 50
    tolerance: float = 1e-5

    def __post_init__(self) -> None:
        check_choice("begin", self.begin, ("shares", "authority"))
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

    def statistics(self, part: Votes, weights: Coins | None) -> Statistics:
        """Count right answers inside expertise, by the probability of each class."""
        from covote.decoding.methods import em_kernels

        panel = part.panel
        classes = len(panel.classes)
        start, known = known_lists(panel)
        coins = np.zeros((2, len(panel)), dtype=np.int64)
        share = np.zeros(classes, dtype=np.int64)
        rows, truth = gold_rows(self.gold, part)
        items = len(rows)
        for patterns, span in pattern_parts(part):
            mine = (rows >= span.start) & (rows < span.stop)
            count = patterns.count_without(rows[mine] - span.start)
            items += int(count.sum())
            answers = (patterns.indptr, patterns.expert, patterns.label, count, start, known)
            if (
                weights is not None
                and part.complete
                and np.abs(weights.right - weights.wrong).sum() < SAFE * UNIT
            ):
                ratio = np.exp((weights.right - weights.wrong) / UNIT)
                if halves.pays(panel):
                    self._counted_in_halves(patterns, count, panel, weights, share, coins)
                    continue
                em_kernels.complete_counts(
                    *answers, classes, ratio, weights.wrong, 1 / UNIT, ONE, share, coins
                )
            else:
                stage = self._stage(weights, panel)
                em_kernels.coin_counts(*answers, classes, *stage, ONE, share, coins)
        if len(rows):
            runs = part.subset(rows).ragged
            em_kernels.known_counts(*runs, truth, panel.knows, ONE, share, coins)
        return Statistics.of_coins(panel, "em", items, share, coins)

    def _counted_in_halves(
        self, patterns: Patterns, count: Array, panel: Panel, weights: Coins, share: Array, coins: Array
    ) -> None:
        """Do as `em_kernels.complete_counts`: a vote multiplies the chance of its class by a ratio."""
        layout = cells(panel)
        weight, base = weights.per_answer()
        known = panel.knows.any(axis=0)
        silent = np.where(known, np.exp((base - base[known].max()) / UNIT), 0.0)
        items, table = np.zeros_like(share), np.zeros(weight.shape, dtype=np.int64)
        halves.shared_out(patterns, count, panel, np.exp(weight / UNIT), silent, items, table)
        votes = np.flatnonzero(layout.label < len(panel.classes))
        np.add.at(coins[0], layout.expert[votes], table[votes, layout.label[votes]])
        coins[1] += np.where(panel.knows, items, 0).sum(axis=1)
        share += items

    def _stage(self, weights: Coins | None, panel: Panel) -> tuple[int, Array, Array, float]:
        """Return (how to share items out, right, wrong, scale) for the kernels."""
        if weights is None:
            none = np.zeros(len(panel), dtype=np.int64)
            return (1 if self.begin == "shares" else 2), none, none, 1.0
        return 0, weights.right, weights.wrong, 1 / UNIT

    def learn(self, panel: Panel, counts: Statistics, weights: Coins | None) -> Coins:
        """Return better accuracies; the same object when they have settled."""
        if self.past is not None:
            counts = self.past + counts
        right, total, _ = counts.inside()
        common = (right.sum() + 9) / (total.sum() + 10)
        size = panel.sizes
        accuracy = (right + self.prior * common) / np.maximum(total + self.prior, 1e-9)
        accuracy = np.clip(accuracy, np.minimum(0.02, 0.5 / size), 0.995)
        if weights is not None and np.abs(accuracy - weights.accuracy).max() <= self.tolerance:
            return weights
        says = size > 1
        log_right = np.log(np.where(says, size * accuracy, 1.0))
        log_wrong = np.log(np.where(says, size * (1 - accuracy) / np.maximum(size - 1, 1), 1.0))
        whole = [np.rint(w * UNIT).astype(np.int64) for w in (log_right, log_wrong)]
        return Coins(counts, accuracy, *whole)

    def score(self, part: Votes, weights: Coins) -> Labels:
        """Return the labels; the confidence is the probability of the class under the model."""
        from covote.decoding.methods import em_kernels

        scored = Scored.empty(part)
        start, known = known_lists(part.panel)
        for patterns, span in pattern_parts(part):
            if part.complete and halves.pays(part.panel):
                found = halves.best(patterns, part.panel, *weights.per_answer())
                scored.put(span, patterns.spread, found)
                continue
            size = len(patterns)
            out = (
                np.full(size, -1, np.int64), np.zeros(size, np.int64), np.zeros(size),
                np.full(size, np.nan), np.full(size, -1, np.int64),
            )  # fmt: skip
            em_kernels.coin_best(
                patterns.indptr, patterns.expert, patterns.label, start, known, len(part.panel.classes),
                weights.right, weights.wrong, 1 / UNIT, *out,
            )  # fmt: skip
            scored.put(span, patterns.spread, out)
        return scored.labels(part, lambda rows: self._equal(part, rows, weights))

    def _equal(self, part: Votes, rows: Array, weights: Coins) -> list[Array]:
        """Return the classes that share the best score, for some items."""
        from covote.decoding.methods import em_kernels

        start, known = known_lists(part.panel)
        runs = part.subset(rows).ragged
        return [
            em_kernels.equal_best(
                *runs, start, known, len(part.panel.classes), weights.right, weights.wrong, n
            )
            for n in range(len(rows))
        ]
