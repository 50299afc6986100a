"""A check of covers that shares no code with the package."""

from collections import Counter
from itertools import combinations


def covers(blocks, classes, times=1):
    """Whether every pair of classes is in a block, or in so many; -1 is no class."""
    met = Counter()
    for block in blocks:
        known = [x for x in map(int, block) if x != -1]
        assert len(set(known)) == len(known)
        assert set(known) <= set(range(classes))
        met.update(combinations(sorted(known), 2))
    return all(met[pair] >= times for pair in combinations(range(classes), 2))
