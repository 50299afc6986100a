"""Choose how to model the experts by predicting answers to items that were not learned from.

A sample of the items (:mod:`covote.decoding.sampling`) is cut into halves. The model is learned from one half
(from the paper's vote, then twice from the posterior), and predicts each answer to an item of the other half
from the item's other answers:

    P(v) = sum over classes k of softmax(S without the answer)_k P_i(v|k)

The choice with the higher mean logarithm is taken: first whose habits wrong answers follow, then whether
experts answer mostly what they know; if so, the models learn again with this, and both are chosen again if
the habits change. If there are habits, the temperature at which the answers are predicted best: 1 if mistakes
are independent, more if experts make the same ones. If habits are not the experts' own, whether classes
differ in size. Readiness and sizes must gain GAIN per answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear
from covote.decoding.learned_weights import Choice, LearnedWeights, counted, vote_posterior
from covote.decoding.linear import NO_EVIDENCE, UNIT
from covote.decoding.sampling import RowSample
from covote.decoding.statistics import HeldOut, Statistics
from covote.decoding.tuning import HABITS, READINESS, TEMPERATURES
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.patterns import each_row

Array = NDArray[Any]

GAIN = 0.01
"""By how much an answer must be better predicted, on average, before sizes or who answered count."""

INDEPENDENT = 1.35
"""Below this temperature, the mistakes of experts with habits of their own count as independent."""

SEVERAL = 2.5
"""If fewer authorities answer an item, on average, temperature 1 must gain GAIN per answer to show this."""

ROUNDS = 3
"""How often the model is learned, first from the vote."""


def choose(weights: LearnedWeights, sample: RowSample) -> LearnedWeights:
    """Return the weights with what predicts the held-out answers of the sample best."""
    panel, before = weights.statistics.panel, weights.statistics.held_out
    halves = [half.votes(panel) for half in sample.halves()]
    by_vote = [counted(half, None, vote_posterior) for half in halves]
    found = HeldOut.empty()
    found.authorities[:] = authorities(sample.votes(panel))
    found.answers[0] = (sample.count * np.diff(sample.rows.indptr)).sum()

    def total() -> HeldOut:
        return found if before is None else found.plus(before)

    every, there = total().authorities
    depth = max(float(every / max(there, 1)), 1.0)
    choice = Choice(authorities=depth)

    def gains_enough(gain: Any) -> bool:
        return bool(gain > GAIN * UNIT * max(total().answers[0], 1))

    def fit(choice: Choice) -> list[LearnedWeights]:
        start = replace(weights, curves=None, choice=choice)
        return [fitted(start, half, first) for half, first in zip(halves, by_vote, strict=True)]

    for _ in range(2):
        models = [fit(replace(choice, habits=habits)) for habits in HABITS]
        for row, pair in enumerate(models):
            # Every answer counts in full here, so that no kind of habits is held back.
            full = [replace(one, choice=replace(one.choice, temperature=1.0)) for one in pair]
            found.habits[row] = predicted(full, halves, [choice])[0, 0]
        best = int(total().habits.argmax())
        chosen = models[best]
        if choice.readiness and choice.habits == HABITS[best]:
            break
        choice = replace(choice, habits=HABITS[best])
        if weights.selects.sum() > 1 and not panel.knows.all():
            found.readiness[best] = predicted(
                chosen, halves, [replace(choice, readiness=g) for g in READINESS]
            )[:, 0]
            gains = total().readiness[best] - total().readiness[best, 0]
            answers_known = gains_enough(gains.max())
            choice = replace(choice, readiness=READINESS[int(gains.argmax())] if answers_known else 0.0)
        if not choice.readiness:
            break
    if choice.habits != "none" and not panel.knows.all():
        found.temperatures[best] = predicted(chosen, halves, [choice], TEMPERATURES)[0]
        likelihood = total().temperatures[best]
        choice = replace(choice, temperature=best_temperature(likelihood))
        if choice.habits == "own":
            seen = depth >= SEVERAL or gains_enough(likelihood[0] - likelihood[1])
            least = 1.0 if seen else float(np.cbrt(depth))
            independent = bool(seen and choice.temperature < INDEPENDENT)
            choice = replace(choice, temperature=max(choice.temperature, least), independent=independent)
    if choice.habits != "own" and not _full_expert(panel):
        without, with_sizes = predicted(
            chosen, halves, [replace(choice, sizes=sizes) for sizes in (False, True)]
        )[:, 0]
        found.sizes[best] = with_sizes - without
        choice = replace(choice, sizes=gains_enough(total().sizes[best]))
    return replace(weights, statistics=replace(weights.statistics, held_out=total()), choice=choice)


def best_temperature(likelihood: NDArray[np.int64]) -> float:
    """Return the temperature with the highest log-likelihood, between those that were tried.

    The maximum of the parabola through the best of them and its neighbours; their logarithms are equally far
    apart.

    >>> best_temperature(np.array([0, 3, 4, 3, 0, -5, -12])), best_temperature(np.arange(0, -7, -1))
    (2.0, 1.0)
    """
    gain, best = likelihood / UNIT, int(likelihood.argmax())
    step = 0.0
    if 0 < best < len(gain) - 1:
        before, peak, after = gain[best - 1 : best + 2]
        step = (after - before) / max(2 * (2 * peak - before - after), 1e-9)
    return float(2.0 ** ((best + step) / 2))


def _full_expert(panel: Panel) -> bool:
    """Whether somebody knows every class, but not everybody does."""
    return bool(panel.knows.all(axis=1).any() and not panel.knows.all())


def fitted(weights: LearnedWeights, votes: Votes, first: Statistics) -> LearnedWeights:
    """Return the weights learned from some votes, of which `first` are the counts by the vote."""
    found = replace(weights, statistics=first)
    for _ in range(ROUNDS - 1):
        now = found
        again = counted(votes, None, lambda rows: linear.posterior(now.scores(rows)))  # noqa: B023
        found = replace(weights, statistics=again)
    return found


def predicted(
    models: list[LearnedWeights],
    halves: list[Votes],
    trials: Sequence[Choice],
    temperatures: Sequence[float] = (1.0,),
) -> NDArray[np.int64]:
    """Return the log-likelihood of the answers of both halves, in whole units (trials x temperatures).

    The model of each half predicts the answers of the other.
    """
    pairs = zip(models, halves[::-1], strict=True)
    found = [log_likelihoods(model, votes, trials, temperatures) for model, votes in pairs]
    return found[0] + found[1]


def log_likelihoods(
    weights: LearnedWeights, votes: Votes, trials: Sequence[Choice], temperatures: Sequence[float]
) -> NDArray[np.int64]:
    """Return the log-likelihood of all answers, each given the others of its item (trials x temperatures)."""
    found, panel = np.zeros((len(trials), len(temperatures)), np.int64), weights.statistics.panel
    variants = [replace(weights, choice=trial) for trial in trials]
    for rows, _ in each_row(votes).pieces():
        cells, which = np.unique(rows.cell, return_inverse=True)
        table = weights.model.table
        table = table(cells) if callable(table) else table[cells]
        probability = (np.exp(table / UNIT) * weights.model.usual(cells)[:, None])[which]
        knows = panel.knows[panel.layout.cells.expert[cells]]
        owner, heard = linear.row_of_answer(rows), linear.authorities(rows) > 0
        inside = linear.sums(rows.ragged.indptr, which, np.where(knows, table, 0))
        outside = linear.sums(rows.ragged.indptr, which, np.where(knows, 0, table))
        within, without, scale = weights.tempering(rows)
        score = (inside / within + outside / without) * scale
        own = table[which] * np.where(knows[which], (scale / within)[owner], (scale / without)[owner])
        for row, variant in zip(found, variants, strict=True):
            rest = (score + variant.evidence(rows))[owner] - own
            rest[~heard[owner]] = NO_EVIDENCE
            rest -= rest.max(axis=1)[:, None]
            for place, temperature in enumerate(temperatures):
                q = np.exp(rest * (1 / (UNIT * temperature)))
                likely = np.log(np.einsum("nk,nk->n", q, probability) / q.sum(axis=1))
                row[place] += int((np.rint(likely * UNIT).astype(np.int64) * rows.count[owner]).sum())
    return found


def authorities(votes: Votes) -> tuple[int, int]:
    """Return the sum of all d_k above 0, and how many there are."""
    total, number = 0, 0
    for rows, _ in each_row(votes).pieces():
        known = linear.authorities(rows)
        total += int((known.sum(axis=1) * rows.count).sum())
        number += int(((known > 0).sum(axis=1) * rows.count).sum())
    return total, number
