"""Supervised: a few labelled items make the confidence honest, more of them the labels better.

theory.md section 9: from 5 labelled items per class, a temperature for the confidence; from 20, a learned
combination of all answers. After the temperature, the confidence is shifted and stretched to fit the labelled
items, which the theory does not have; it lowers the calibration error (benchmarks/accuracy.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError, TooLargeError
from covote.labels import Evidence, Labels
from covote.panel import Panel
from covote.vote_checks import check_choice
from covote.votes import Votes

from . import scoring, tie_score
from .anchored import remembered
from .authority import Authority, Learned
from .gold import Gold, gold_rows
from .patterns import cells, pattern_parts
from .soft import log_coupled
from .statistics import Statistics

Array = NDArray[Any]

FEWEST = 20
"""Labelled items that a temperature needs at least, over all classes; 5 per class make it good."""

COMBINATION, EACH = 20, 5
"""Labelled items per class that a learned combination needs: on average, and of every class."""

USUAL_SHIFT, SHIFT_SPREAD, SLOPE_SPREAD = 0.3, 0.5, 0.25
"""What shift to expect for plain votes, and how far shift and logarithm of the slope usually stray.

So they are where many items are labelled (digits, MNIST, soybean): labels of the authority vote are right
more often than the share of I + O / 2 says. With probabilities no shift is expected.
"""

LARGEST = 1 << 25
"""The most numbers (labelled items x classes) to learn from at once."""


@dataclass(frozen=True)
class Examples:
    """What the votes say about labelled items; the examples of two parts add up to those of both."""

    score: Array  # items x classes
    inside: Array  # items x classes
    votes: Array  # items x answers
    label: Array
    confidence: Array
    truth: Array

    def __add__(self, other: Examples) -> Examples:
        return Examples(
            *(np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self))
        )


@dataclass(frozen=True, eq=False)
class Judgement:
    """Authority weights, and then how far to trust them: a temperature, perhaps a learned combination."""

    authority: Learned
    temperature: float = 1.0
    trust: tuple[float, float] = (0.0, 1.0)
    combination: Any = None

    @property
    def statistics(self) -> Statistics | None:
        """The counts behind the weights."""
        return self.authority.statistics


@dataclass(frozen=True)
class Supervised:
    """The authority vote with a confidence, or a combination of the votes, learned from labelled items.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known). They must
        be among the votes; 5 per class are good, 20 in all are needed.
    learn_by
        ``"temperature"`` keeps the authority labels and makes their confidence honest; ``"combination"``
        learns the labels too (a logistic regression on the answers). ``"auto"`` combines plain votes if there
        are 20 labelled items per class on average and at least 5 of every class.
    past
        What was learned from earlier votes of the same panel, to go on from.
    """

    gold: Gold | None = None
    learn_by: Literal["auto", "temperature", "combination"] = "auto"
    past: Statistics | None = None

    def __post_init__(self) -> None:
        check_choice("learn_by", self.learn_by, ("auto", "temperature", "combination"))
        if self.gold is None or len(self.gold) == 0:
            raise InputError("supervised needs labelled items; pass gold={item: class}")

    @property
    def rounds(self) -> int:
        """One pass to learn how the experts answer, one to gather the labelled items."""
        return 2

    @property
    def _authority(self) -> Authority:
        return Authority(gold=self.gold, past=self.past)

    def start(self, panel: Panel) -> None:
        """Begin without weights."""

    def statistics(self, part: Votes, weights: Judgement | None) -> Statistics | Examples:
        """Count answers by authority label; then gather what the votes say about labelled items."""
        if weights is None:
            return tie_score.statistics(part, self.gold)
        rows, truth = gold_rows(self.gold, part)
        if len(rows) * len(part.panel.classes) > LARGEST:
            raise TooLargeError(
                f"{len(rows)} labelled items of {len(part.panel.classes)} classes are too many to learn from "
                "at once; give fewer"
            )
        labelled = part.subset(rows)
        score, inside = what_votes_say(labelled, weights.authority)
        labels = self._authority.score(labelled, weights.authority)
        return Examples(score, inside, answers(labelled), labels.index, labels.confidence, truth)

    def learn(
        self, panel: Panel, counts: Statistics | Examples, weights: Judgement | None
    ) -> Judgement | None:
        """Return the authority weights; then how far to trust them."""
        if isinstance(counts, Statistics):
            if self.past is not None:
                counts = self.past + counts
            first = self._authority.start(panel)
            return Judgement(Learned(first.votes, tie_score.learn(counts), counts))
        assert weights is not None
        each = np.bincount(counts.truth, minlength=len(panel.classes))[panel.knows.any(axis=0)]
        if len(counts.truth) < FEWEST:
            raise InputError(
                f"{len(counts.truth)} labelled items among these votes; supervised needs {FEWEST} or more, "
                "better 5 of every class"
            )
        combine = self.learn_by == "combination" or (
            self.learn_by == "auto"
            and each.mean() >= COMBINATION
            and each.min() >= EACH
            and not np.isnan(counts.inside).any()
        )
        if combine:
            return replace(weights, combination=_combined(counts))
        temperature = fitted_temperature(counts.score, counts.truth)
        mean = counts.confidence if np.isnan(counts.inside).any() else None
        before = own_share(counts.score / temperature, counts.label, mean)
        trust = fitted_trust(before, counts.label == counts.truth, USUAL_SHIFT if mean is None else 0.0)
        return replace(weights, temperature=temperature, trust=trust)

    def score(self, part: Votes, weights: Judgement) -> Labels:
        """Return the labels of a part."""
        labels = self._authority.score(part, weights.authority)
        index, confidence = labels.index.copy(), np.zeros(len(part), dtype=np.float32)
        for piece, span in _pieces(part):
            index[span], confidence[span] = self._judged(
                piece, index[span], labels.confidence[span] if part.soft else None, weights
            )

        def behind() -> Evidence:
            return replace(labels.evidence, confidence=confidence)

        return replace(labels, index=index, _evidence=behind)

    def _judged(
        self, piece: Votes, index: Array, mean: Array | None, weights: Judgement
    ) -> tuple[Array, Array]:
        """Return (label, confidence) of some items."""
        score, inside = what_votes_say(piece, weights.authority)
        heard = np.isfinite(score).any(axis=1)
        if weights.combination is not None:
            features = _features(answers(piece), inside)
            probability = weights.combination.predict_proba(features)
            best = probability.argmax(axis=1)
            label = np.where(heard, weights.combination.classes_[best], -1)
            return label, np.where(heard, probability.max(axis=1), 0)
        own = own_share(score / weights.temperature, index, mean)
        return index, np.where(index >= 0, trusted(own, weights.trust), 0)


def what_votes_say(part: Votes, weights: Learned) -> tuple[Array, Array]:
    """Return (score, I) of all classes (items x classes).

    The score is I + O / 2, or log q where the votes have probabilities; I is then left out (NaN).
    """
    if part.soft:
        score = log_coupled(part)
        return score, np.full_like(score, np.nan)
    assert weights.ties is not None
    column = remembered(weights.ties)
    inside = scoring.scores(part, lambda k: column(k, 1.0, 0.0))
    return scoring.scores(part, lambda k: column(k, 1.0, 0.5)), inside


def answers(part: Votes) -> NDArray[np.float32]:
    """Return which answers every item got (items x possible answers), 1 or 0."""
    found = np.zeros((len(part), len(cells(part.panel))), dtype=np.float32)
    for patterns, span in pattern_parts(part):
        table = np.zeros((len(patterns), found.shape[1]), dtype=np.float32)
        table[np.repeat(np.arange(len(patterns)), np.diff(patterns.indptr)), patterns.cell] = 1
        found[span] = patterns.spread(table)
    return found


def softmax(score: Array) -> Array:
    """Return probabilities; a class with score -inf gets 0, a row of them nothing at all."""
    top = score.max(axis=1, keepdims=True, initial=-np.inf)
    e = np.exp(score - np.where(np.isfinite(top), top, 0))
    found: Array = e / np.maximum(e.sum(axis=1, keepdims=True), 1e-300)
    return found


def fitted_temperature(score: Array, truth: Array) -> float:
    """Return the temperature that makes the labelled items most likely.

    Items whose class was not heard are left out: no temperature can make them likely.
    """
    own = score[np.arange(len(truth)), truth]
    score, own = score[np.isfinite(own)], own[np.isfinite(own)]
    if len(own) == 0:
        return 1.0
    gap = score - own[:, None]
    steps = np.geomspace(0.02, 50, 120)
    with np.errstate(over="ignore"):
        loss = [np.logaddexp.reduce(gap / t, axis=1).mean() for t in steps]
    return float(steps[int(np.argmin(loss))])


def own_share(score: Array, label: Array, mean: Array | None) -> Array:
    """Return the softmax share of each item's label; with probabilities, halfway to their mean."""
    share: Array = softmax(score)[np.arange(len(label)), np.maximum(label, 0)]
    return share if mean is None else (share + mean) / 2


