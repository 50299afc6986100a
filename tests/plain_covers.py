"""A check of covers that shares no code with the package."""

import numpy as np


def covers(blocks, classes, times=1):
    """Whether every pair of classes is in a block, or in so many; -1 is no class."""
    met = np.zeros((classes, classes), dtype=int)
    for block in blocks:
        known = block[block >= 0]
        assert len(set(known.tolist())) == len(known)
        met[np.ix_(known, known)] += 1
    return bool((met >= times).all()) or classes <= 1
