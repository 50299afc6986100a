"""covote's default: the paper's vote, and what its labels teach about the experts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import answering, curves, fusion, linear
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.linear import ONE, UNHEARD, UNIT, across
from covote.decoding.loop import Decoder
from covote.decoding.shares import evidence as evidence_of
from covote.decoding.shares import shares_of
from covote.decoding.statistics import Statistics
from covote.errors import InputError
from covote.labels import AGREED, CONFLICT, Labels, Ties, joined
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.arrays import smallest_int
from covote.votes.rows import Rows, each_row, row_parts

Array = NDArray[Any]

WEIGHT = 0.3
"""Weight of the posterior next to N_k / d_k.

Below 1/3, so a lead of one authority in three stands: the posterior settles ties and near ties only.
"""

TRIAL = 1 << 22
"""Numbers (answers x classes) that are enough to find out whether experts make mistakes independently."""

CLEAR = 5.0
"""How much higher the log-likelihood must be before answers count in full: a few items are not enough."""

AGAIN = 3
"""How often independent experts' answers are learned from anew, each time from the posterior before."""

FACTORS = 2.0 ** np.arange(-4, 4.25, 0.25)
"""What the temperature may be multiplied by to fit gold items."""

CAUTION = 2.0
"""How much a factor of e counts against a temperature, in gold items."""


