"""A check of covers that shares no code with the package."""

import numpy as np


def covers(blocks, classes):
    """Whether every pair of classes is in a block; -1 is no class."""
    met = np.zeros((classes, classes), dtype=bool)
    for block in blocks:
        known = block[block >= 0]
        assert len(set(known.tolist())) == len(known)
        met[np.ix_(known, known)] = True
    return bool(met.all()) or classes <= 1
