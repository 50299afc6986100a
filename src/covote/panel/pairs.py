"""How many experts know both classes of a pair."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray


def pair_count_rows(knows: NDArray[np.bool_]) -> Iterator[tuple[int, NDArray[np.intp]]]:
    """Yield (k, how many experts know k and j, for every j), one class at a time.

    A row at a time keeps 10,000 classes within O(K) memory, and touches only what the experts know.

    >>> [row.tolist() for _, row in pair_count_rows(np.array([[1, 1, 0], [0, 1, 1]], dtype=bool))]
    [[1, 1, 0], [1, 2, 1], [0, 1, 1]]
    """
    size, classes = knows.shape
    experts, members = np.nonzero(knows)
    start = np.searchsorted(experts, np.arange(size + 1))
    sizes = np.diff(start)
    by_class = np.argsort(members, kind="stable")
    first = np.searchsorted(members[by_class], np.arange(classes + 1))
    owners = experts[by_class]
    for k in range(classes):
        asked = owners[first[k] : first[k + 1]]
        lengths = sizes[asked]
        # Positions of all members of the asked experts, without a loop over experts.
        ends = np.cumsum(lengths)
        total = int(ends[-1]) if len(ends) else 0
        positions = np.arange(total) + np.repeat(start[asked] - (ends - lengths), lengths)
        yield k, np.bincount(members[positions], minlength=classes)


def fewest_together(knows: NDArray[np.bool_]) -> int:
    """Return the fewest experts that know a common pair; with a single class, all experts."""
    fewest = len(knows)
    for k, row in pair_count_rows(knows):
        others = np.delete(row, k)
        if len(others):
            fewest = min(fewest, int(others.min()))
        if fewest == 0:
            break
    return fewest
