r"""Experts of unequal skill, estimated by expectation maximisation: `em` and `dawid-skene`.

In both models an item has class k with probability P(k), and expert i answers v to it with probability
P_i(v | k). The E-step divides every item among the classes; the M-step estimates the probabilities again:

    q_n(k) = P(k) prod_i P_i(v_in | k) / sum over classes                   E-step
    n_i(v, k) = sum_n q_n(k) [v_in = v]                                     counts
    dawid-skene:  P_i(v | k) = (n_i(v, k) + smoothing) / sum over v         a table per expert
                  P(k) = sum_n q_n(k) / items
    em:           P_i(k | k) = p_i if i knows k, and (1 - p_i) / (R_i - 1) for each other class it knows;
                  1 / R_i for every answer if i does not know k             one accuracy per expert
                  p_i = (right answers inside expertise + s p) / (all answers inside expertise + s)
                  "none of mine" is an answer with two rates, inside and outside expertise

An expert can only name classes that it knows. The first E-step is the authority vote, q_n(k) ~ N_k / d_k.

A. P. Dawid and A. M. Skene (1979), "Maximum likelihood estimation of observer error-rates using the EM
algorithm", Journal of the Royal Statistical Society C 28, doi:10.2307/2346806. The models suit
people; on classifiers, which make the same mistakes, both lose to the authority vote (theory.md section 9).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import class_weights
from covote.decoding import linear, scoring
from covote.decoding.gold import Gold, counted
from covote.decoding.linear import ONE, UNIT, Weights
from covote.decoding.loop import Decoder
from covote.decoding.shares import shares_of
from covote.decoding.statistics import ExpertTotals, Statistics, fits_dense
from covote.errors import InputError, TooLargeError
from covote.labels import Labels
from covote.panel import Name, Panel
from covote.votes import Votes
from covote.votes.patterns import AnswerPatterns

Array = NDArray[Any]

OUTSIDE = 0.2
"""Warn when more than this share of the answers is about classes that the expert does not know."""


@dataclass(frozen=True, eq=False)
class EmWeights:
    """The weight of every answer for every class, the log size of every class, and what was estimated."""

    statistics: Statistics
    weights: Weights
    base: NDArray[np.int64] | None
    parameters: NDArray[np.float64]
    converged: bool = False

    def scores(self, rows: AnswerPatterns) -> NDArray[np.int64]:
        """Return log P(k) + sum of log P_i(v_i | k), in whole units."""
        return linear.scores(rows, self.weights, self.base)


class _ExpectationMaximisation(Decoder):
    """The loop that both models share."""

    name: ClassVar[str]
    gold: Gold | None
    past: Statistics | None
    iterations: int
    tolerance: float

    @property
    def passes(self) -> tuple[_ExpectationMaximisation, ...]:
        """At most `iterations` rounds of the E-step and the M-step."""
        return (self,) * self.iterations

    def needed(self, weights: EmWeights | None) -> bool:
        """Whether the model has not converged yet."""
        return weights is None or not weights.converged

    def model(self, counts: Statistics) -> EmWeights:
        """Estimate the experts' parameters from the counts: the M-step."""
        raise NotImplementedError

    def count(self, votes: Votes, weights: EmWeights | None) -> Statistics:
        """Count every answer by the probability of each class: the E-step."""

        def chances(rows: AnswerPatterns) -> NDArray[np.float64]:
            return vote_shares(rows) if weights is None else linear.posterior(weights.scores(rows))

        return counted(votes, self.name, self.gold, chances)

    def learn(self, panel: Panel, counts: Statistics, weights: EmWeights | None) -> EmWeights:
        """Return a better model."""
        found = self.model(counts if self.past is None else self.past + counts)
        if weights is not None and np.abs(found.parameters - weights.parameters).max() <= self.tolerance:
            return replace(weights, converged=True)
        return found

    def score(self, votes: Votes, weights: EmWeights, evidence: bool = True) -> Labels:
        """Return the labels; the confidence is the probability of the class under the model."""
        return scoring.label_by(votes, weights.scores, evidence)

    def proba(self, votes: Votes, weights: EmWeights) -> NDArray[np.float64]:
        """Return the probability of every class under the model."""
        return scoring.table_of(votes, lambda rows: linear.posterior(weights.scores(rows)))


