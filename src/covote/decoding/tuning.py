"""What the default chooses from: kinds of habits, and how to interpret experts' probabilities."""

from __future__ import annotations

from typing import Literal

import numpy as np

Habits = Literal["none", "common", "own"]
HABITS: tuple[Habits, ...] = ("none", "common", "own")
"""Whose habits wrong answers follow (:mod:`covote.decoding.answer_model`)."""

TEMPERATURES = tuple(2.0 ** (n / 2) for n in range(7))
"""Divisors of scores at which held-out answers are predicted: 1 if mistakes are independent."""

READINESS = (0.0, 0.5, 1.0, 2.0, 3.0, 5.0)
"""Logarithms of odds that are tried for how readily experts answer what they know."""

POWERS = np.array([.02, .05, .1, .15, .2, .25, .3, .4, .5, .6, .7, .8, .9, 1, 1.2, 1.5, 2])  # fmt: skip
"""The powers to which an expert's probabilities may be raised."""

MARGINS = np.array([.1, .25, .5, .75, 1, 1.5, 2, 3, 4, 6, 8, 12, 20])  # fmt: skip
"""Bounds of the intervals of margins; an expert counts as equally certain within each."""

CURVE_PRIOR = 10.0
"""How many answers, distributed alike inside and outside expertise, are added to those that were seen
when an expert's curve is fitted."""

SMOOTHING = 1e-3
"""Weight of the uniform distribution that is mixed into an expert's probabilities, so that none is 0."""

LEAST = 1e-6
"""The least probability that a class gets after tempering."""

TINY = 1e-12
"""The least probability that matters for a margin."""
