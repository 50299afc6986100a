"""A compiled loop over ragged votes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel

Array = NDArray[Any]


@kernel
def repeated(
    indptr: Array, expert: Array, label: Array, experts: int, keep_last: bool
) -> tuple[Array, int, int]:
    """Find where an expert answers an item again.

    Returns (keep, first, other): which votes stay, and the positions of the first two different answers of
    one expert to one item (-1, -1 if there are none). Votes of one item must be in the order of the table.
    """
    keep = np.ones(len(expert), np.bool_)
    seen = np.full(experts, -1, np.int64)
    first, other = -1, -1
    for n in range(len(indptr) - 1):
        for p in range(indptr[n], indptr[n + 1]):
            before = seen[expert[p]]
            if before >= indptr[n]:
                if label[before] != label[p] and first < 0:
                    first, other = before, p
                keep[before if keep_last else p] = False
                if not keep_last:
                    continue
            seen[expert[p]] = p
    return keep, first, other