def trusted(share: Array, trust: tuple[float, float]) -> Array:
    """Return the chance that a label is right: its share, shifted and stretched as log-odds."""
    clipped = np.clip(share, 1e-6, 1 - 1e-6)
    found: Array = 1 / (1 + np.exp(-(trust[0] + trust[1] * np.log(clipped / (1 - clipped)))))
    return found


def fitted_trust(share: Array, right: NDArray[np.bool_], usual: float) -> tuple[float, float]:
    """Return (shift, slope) that make what happened most likely; without labelled items (usual, 1).

    A normal prior on the shift and on the logarithm of the slope keeps few items from saying too much.
    """
    from scipy.optimize import minimize

    def loss(x: Array) -> float:
        chance = trusted(share, (x[0], np.exp(x[1])))
        strange = ((x[0] - usual) / SHIFT_SPREAD) ** 2 + (x[1] / SLOPE_SPREAD) ** 2
        return float(-np.log(np.where(right, chance, 1 - chance)).sum() + strange / 2)

    shift, slope = minimize(loss, np.array([usual, 0.0]), method="Nelder-Mead").x
    return float(shift), float(np.exp(slope))


def _features(votes: Array, inside: Array) -> Array:
    """Return [0.3 one-hot votes, 3 softmax(I / 2)] (theory.md section 9)."""
    if np.isnan(inside).all():
        return 0.3 * votes
    return np.concatenate([0.3 * votes, 3 * softmax(0.5 * inside)], axis=1)


def _combined(examples: Examples) -> Any:
    from sklearn.linear_model import LogisticRegression

    combination = LogisticRegression(C=1.0, max_iter=200, tol=1e-3)
    return combination.fit(_features(examples.votes, examples.inside), examples.truth)


def _pieces(part: Votes) -> Iterator[tuple[Votes, slice]]:
    """Yield (votes, which items they are), so few items at a time that all classes fit beside them."""
    size = max(1, (1 << 22) // (len(part.panel.classes) + len(cells(part.panel))))
    for first in range(0, len(part), size):
        last = min(first + size, len(part))
        yield part.part(first, last), slice(first, last)