@dataclass(frozen=True)
class Em(_ExpectationMaximisation):
    """Estimate one accuracy per expert by expectation maximisation.

    An expert who knows the class names it with probability p_i, else any other class that it knows. Outside
    its expertise, all its answers are equally likely.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known).
    past
        Statistics of earlier votes of the same panel, to which these votes are added.
    prior
        The frequencies of the classes: equal by default; one weight per class, or a mapping by name; or
        ``"learned"``. Learn them only where experts mostly answer what they know: where everyone guesses
        similar classes, the classes that are guessed most swallow the others.
    shrinkage
        How many answers the common accuracy counts for in the accuracy of each expert.
    iterations
        The most passes over the votes.
    tolerance
        Stop when no accuracy changes by more than this.
    """

    gold: Gold | None = None
    past: Statistics | None = None
    prior: ArrayLike | Mapping[Name, float] | Literal["learned"] | None = None
    shrinkage: float = 10.0
    iterations: int = 50
    tolerance: float = 1e-5
    name: ClassVar[str] = "em"

    def __post_init__(self) -> None:
        if self.shrinkage < 0 or self.iterations < 1:
            raise InputError(
                f"shrinkage={self.shrinkage}, iterations={self.iterations}: give a shrinkage >= 0, "
                "iterations >= 1"
            )

    def start(self, panel: Panel) -> None:
        """Start without weights: the first pass divides every item by its votes."""
        if self.prior is not None and not isinstance(self.prior, str):
            class_weights(self.prior, panel)
        elif self.prior not in (None, "learned"):
            raise InputError(f"prior={self.prior!r} must be 'learned', or one weight per class")

    def model(self, counts: Statistics) -> EmWeights:
        """Return the accuracies, and the weights of right and wrong answers that follow from them."""
        panel, size = counts.panel, counts.panel.sizes
        seen = counts.expert_totals()
        right, total = seen.right, seen.inside - seen.none_inside
        common = (right.sum() + 9) / (total.sum() + 10)
        accuracy = (right + self.shrinkage * common) / np.maximum(total + self.shrinkage, 1e-9)
        accuracy = np.clip(accuracy, np.minimum(0.02, 0.5 / size), 0.995)
        inside, outside = _none_rates(seen)
        named = np.log((1 - inside) / (1 - outside))
        says = size > 1  # the class that an expert names says nothing if it knows no other
        log_right = named + np.log(np.where(says, size * accuracy, 1.0))
        log_wrong = named + np.log(np.where(says, size * (1 - accuracy) / np.maximum(size - 1, 1), 1.0))
        log_none = np.full(len(panel), np.log(inside / outside))
        coins = (np.rint(weight * UNIT).astype(np.int64) for weight in (log_right, log_wrong, log_none))
        weights = linear.precomputed(panel, one_coin_weights(panel, *coins))
        return EmWeights(counts, weights, self._log_sizes(counts), accuracy)

    def _log_sizes(self, counts: Statistics) -> NDArray[np.int64] | None:
        """Return log P(k) in whole units; None if the classes are equally frequent."""
        if self.prior is None:
            return None
        if isinstance(self.prior, str):
            weight = counts.share / ONE + self.shrinkage
            weight = weight / weight.sum()
        else:
            weight = class_weights(self.prior, counts.panel)
        sizes: NDArray[np.int64] = np.rint(np.log(np.maximum(weight, 1e-10)) * UNIT).astype(np.int64)
        return sizes