@dataclass(frozen=True, eq=False)
class Lessons:
    """What was learned so far, and what the next pass over the votes is for.

    Attributes
    ----------
    next
        ``"votes"``: learn from the labels of the vote. ``"again"``: learn anew from the posterior, from a
        sample of the answers, and then ``"trial"``: compare how well all other answers predict each answer if
        they count in full, and if they do not. ``"full"``: learn anew from all of them. ``"gold"``: fit the
        temperature to items whose class is known. ``""``: nothing, all is learned.
    statistics
        Answers by label of the vote, which later votes can go on from.
    model, curves
        How the experts answer, and how their probabilities are to be read.
    crowd, independent
        Whether everybody knows every class; whether the experts make their mistakes independently. In both
        cases all answers count in full: the label is the best S.
    round
        How often the posterior was learned from.
    factor
        By how much gold items change the temperature.
    voted
        The model that was learned from the labels of the vote.
    """

    next: str = "votes"
    statistics: Statistics | None = None
    model: answering.AnswerModel | None = None
    curves: curves.Curves | None = None
    crowd: bool = False
    independent: bool = False
    round: int = 0
    factor: float = 1.0
    voted: answering.AnswerModel | None = None

    @property
    def settled(self) -> bool:
        """Whether another pass would change nothing."""
        return not self.next

    @cached_property
    def authorities(self) -> float:
        """How many authorities of its label answered an item, on average; at least 1."""
        assert self.statistics is not None
        items = round(int(self.statistics.share.sum()) / ONE)  # those that somebody answered
        return max(float(self.statistics.inside().inside.sum()) / max(items, 1), 1.0)

    @property
    def temperature(self) -> float:
        """What scores are divided by: d authorities who make mistakes together count for one.

        In a crowd, whose mistakes are less alike, they count for sqrt(d).
        """
        power = 0.0 if self.independent else 0.5 if self.crowd else 1.0
        return float(self.factor * self.authorities**power)

    @property
    def outright(self) -> bool:
        """Whether the label is the best S."""
        return self.crowd or self.independent

    def scores(self, rows: Rows) -> NDArray[np.int64]:
        """Return S, the log-likelihood of all answers of a row under every class (rows x classes)."""
        assert self.model is not None
        if self.curves is None or not rows.votes.soft:
            return linear.scores(rows, self.model.table)
        found = linear.scores(rows, self.model.outside_table)
        more = curves.scores(rows.votes, self.curves)
        if self.curves.alike:
            together = fusion.coupled(rows.votes, fusion.POWER)
            half = np.log(together + 1e-9) * (self.authorities / (2 * fusion.POWER))
            more += np.rint(half * UNIT).astype(np.int64)
        heard = found > UNHEARD
        found[heard] += more[heard]
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What a summary should say about how the labels were found."""
        if self.crowd:
            return ("everybody knows every class, so all answers count in full",)
        if self.independent:
            return ("the experts make their mistakes independently, so all answers count in full",)
        return ()


@dataclass(frozen=True)
class LearnedVote(Decoder):
    """The paper's vote, its near ties decided by how the experts answer.

    The vote s_k = N_k / d_k labels the items (ties are shared out by the coupled probabilities if there are
    any, equally if not). These labels teach how each expert answers: how often it is right about classes that
    it knows, or how to read its probabilities there, how surely it answers inside and outside its expertise
    (:mod:`covote.decoding.curves`), and what it calls the classes that it does not know
    (:mod:`covote.decoding.answering`). S_k is the log-likelihood of all answers if the class is k.
    Authorities make mistakes together, so the posterior is softmax(S / d), d being the mean number of
    authorities who answered. The label is the best s_k + 0.3 posterior_k. Classes that share the best s_k
    stay tied unless S leads each of the others by the logarithm of `odds`.

    If all experts mean the same by their probabilities (the powers by which they are read are alike), what
    these say together counts, too: d/2 log q is added to S_k, q being coupled from all probabilities
    (:mod:`covote.decoding.fusion`).

    A class that has the votes of all its authorities, who together know all other classes, is the label
    whatever else is said (Paper: Corollary 1).

    If all other answers predict each answer better when they count in full (T = 1) than when they do not (T =
    d^1/4), the experts make their mistakes independently. Then the answers are learned from again, three
    times, from softmax(S), and the label is the best S_k. So it is in a crowd, where everybody knows every
    class; its posterior is softmax(S / sqrt(d)).

    Parameters
    ----------
    odds
        How many times as likely as each other tied class a class must be to become the label: how unequal in
        size classes may be without tied items getting the wrong one. 1 labels everything.
    gold
        Items whose class is known, to learn from and to calibrate the confidence on: ``{item: class}``.
    past
        What was learned from earlier votes of the same panel, to go on from.
    """

    odds: float = 2.0
    gold: Gold | None = None
    past: Statistics | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.odds < math.inf:
            raise InputError(f"odds must be a number from 1 (label everything) upwards, not {self.odds}")

    @property
    def passes(self) -> tuple[LearnedVote, ...]:
        """What the votes say, the trial, what answers that count in full say, and the gold items, at most."""
        return (self,) * (4 + AGAIN)

    def start(self, panel: Panel) -> Lessons:
        """Begin with the vote, which needs no data."""
        return Lessons()

    # Learning

    def count(self, votes: Votes, weights: Lessons) -> Any:
        """Return what a part of the votes tells, as counts that add up."""
        if weights.next == "votes":
            return self._counted(votes, voted)
        if weights.next == "trial":
            return self._trial(votes, weights)
        if weights.next == "gold":
            return self._fits(votes, weights)

        def sampled(rows: Rows) -> Array:
            score = weights.scores(rows)
            q = linear.posterior(score)
            return q * in_sample(score, weights)[:, None] if weights.next == "again" else q

        return self._counted(votes, sampled)

    def learn(self, panel: Panel, counts: Any, weights: Lessons) -> Lessons:
        """Return what was learned, and what is to be learned next."""
        if weights.next == "gold":
            likely = counts / UNIT - CAUTION * np.log(FACTORS) ** 2
            return replace(weights, next="", factor=float(FACTORS[likely.argmax()]))
        last = "" if self.gold is None else "gold"
        if weights.next == "trial":
            assert weights.statistics is not None
            before = weights.statistics
            trial = counts if before.trial is None else counts + before.trial
            independent = bool(trial[0] - trial[1] > CLEAR * UNIT)
            return Lessons(
                "full" if independent else last, replace(before, trial=trial), weights.voted,
                independent=independent,
            )  # fmt: skip
        total = counts if self.past is None else self.past + counts
        model = answering.fit(total, crowd=bool(panel.knows.all()))
        if weights.next == "votes":
            read = None if total.probabilities is None else curves.learn(total.probabilities)
            crowd = read is None and bool(panel.knows.all())
            return Lessons(last if crowd or read is not None else "again", total, model, read, crowd)
        if weights.next == "again":
            return replace(weights, next="trial", model=model, voted=weights.model)
        done = weights.round + 1
        return replace(weights, next="full" if done < AGAIN else last, model=model, round=done)

    def _counted(self, votes: Votes, shared: Callable[[Rows], Array]) -> Statistics:
        """Count answers by class; `shared` says how likely every class is. Gold items have their own."""
        panel, where, truth = votes.panel, *gold_rows(self.gold, votes)
        rows = each_row(votes.subset(where).to_ragged())
        known = np.zeros((len(rows), len(panel.classes)))
        known[np.arange(len(rows)), truth] = 1
        found = self._statistics(rows, known, np.ones(len(rows), np.int64))
        for rows, number in self._pieces(votes, where):
            found += self._statistics(rows, shared(rows), number)
        return found

    def _statistics(self, rows: Rows, q: Array, number: Array) -> Statistics:
        """Count the answers of some rows."""
        part = linear.shared_out(q, number)
        panel, share = rows.votes.panel, part.sum(axis=0)
        read = curves.count(rows.votes, q * (number > 0)[:, None]) if rows.votes.soft else None
        return Statistics(panel, "learned", int(number.sum()), share, linear.counts(rows, part), read)

    def _pieces(self, votes: Votes, without: Array) -> Iterator[tuple[Rows, Array]]:
        """Yield (answer rows, how many items each stands for), leaving out some items."""
        if votes.soft:
            for part, span in curves.pieces(votes):
                left = np.ones(len(part), np.int64)
                left[without[(without >= span.start) & (without < span.stop)] - span.start] = 0
                some = np.flatnonzero(left)
                yield each_row(part if len(some) == len(part) else part.subset(some)), left[some]
            return
        for rows, span in row_parts(votes):
            inside = without[(without >= span.start) & (without < span.stop)] - span.start
            number = rows.count_without(inside)
            for piece, those in rows.pieces():
                yield piece, number[those]

    def _trial(self, votes: Votes, weights: Lessons) -> NDArray[np.int64]:
        """Return the log-likelihood of each answer by all others, which count in full or do not."""
        assert weights.model is not None
        found = np.zeros(2, np.int64)
        for rows, number in self._pieces(votes, gold_rows(self.gold, votes)[0]):
            score = weights.scores(rows)
            kept = np.flatnonzero(in_sample(score, weights) & (number > 0))
            sample, score = each_row(rows.votes.subset(kept).to_ragged()), score[kept]
            owner = np.repeat(np.arange(len(kept)), np.diff(sample.runs.indptr))
            every = weights.model.table
            table = every(sample.cell) if callable(every) else every[sample.cell]
            many = weights.model.answers[sample.runs.expert][:, None]
            chance = np.exp(table / UNIT) / many
            rest = score[owner]
            rest -= np.where(rest > UNHEARD, table, 0)
            for place, temperature in enumerate((1.0, weights.authorities**0.25)):
                likely = np.log((linear.posterior(rest, temperature) * chance).sum(axis=1))
                found[place] += int((np.rint(likely * UNIT).astype(np.int64) * number[kept][owner]).sum())
        return found

    # Gold

    def _apart(self, votes: Votes, weights: Lessons) -> Iterator[tuple[Rows, Array, Array, Array]]:
        """Yield (gold items, where they are, their classes, scores learned without each of them)."""
        where, truth = gold_rows(self.gold, votes)
        gold = votes.subset(where)
        parts = curves.pieces(gold) if votes.soft else ((gold.to_ragged(), slice(0, len(gold))),)
        for piece, span in parts:
            rows, known = each_row(piece), truth[span]
            score = weights.scores(rows)
            assert weights.model is not None
            owner = np.repeat(np.arange(len(rows)), np.diff(rows.runs.indptr))
            less = weights.model.apart(rows.cell, known[owner])
            np.subtract.at(score, (owner, known[owner]), less)
            yield rows, where[span], known, score

    def _fits(self, votes: Votes, weights: Lessons) -> NDArray[np.int64]:
        """Return how likely each temperature makes the classes of gold items, in whole units."""
        found = np.zeros(len(FACTORS), np.int64)
        for rows, _, truth, score in self._apart(votes, weights):
            at = np.arange(len(rows)), truth
            for place, factor in enumerate(FACTORS):
                q = linear.posterior(score, factor * weights.temperature)[at]
                found[place] += int(np.rint(np.log(np.maximum(q, 1e-9)) * UNIT).astype(np.int64).sum())
        return found

    def held_out(self, votes: Votes, weights: Lessons) -> NDArray[np.int64]:
        """Return the labels of gold items (-1 for others), each as if its own class were not known."""
        found = np.full(len(votes), -1, np.int64)
        for rows, where, _, score in self._apart(votes, weights):
            found[where] = self._labels(rows, weights, score, evidence=False).index
        return found

    # Labelling

    def score(self, votes: Votes, weights: Lessons, evidence: bool = True) -> Labels:
        """Return the labels."""
        found = []
        if votes.soft:
            for piece, _ in curves.pieces(votes):
                rows = each_row(piece)
                found.append(self._labels(rows, weights, weights.scores(rows), evidence))
            return joined(found, votes.ids, votes.start)
        for rows, _ in row_parts(votes):
            pieces = [piece for piece, _ in rows.pieces()]
            labels = [self._labels(piece, weights, weights.scores(piece), evidence) for piece in pieces]
            found.append(rows.spread(joined(labels)))
        return joined(found, votes.ids, votes.start)

    def proba(self, votes: Votes, weights: Lessons) -> NDArray[np.float64]:
        """Return how likely every class is by all answers."""
        found = np.zeros((len(votes), len(votes.panel.classes)))
        if votes.soft:
            for piece, span in curves.pieces(votes):
                found[span] = linear.posterior(weights.scores(each_row(piece)), weights.temperature)
            return found
        for rows, span in row_parts(votes):
            pieces = [piece for piece, _ in rows.pieces()]
            likely = [linear.posterior(weights.scores(piece), weights.temperature) for piece in pieces]
            found[span] = rows.spread_values(np.concatenate(likely))
        return found

    def _labels(self, rows: Rows, weights: Lessons, score: Array, evidence: bool) -> Labels:
        """Return the labels of answer rows, given S."""
        panel, row = rows.votes.panel, np.arange(len(rows))
        vote = shares_of(rows)
        share, level = vote.share, vote.best
        many = across(np.add, level.astype(np.int64)) > 1
        likely = linear.posterior(score, weights.temperature)
        total = score
        if not weights.outright:
            total = np.rint(share * ONE).astype(np.int64) + np.rint(WEIGHT * likely * ONE).astype(np.int64)
        top = across(np.maximum, total)
        first = total == top[:, None]
        index = np.where(across(np.maximum, share) >= 0, first.argmax(axis=1), -1)
        # Classes with the best share stay tied unless S leads by the odds; equal scores tie anyway.
        among = np.where(level, score, UNHEARD)
        leader = across(np.maximum, among)
        among[row, among.argmax(axis=1)] = UNHEARD
        lead = leader - across(np.maximum, among)
        undecided = many & level[row, index] & (lead < max(round(math.log(self.odds) * UNIT), 1))
        undecided |= (across(np.add, first.astype(np.int64)) > 1) & (index >= 0)
        tied = many | undecided
        listed = np.where(many[:, None], level, first)
        index[undecided] = -1
        self._guard(rows, share, level, index)
        index = index.astype(smallest_int(len(panel.classes)))
        sizes = across(np.add, listed[tied].astype(np.int64)) if tied.any() else np.empty(0, np.int64)
        ties = Ties(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), np.nonzero(listed[tied])[1])
        if not evidence:
            return Labels(panel, index, tied, ties)
        most = across(np.maximum, likely)
        chance = np.where(index >= 0, likely[row, index], across(np.maximum, np.where(listed, likely, 0)))
        behind = evidence_of(rows, index, tied, chance)
        behind.status[(behind.status == AGREED) & (likely[row, index] < most)] = CONFLICT
        return Labels(panel, index, tied, ties, behind)

    def _guard(self, rows: Rows, share: Array, level: Array, index: Array) -> None:
        """Give items the class that nobody who knows it denies, if its authorities know all others.

        If experts are right about what they know, no other class is possible: whichever it were, one of these
        authorities would have named it. Paper: Corollary 1.
        """
        sole = (across(np.maximum, share) == 1) & (across(np.add, level.astype(np.int64)) == 1)
        clean = level.argmax(axis=1)
        where = np.flatnonzero(sole & (index != clean))
        if not len(where):
            return
        runs = each_row(rows.votes.subset(where).to_ragged()).runs
        owner = np.repeat(np.arange(len(where)), np.diff(runs.indptr))
        says = runs.label == clean[where][owner]
        owner, knows = owner[says], rows.votes.panel.knows[runs.expert[says]]
        begin = np.searchsorted(owner, np.arange(len(where)))
        safe = np.logical_or.reduceat(knows, begin, axis=0).all(axis=1)
        index[where[safe]] = clean[where[safe]]


def total_scores(votes: Votes, weights: Lessons) -> NDArray[np.float64]:
    """Return s + 0.3 posterior of votes with probabilities (items x classes); -inf for a class not heard."""
    found = np.full((len(votes), len(votes.panel.classes)), -np.inf)
    for piece, span in curves.pieces(votes):
        rows = each_row(piece)
        share, likely = shares_of(rows).share, linear.posterior(weights.scores(rows), weights.temperature)
        found[span] = np.where(share >= 0, share + WEIGHT * likely, -np.inf)
    return found


def voted(rows: Rows) -> NDArray[np.float64]:
    """Return how likely the vote alone makes every class: tied ones alike, or as probabilities say."""
    q = shares_of(rows).best.astype(np.float64)
    number = across(np.add, q)
    if rows.votes.soft:
        tied = np.flatnonzero(number > 1)
        q[tied] *= fusion.coupled(rows.votes.subset(tied), power=1) + 1e-12
        number = across(np.add, q)
    q /= np.maximum(number, 1e-300)[:, None]
    return q


def in_sample(score: Array, weights: Lessons) -> NDArray[np.bool_]:
    """Return which rows belong to the sample of the trial: the same ones in any order and in any part.

    The last bits of the best score are as good as random, and do not depend on the order of anything.
    """
    assert weights.statistics is not None
    seen = weights.statistics.inside()
    numbers = float(seen.inside.sum() + seen.outside.sum()) * score.shape[1]
    share = min(1.0, TRIAL / max(numbers, 1.0))
    found: NDArray[np.bool_] = across(np.maximum, score) % 4093 < share * 4093
    return found
