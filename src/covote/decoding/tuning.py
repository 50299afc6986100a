"""Tuning constants of the default decoder, with the experiment that found them where there is one.

All are of ``method="learned"``: :mod:`covote.decoding.tie_score` and
:mod:`covote.decoding.confidence`. "Halves" means: chosen on one half of the data sets of
benchmarks/accuracy.py and confirmed on the other. Where none is named, none is on record.
"""

from __future__ import annotations

import numpy as np

# What decides ties

INSIDE = 0.7
"""Weight of I against O in the tie score (halves): counted in full, I made the worst panels worse."""

ENOUGH = 2
"""Items per class that are enough to learn the tie score.

Measured on real votes, it already beats preferring the class with more authorities with one item per class
(+2.4 points against +1.7), and with two (+3.0 against +1.8).
"""

FEW = 350
"""Items up to which a lead must be clear in full; with n items, (FEW / n)^2 of that is enough.

What is learned about two classes that always tie is learned from those ties: with few items chance decides,
with many it averages out. Mean gain with 30% of the experts removed, and worst of 54 random panels (digits
and soybean, 18 families and sizes of experts, points): 100: +6.7, -3.2; 350: +6.2, -1.7; 1000: +3.4, -1.7.
The rule was found on these data, so this says how much the value matters, not how good it is elsewhere.
"""

LARGE = 0.3
"""Share of all items above which a tie needs a clear lead, however many items there are.

One wrong decision about such a tie costs up to half of the share, and more items do not make it rarer. The
value hardly matters: on the panels above, 0.15, 0.3 and 0.6 gain +5.6, +6.2 and +6.2 points with 30% of the
experts removed, and the worst random panel is the same.
"""

PRIOR = 20.0
"""How many answers the prior knowledge about an expert counts for (theory.md section 9).

Other counts were tried on the same halves and did not help.
"""

# What the confidence rests on

RIVALS = 32
"""Classes that compete with a label, those with the best N_k / d_k; the others have next to no chance."""

POWERS = np.array([.02, .05, .1, .15, .2, .25, .3, .4, .5, .6, .7, .8, .9, 1, 1.2, 1.5, 2])  # fmt: skip
"""The powers that an expert's probabilities may be raised to."""

MARGINS = np.array([.1, .25, .5, .75, 1, 1.5, 2, 3, 4, 6, 8, 12, 20])  # fmt: skip
"""Margins between which an expert counts as equally sure."""

CURVE_PRIOR = 10.0
"""How many answers, inside and outside expertise alike, count beside those that were seen, for the curve by
which an expert's margins are read."""

SMOOTHING = 1e-3
"""What an expert's probabilities are mixed with, shared equally by its classes: none is ever quite 0."""

LEAST = 1e-6
"""The least probability that a class gets after tempering."""

TINY = 1e-12
"""What is less likely than this is all the same for a margin."""
