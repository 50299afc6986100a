"""Learn from labels how to interpret each expert's probabilities.

Experts differ in calibration: naive Bayes is certain of everything. So each expert has its own curve. Its
probabilities are raised to the power that makes the labels most likely, a temperature per expert: C. Guo, G.
Pleiss, Y. Sun and K. Q. Weinberger (2017), "On calibration of modern neural networks". Most experts are also
more certain of items whose class they know. An answer's margin is the logarithm of the ratio of its two
highest probabilities. The log-ratio of how often the expert has such a margin inside and outside its
expertise counts for every class that it knows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.decoding.fusion import Given, given
from covote.decoding.linear import ONE, UNIT
from covote.decoding.statistics import ProbabilityCounts
from covote.decoding.tuning import CURVE_PRIOR, LEAST, MARGINS, POWERS, SMOOTHING, TINY
from covote.votes import Votes

Array = NDArray[Any]

ALIKE = 0.2
"""Standard deviation of the logarithms of powers below which experts count as calibrated alike."""


class Curves(NamedTuple):
    """How to interpret each expert's probabilities.

    Attributes
    ----------
    powers
        The power to which each expert's probabilities are raised.
    inside
        Logarithm of how much more often each expert has a margin if it knows the class (experts x margins).
    seen
        Which experts gave probabilities.
    """

    powers: NDArray[np.float64]
    inside: NDArray[np.float64]
    seen: NDArray[np.bool_]

    @property
    def alike(self) -> bool:
        """Whether all experts are calibrated alike."""
        return bool(self.seen.any() and np.log(self.powers[self.seen]).std() < ALIKE)


def learn(counts: ProbabilityCounts) -> Curves:
    """Return the curves of all experts; the margin of an expert who was not counted says nothing."""
    seen = np.asarray(counts.powers.any(axis=1))
    powers = np.where(seen, POWERS[counts.powers.argmax(axis=1)], 1.0)
    margins = counts.margins / ONE
    usual = margins.sum(axis=1) + 1e-9
    usual /= usual.sum(axis=1, keepdims=True)
    share = (margins + CURVE_PRIOR * usual[:, None]) / (margins.sum(axis=2, keepdims=True) + CURVE_PRIOR)
    return Curves(powers, np.log(share[:, 0] / share[:, 1]), seen)


def count(piece: Votes, shares: Array) -> ProbabilityCounts:
    """Count what a piece of the votes reveals about the experts' probabilities.

    `shares` are the probabilities of the classes (items x classes). Logarithms are in whole units of 1 /
    UNIT, so the counts of parts add up exactly.
    """
    experts = len(piece.panel)
    powers = np.zeros((experts, len(POWERS)), np.int64)
    margins = np.zeros((experts, 2, len(MARGINS) + 1), np.int64)
    gave = given(piece)
    if not len(gave.start):
        return ProbabilityCounts(powers, margins)
    share = shares[gave.row[gave.answer], gave.member]
    inside = np.add.reduceat(share, gave.start)
    level = _level(gave)
    some = np.flatnonzero(level >= 0)
    amount = np.rint(np.minimum(inside[some], 1) * ONE).astype(np.int64)
    place = gave.expert[some] * 2 * (len(MARGINS) + 1) + level[some]
    np.add.at(margins.reshape(-1), place, amount)
    np.add.at(margins.reshape(-1), place + len(MARGINS) + 1, ONE - amount)
    # Only answers about items whose class the expert may know show how to interpret its probabilities.
    kept = inside > 0
    those = kept[gave.answer]
    width = np.bincount(gave.answer, minlength=len(kept))[kept]
    few = gave._replace(
        start=np.cumsum(width) - width, row=gave.row[kept], expert=gave.expert[kept], label=gave.label[kept],
        answer=np.repeat(np.arange(len(width)), width), member=gave.member[those], chance=gave.chance[those],
    )  # fmt: skip
    if len(width):
        smooth, before = _smoothed(few)
        for g, power in enumerate(POWERS):
            gain = np.add.reduceat(share[those] * _tempered(few, smooth, before, power), few.start)
            np.add.at(powers[:, g], few.expert, np.rint(gain * UNIT).astype(np.int64))
    return ProbabilityCounts(powers, margins)


def scores(piece: Votes, curves: Curves, gave: Given, share: Array) -> NDArray[np.int64]:
    """Return the weight of the probabilities for the classes that their experts know (items x classes).

    Those of each answer count for its `share`.
    """
    shape = len(piece), len(piece.panel.classes)
    if not len(gave.start):
        return np.zeros(shape, np.int64)
    width = np.bincount(gave.answer)
    level = _level(gave)
    sure = np.where(level >= 0, curves.inside[gave.expert, level], 0.0)
    tempered = _tempered(gave, *_smoothed(gave), curves.powers[gave.expert][gave.answer])
    weight = np.rint((tempered + (np.log(width) + sure)[gave.answer]) * share[gave.answer] * UNIT)
    # Sums of whole numbers far below 2^53 are exact.
    found = np.bincount(gave.row[gave.answer] * shape[1] + gave.member, weight, shape[0] * shape[1])
    return found.astype(np.int64).reshape(shape)


def _smoothed(gave: Given) -> tuple[Array, Array]:
    """Return the logarithms of smoothed probabilities, which are never 0, and the sum for each answer."""
    width = np.bincount(gave.answer)
    smooth = (gave.chance + (SMOOTHING / width)[gave.answer]) / (1 + SMOOTHING)
    return np.log(smooth), np.add.reduceat(smooth, gave.start)


def _tempered(gave: Given, smooth: Array, before: Array, power: Any) -> Array:
    """Return the logarithms of probabilities raised to a power and rescaled to the same sum."""
    raised = power * smooth
    after = np.add.reduceat(np.exp(raised), gave.start)
    found: Array = np.maximum(raised + np.log(before / after)[gave.answer], np.log(LEAST))
    return found


def _level(gave: Given) -> NDArray[np.int64]:
    """Return the interval of MARGINS that holds the margin of every answer; -1 if the answer has none."""
    first = np.maximum.reduceat(gave.chance, gave.start)
    top = np.flatnonzero(gave.chance == first[gave.answer])
    others = gave.chance.copy()
    others[top[np.unique(gave.answer[top], return_index=True)[1]]] = 0.0
    second = np.maximum.reduceat(others, gave.start)
    margin = np.log(np.maximum(first, TINY) / np.maximum(second, TINY))
    usable = (gave.label >= 0) & (np.bincount(gave.answer) > 1)
    return np.where(usable, np.searchsorted(MARGINS, margin), -1)
