"""Constants for interpreting experts' probabilities (:mod:`covote.decoding.curves`)."""

from __future__ import annotations

import numpy as np

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
