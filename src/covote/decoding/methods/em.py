"""EM with one accuracy per expert, for independent experts of unequal skill.

After A. P. Dawid and A. M. Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM
algorithm", with one parameter per expert instead of a table. Right for people; on classifiers that answer
alike it loses to the authority vote (theory.md section 9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding import halves, scoring
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.linear import ONE, UNIT, Best
from covote.decoding.scoring import SCALE, chance_of_best, decide, label_rows, list_equal
from covote.decoding.shares import Counters, counters, forget, hear
from covote.decoding.statistics import Statistics
from covote.errors import InputError
from covote.labels import Labels
from covote.panel import Panel
from covote.panel.layout import Lists
from covote.votes import Ragged, Votes
from covote.votes.rows import Rows, row_parts
from covote.votes.vote_checks import check_choice

Array = NDArray[Any]

SAFE = 300.0
"""Products of chances are formed directly while their logarithm stays below this."""

MODEL, SHARES, AUTHORITY = 0, 1, 2
"""How to share an item out among the classes: by the model, by vote shares N_k / d_k, by the best of them."""


class Coins(NamedTuple):
    """What a right and a wrong answer and "none of mine" weigh inside expertise, per expert."""

    right: Array
    wrong: Array
    none: Array


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
        panel, (right, wrong, _) = self.statistics.panel, self.coins
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
        how, weight = MODEL, Coins(nothing, nothing, nothing)
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
                _complete_counts(patterns.runs, count, known, weight, np.exp(ratio), share, coins)
            else:
                _coin_counts(patterns.runs, count, known, how, weight, share, coins)
        if len(rows):
            _known_counts(votes.subset(rows).ragged, truth, panel.knows, share, coins)
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
        return Accuracies(counts, accuracy, Coins(right, wrong, none))

    def score(self, votes: Votes, weights: Accuracies, evidence: bool = True) -> Labels:
        """Return the labels; the confidence is the probability of the class under the model."""
        panel = votes.panel
        in_halves = votes.complete and halves.pays(panel) and self.none == "wrong"

        def find(patterns: Rows, best: Best) -> Array:
            if in_halves:
                return halves.best(patterns, panel, *weights.per_answer(), best)
            known = panel.layout.known
            classes: Array = _coin_best(patterns.runs, known, len(panel.classes), weights.coins, best)
            return classes

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
    """Do as `_complete_counts`: a vote multiplies the chance of its class by a ratio."""
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


@helper(inline="always")
def _add_up(runs: Ragged, n: int, known: Lists, coins: Coins, heard: Array, score: Array) -> None:
    """Add up the weights of all answers for every heard class."""
    for c in range(len(heard)):
        score[heard[c]] = 0
    for p in range(runs.indptr[n], runs.indptr[n + 1]):
        i = runs.expert[p]
        other = coins.wrong[i] if runs.label[p] >= 0 else coins.none[i]
        for x in range(known.start[i], known.start[i + 1]):
            score[known.members[x]] += other
        if runs.label[p] >= 0:
            score[runs.label[p]] += coins.right[i] - coins.wrong[i]


@helper(inline="always")
def _shared_out(how: int, heard: Array, counts: Counters, score: Array, q: Array) -> None:
    """Give every heard class its part of the item, as a whole number out of ONE."""
    total = 0.0
    count = len(heard)
    if how == MODEL:
        top = score[heard[0]]
        for c in range(1, count):
            top = max(top, score[heard[c]])
        for c in range(count):
            q[c] = math.exp((score[heard[c]] - top) * SCALE)
            total += q[c]
    else:
        for c in range(count):
            q[c] = counts.votes[heard[c]] / counts.asked[heard[c]]
        if how == AUTHORITY:
            top = q[:count].max()
            for c in range(count):
                q[c] = 1.0 if q[c] == top else 0.0
        for c in range(count):
            total += q[c]
        if total == 0:  # only "none of mine": nothing is known
            for c in range(count):
                q[c] = 1.0
            total = count
    for c in range(count):
        q[c] = np.rint(q[c] / total * ONE)


@helper(inline="always")
def _note(found: Array, i: int, none: bool, inside: int, outside: int) -> None:
    """Count an answer: how much of the item is of classes that the expert knows, and how much of others."""
    found[2 if none and len(found) > 2 else 1, i] += inside
    if len(found) > 2:
        found[3 if none else 4, i] += outside


@kernel
def _coin_counts(
    runs: Ragged, times: Array, known: Lists, how: int, coins: Coins, share: Array, found: Array
) -> None:
    """Count right answers and all answers inside expertise: the two rows of `found`.

    With three more rows, "none of mine" is no such answer: they count it inside and outside expertise, and
    other answers outside.
    """
    classes = len(share)
    counts, score = counters(classes), np.zeros(classes, np.int64)
    q, part = np.empty(classes), np.zeros(classes, np.int64)
    for n in range(len(times)):
        begin, end = runs.indptr[n], runs.indptr[n + 1]
        if times[n] == 0 or begin == end:
            continue
        number = hear(runs, n, known, counts)
        heard = counts.heard[:number]
        if how == MODEL:
            _add_up(runs, n, known, coins, heard, score)
        _shared_out(how, heard, counts, score, q)
        whole = np.int64(0)
        for c in range(number):
            part[heard[c]] = np.int64(q[c]) * times[n]
            share[heard[c]] += part[heard[c]]
            whole += part[heard[c]]
        for p in range(begin, end):
            i = runs.expert[p]
            inside = np.int64(0)
            if known.start[i + 1] - known.start[i] == number:
                inside = whole  # it knows every class that was heard
            else:
                for x in range(known.start[i], known.start[i + 1]):
                    inside += part[known.members[x]]
            _note(found, i, runs.label[p] < 0, inside, whole - inside)
            if runs.label[p] >= 0:
                found[0, i] += part[runs.label[p]]
        forget(counts, number)


@kernel
def _complete_counts(
    runs: Ragged, times: Array, known: Lists, coins: Coins, ratio: Array, share: Array, found: Array
) -> None:
    """Do the same where everybody answered every item, and no product of `ratio`, right to wrong, overflows.

    A class without votes then has the same chance in all rows, up to a factor: `silent`. Every vote for it
    multiplies that by the ratio of its expert. And all answers of an expert inside its expertise are all
    items of the classes it knows.
    """
    classes = len(share)
    base, is_heard = np.zeros(classes, np.int64), np.zeros(classes, np.bool_)
    for i in range(len(ratio)):
        for x in range(known.start[i], known.start[i + 1]):
            base[known.members[x]] += coins.wrong[i]
            is_heard[known.members[x]] = True
    ground = base[known.members[0]]
    for k in range(classes):
        ground = max(ground, base[k]) if is_heard[k] else ground
    silent, everything, most = np.zeros(classes), 0.0, 0.0
    for k in range(classes):
        if is_heard[k]:
            silent[k] = math.exp((base[k] - ground) * SCALE)
        everything += silent[k]
        most = max(most, silent[k])
    voted, part = np.empty(classes, np.int64), np.zeros(classes, np.int64)
    q = silent.copy()
    for n in range(len(times)):
        begin, end = runs.indptr[n], runs.indptr[n + 1]
        if times[n] == 0:
            continue
        count = 0
        for p in range(begin, end):
            k = runs.label[p]
            if k >= 0:
                if q[k] >= 0:  # its first vote: the sign marks it
                    voted[count] = k
                    count += 1
                    q[k] = -q[k]
                q[k] *= ratio[runs.expert[p]]
        total = everything
        for c in range(count):
            k = voted[c]
            q[k] = -q[k]
            total += q[k] - silent[k]
        norm = ONE / total
        if most * norm >= 0.5:
            for k in range(classes):
                part[k] += np.int64(q[k] * norm + 0.5) * times[n]
        else:
            for c in range(count):
                part[voted[c]] += np.int64(q[voted[c]] * norm + 0.5) * times[n]
        for p in range(begin, end):
            if runs.label[p] >= 0:
                found[0, runs.expert[p]] += np.int64(q[runs.label[p]] * norm + 0.5) * times[n]
        for c in range(count):
            q[voted[c]] = silent[voted[c]]
    for k in range(classes):
        share[k] += part[k]
    for i in range(len(ratio)):
        for x in range(known.start[i], known.start[i + 1]):
            found[1, i] += part[known.members[x]]


@kernel
def _known_counts(runs: Ragged, truth: Array, knows: Array, share: Array, found: Array) -> None:
    """Count the answers to items whose class is known."""
    for n in range(len(truth)):
        share[truth[n]] += ONE
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            inside = ONE if knows[runs.expert[p], truth[n]] else 0
            _note(found, runs.expert[p], runs.label[p] < 0, inside, ONE - inside)
            if inside and runs.label[p] == truth[n]:
                found[0, runs.expert[p]] += ONE


@kernel
def _coin_best(runs: Ragged, known: Lists, classes: int, coins: Coins, found: Best) -> Array:
    """Find the best class of every answer row, how probable it is, and the next.

    Returns the classes of all tied rows.
    """
    counts, score = counters(classes), np.zeros(classes, np.int64)
    ties, at = np.empty(16, np.int64), 0
    for n in range(len(found.chosen)):
        number = hear(runs, n, known, counts)
        heard = counts.heard[:number]
        _add_up(runs, n, known, coins, heard, score)
        found.chosen[n], found.shared[n], found.runner_up[n], top, second = decide(heard, score)
        found.confidence[n] = chance_of_best(heard, score, top)
        if number > 1:
            found.margin[n] = (top - second) * SCALE
        if found.shared[n] > 1:
            ties, at = list_equal(heard, score, top, ties, at)
        forget(counts, number)
    return ties[:at].copy()
