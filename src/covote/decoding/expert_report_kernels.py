"""The loop that counts agreement of experts per pair of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel

Array = NDArray[Any]


@kernel
def count_pairs(
    indptr: Array, expert: Array, label: Array, times: Array, truth: Array, start: Array, known: Array,
    knows: Array, agree: Array, both: Array,
) -> None:  # fmt: skip
    """Compare every two answers to an item, for the pairs of its class with others that both experts know."""
    for n in range(len(times)):
        t = truth[n]
        if t < 0:
            continue
        for a in range(indptr[n], indptr[n + 1]):
            for b in range(a + 1, indptr[n + 1]):
                v, w = np.int64(label[a]), np.int64(label[b])
                i, j = expert[a], expert[b]
                if v < 0 or w < 0:
                    continue
                if v != w:
                    if t in (v, w) and knows[i, w] and knows[j, v]:
                        both[v, w] += times[n]
                        both[w, v] += times[n]
                    continue
                for x in range(start[i], start[i + 1]):
                    k = known[x]
                    if k != v and t in (v, k) and knows[j, k]:
                        agree[v, k] += times[n]
                        agree[k, v] += times[n]
                        both[v, k] += times[n]
                        both[k, v] += times[n]
