"""Constants of how experts' probabilities are read (:mod:`covote.decoding.curves`)."""

from __future__ import annotations

import numpy as np

POWERS = np.array([.02, .05, .1, .15, .2, .25, .3, .4, .5, .6, .7, .8, .9, 1, 1.2, 1.5, 2])  # fmt: skip
"""The powers that an expert's probabilities may be raised to."""

MARGINS = np.array([.1, .25, .5, .75, 1, 1.5, 2, 3, 4, 6, 8, 12, 20])  # fmt: skip
"""Margins between which an expert counts as equally sure."""

CURVE_PRIOR = 10.0
"""How many answers, inside and outside expertise alike, count in addition to those that were
seen, for the curve by which an expert's margins are read."""

SMOOTHING = 1e-3
"""What an expert's probabilities are mixed with, shared equally by its classes: none is ever quite 0."""

LEAST = 1e-6
"""The least probability that a class gets after tempering."""

TINY = 1e-12
"""What is less likely than this is all the same for a margin."""