@dataclass(frozen=True)
class DawidSkene(_ExpectationMaximisation):
    """Estimate a confusion table per expert by expectation maximisation.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known).
    past
        Statistics of earlier votes of the same panel, to which these votes are added.
    smoothing
        Added to every count; with 0, an answer that was never given to a class almost rules it out.
    iterations
        The most passes over the votes.
    tolerance
        Stop when the logarithm of no answer's probability changes by more than this.
    """

    gold: Gold | None = None
    past: Statistics | None = None
    smoothing: float = 0.01
    iterations: int = 50
    tolerance: float = 1e-3
    name: ClassVar[str] = "dawid-skene"

    def __post_init__(self) -> None:
        if self.smoothing < 0 or self.iterations < 1:
            raise InputError(f"smoothing={self.smoothing} must be >= 0 and iterations={self.iterations} >= 1")

    def start(self, panel: Panel) -> None:
        """Start without weights: the first pass divides every item by its votes."""
        if not fits_dense(panel):
            raise TooLargeError(
                f"dawid-skene needs a table of {len(panel.layout.cells.label)} answers by "
                f"{len(panel.classes)} classes; use method 'em', which keeps one accuracy per expert, or "
                "'authority'"
            )

    def learn(self, panel: Panel, counts: Statistics, weights: EmWeights | None) -> EmWeights:
        """Return better tables."""
        if weights is None:
            _warn_about_classifiers(counts if self.past is None else self.past + counts)
        return super().learn(panel, counts, weights)

    def model(self, counts: Statistics) -> EmWeights:
        """Return the confusion tables and the frequencies of the classes, as logarithms."""
        cells, classes = counts.panel.layout.cells, len(counts.panel.classes)
        can = (cells.label < classes) | (counts.expert_totals().none > 0)[cells.expert]
        amount = np.where(can[:, None], np.maximum(counts.counts / ONE + self.smoothing, 1e-10), 0.0)
        total = np.add.reduceat(amount, cells.start[:-1], axis=0)[cells.expert]
        table = np.rint(np.log(np.where(can[:, None], amount / total, 1.0)) * UNIT).astype(np.int64)
        share = np.maximum(counts.share / ONE, 1e-10)
        base = np.rint(np.log(share / share.sum()) * UNIT).astype(np.int64)
        return EmWeights(counts, table, base, table / UNIT)


def vote_shares(rows: AnswerPatterns) -> NDArray[np.float64]:
    """Return N_k / d_k, normalised to a sum of 1 (rows x classes).

    Where all answers are "none of mine", all classes that were heard get the same share.
    """
    vote = shares_of(rows)
    share = np.maximum(vote.share, 0)
    share = np.where((share.max(axis=1) == 0)[:, None], vote.best, share)
    total = share.sum(axis=1)
    found: NDArray[np.float64] = np.divide(share, total[:, None], out=share, where=total[:, None] > 0)
    return found


def one_coin_weights(
    panel: Panel, right: Array, wrong: Array, none: Array
) -> Callable[[Array], NDArray[np.int64]]:
    """Return the weights of answers (cells x classes): `right` for the class they name, `wrong` for others.

    "None of mine" weighs `none` for each class. All three are whole numbers per expert. An answer weighs 0
    for classes that its expert does not know.
    """
    cells = panel.layout.cells

    def block(some: Array) -> NDArray[np.int64]:
        expert, label = cells.expert[some], cells.label[some]
        named = label < len(panel.classes)
        other = np.where(named, wrong[expert], none[expert])
        found = np.where(panel.knows[expert], other[:, None], 0)
        found[np.flatnonzero(named), label[named]] = right[expert[named]]
        return found

    return block


def _none_rates(seen: ExpertTotals) -> tuple[float, float]:
    """Return the rates of "none of mine" inside and outside expertise, with half an answer added to each.

    Where no one ever says so, both are 1/2, and cancel.
    """
    if not seen.none.any():
        return 0.5, 0.5
    answers = ((seen.none_inside, seen.inside), (seen.none_outside, seen.outside))
    inside, outside = ((float(none.sum()) + 0.5) / (float(total.sum()) + 1) for none, total in answers)
    return inside, outside


def _warn_about_classifiers(counts: Statistics) -> None:
    """Warn when the experts seem to answer items whose class they do not know."""
    seen = counts.expert_totals()
    answers = seen.inside.sum() + seen.outside.sum()
    if answers > 0 and seen.outside.sum() / answers > OUTSIDE:
        warnings.warn(
            f"{seen.outside.sum() / answers:.0%} of the answers seem to be about classes that their expert "
            "does not know; dawid-skene can be far off there, use the default for models that make mistakes "
            "together, and compare() where some classes are known",
            UserWarning,
            stacklevel=2,
        )
