"""Choose how to model the experts by predicting answers to items that were not learned from.

A sample of the items (:mod:`covote.decoding.sampling`) is cut into halves. The model is learned from one half
(from the paper's vote, then twice from the posterior), and predicts each answer to an item of the other half
from the item's other answers:

    P(v) = sum over classes k of softmax(S without the answer)_k P_i(v|k)

The choice with the higher mean logarithm is taken: first whose habits wrong answers follow, each with the
best of three strengths of dependence; then, if these are not the experts' own, whether classes differ in
size; then whether experts answer mostly what they know. The last two must gain GAIN per answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear
from covote.decoding.learned_weights import Choice, LearnedWeights, counted, vote_posterior
from covote.decoding.linear import NO_EVIDENCE, UNIT
from covote.decoding.sampling import RowSample
from covote.decoding.statistics import HeldOut
from covote.decoding.tuning import DEPENDENCES, HABITS, READINESS
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.rows import each_row

Array = NDArray[Any]

GAIN = 0.01
"""By how much an answer must be better predicted, on average, before sizes or who answered count."""

ROUNDS = 3
"""How often the model is learned, first from the vote."""


def choose(weights: LearnedWeights, sample: RowSample) -> LearnedWeights:
    """Return the weights with what predicts the held-out answers of the sample best."""
    panel, before = weights.statistics.panel, weights.statistics.held_out
    halves = [half.votes(panel) for half in sample.halves()]
    found = HeldOut.empty()
    depth = authorities(sample.votes(panel))
    found.authorities[:] = depth
    start = replace(weights, curves=None, choice=Choice(authorities=depth[0] / max(depth[1], 1)))

    def total() -> HeldOut:
        return found if before is None else found.plus(before)

    def predicted(choice: Choice, dependences: tuple[float, ...]) -> NDArray[np.int64]:
        return sum(
            log_likelihoods(fitted(replace(start, choice=choice), learn), test, dependences)
            for learn, test in (halves, halves[::-1])
        ) + np.zeros(len(dependences), np.int64)

    answers = int((sample.count * np.diff(sample.rows.indptr)).sum())
    found.answers[0] = answers
    for row, habits in enumerate(HABITS):
        found.habits[row] = predicted(replace(start.choice, habits=habits), DEPENDENCES)
    best = int(total().habits.max(axis=1).argmax())
    choice = replace(start.choice, habits=HABITS[best])
    rho = DEPENDENCES.index(0.0)
    if choice.habits != "own" and not _full_expert(panel):
        found.sizes[best] = predicted(replace(choice, sizes=True), (0.0,))[0] - found.habits[best, rho]
        clear = total().sizes[best] > GAIN * UNIT * max(total().answers[0], 1)
        choice = replace(choice, sizes=bool(clear))
    if weights.selects.sum() > 1 and not panel.knows.all():
        for column, g in enumerate(READINESS):
            found.readiness[best, column] = predicted(replace(choice, readiness=g), (weights_rho(choice),))[0]
        gains = total().readiness[best] - total().readiness[best, 0]
        if gains.max() > GAIN * UNIT * max(total().answers[0], 1):
            choice = replace(choice, readiness=READINESS[int(gains.argmax())])
    statistics = replace(weights.statistics, held_out=total())
    every = total().authorities
    return replace(
        weights,
        statistics=statistics,
        choice=replace(choice, authorities=max(every[0] / max(every[1], 1), 1.0)),
    )


def weights_rho(choice: Choice) -> float:
    """Return the strength of dependence with which labels are scored."""
    return DEPENDENCES[1] if choice.habits == "own" else 0.0


def _full_expert(panel: Panel) -> bool:
    """Whether somebody knows every class, but not everybody does."""
    return bool(panel.knows.all(axis=1).any() and not panel.knows.all())


def fitted(weights: LearnedWeights, votes: Votes) -> LearnedWeights:
    """Return the weights learned from some votes."""
    found = replace(weights, statistics=counted(votes, None, vote_posterior))
    for _ in range(ROUNDS - 1):
        now = found
        again = counted(votes, None, lambda rows: linear.posterior(now.scores(rows)))  # noqa: B023
        found = replace(weights, statistics=again)
    return found


def log_likelihoods(
    weights: LearnedWeights, votes: Votes, dependences: tuple[float, ...]
) -> NDArray[np.int64]:
    """Return the log-likelihood of all answers, each given the others of its item, in whole units."""
    found, panel = np.zeros(len(dependences), np.int64), weights.statistics.panel
    for rows, _ in each_row(votes).pieces():
        cells, which = np.unique(rows.cell, return_inverse=True)
        table, probability = weights.model.weights(cells), weights.model.probability(cells)
        knows = panel.knows[panel.layout.cells.expert[cells]]
        owner, heard = linear.row_of_answer(rows), linear.authorities(rows) > 0
        inside = linear.sums(rows.runs.indptr, which, np.where(knows, table, 0))
        outside = linear.sums(rows.runs.indptr, which, np.where(knows, 0, table))
        evidence = weights.evidence(rows)
        for place, rho in enumerate(dependences):
            within, without, scale = weights.tempering(rows, rho)
            score = (inside / within + outside / without) * scale + evidence
            own = table[which] * np.where(knows[which], (scale / within)[owner], (scale / without)[owner])
            rest = np.where(heard[owner], score[owner] - own, float(NO_EVIDENCE))
            likely = np.log((linear.posterior(rest) * probability[which]).sum(axis=1))
            found[place] += int((np.rint(likely * UNIT).astype(np.int64) * rows.count[owner]).sum())
    return found


def authorities(votes: Votes) -> tuple[int, int]:
    """Return the sum of all d_k above 0, and how many there are."""
    total, number = 0, 0
    for rows, _ in each_row(votes).pieces():
        known = linear.authorities(rows)
        total += int((known.sum(axis=1) * rows.count).sum())
        number += int(((known > 0).sum(axis=1) * rows.count).sum())
    return total, number
