"""The compiled inner loop of :mod:`covote.covers.constructions.resolvable`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.compiled import kernel
from covote.covers.random_kernels import State, below, draw

Ints = NDArray[np.int32]


@kernel(steps=lambda *_: 1 << 40)
def anneal_partition(
    order: Ints,
    first: Ints,
    group: Ints,
    met: NDArray[np.bool_],
    accept: NDArray[np.uint64],
    moves: int,
    state: State,
) -> int:
    """Exchange classes between groups so that few pairs meet again; return the change in repeated pairs.

    Group g is ``order[first[g] : first[g + 1]]``, and `group` gives the group of each place. ``met[x, y]``
    says whether the pair has met before. More repeated pairs, by d, are accepted with the odds ``accept[d]``
    of 2**32.
    """
    total = 0
    for _ in range(moves):
        p = below(state, len(order))
        q = below(state, len(order))
        if group[p] == group[q]:
            continue
        x, y = order[p], order[q]
        change = 0
        for s in range(first[group[p]], first[group[p] + 1]):
            w = order[s]
            change += int(met[y, w]) - int(met[x, w])
        for s in range(first[group[q]], first[group[q] + 1]):
            w = order[s]
            change += int(met[x, w]) - int(met[y, w])
        # Each of the two was counted beside the other, whose place it takes.
        change -= 2 * int(met[x, y])
        if change <= 0 or draw(state) < accept[change]:
            order[p], order[q] = y, x
            total += change
    return total
