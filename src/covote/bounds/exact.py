"""The exact error probability of a given panel, by the independence polynomial of its covered pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from covote.arguments import check_prior
from covote.bounds.statistical import authority_chance
from covote.errors import TooLargeError
from covote.panel import Panel

MOST_CLASSES = 30


def exact_error(panel: Panel, prior: ArrayLike | None = None) -> float:
    """Error probability of the best decoder for this panel: right inside expertise, uniform answers outside.

    theory: section 5. An answer vector y has probability U(y) / w_k under class k if all authorities of k
    name k (k is alive), else 0; U is uniform and w_k = prod 1/R_i over the authorities. So the best decoder
    is right with probability E_U[max over alive k of a_k], a_k = pi_k / w_k. With the classes in falling
    order of a, that is the sum of (a_j - a_j+1) P_U(one of the first j is alive), and the error the sum of
    (a_j - a_j+1) (w_1 + ... + w_j - P_U(one of the first j is alive)), which has no cancellation.

    At most 30 classes: beyond, :func:`panel_error_bound` bounds the error and a simulation estimates it.

    >>> exact_error(Panel.from_blocks(3, [[0, 1], [1, 2], [0, 2]]))
    0.0
    >>> exact_error(Panel.from_blocks(4, [[0, 1], [2, 3], [0, 2], [1, 3]]))
    0.125
    """
    K = len(panel.classes)
    if K > MOST_CLASSES:
        raise TooLargeError(
            f"the exact error of {K} classes would take too long; it is computed for at most {MOST_CLASSES} "
            "(panel_error_bound works for any number)"
        )
    pi = check_prior(prior, K)
    w = authority_chance(panel)
    a = pi / w
    order = np.argsort(-a, kind="stable")
    graph = _Graph((panel.pair_counts() > 0)[np.ix_(order, order)], w[order])
    steps = a[order] - np.append(a[order][1:], 0.0)
    error = sum(step * graph.alive((2 << j) - 1)[1] for j, step in enumerate(steps.tolist()) if step > 0)
    return min(float(error), 1.0)


class _Graph:
    """Classes, each alive with probability w; those that share an expert exclude each other.

    Classes without a common expert are alive independently, so P(nobody alive) is the independence polynomial
    at -w.
    """

    def __init__(self, shares: np.ndarray, w: np.ndarray) -> None:
        self.w = w.tolist()
        self.near = [sum(1 << int(j) for j in np.flatnonzero(row)) | 1 << k for k, row in enumerate(shares)]
        self.known: dict[int, tuple[float, float]] = {0: (0.0, 0.0)}

    def alive(self, members: int) -> tuple[float, float]:
        """Return P(some member is alive), and by how much the sum of the members' w exceeds it."""
        if members not in self.known:
            part = self.component(members)
            rest = members & ~part
            if rest:
                some1, over1 = self.alive(part)
                some2, over2 = self.alive(rest)
                both = some1 * some2
                self.known[members] = (some1 + some2 - both, over1 + over2 + both)
            else:
                self.known[members] = self.without_one(members)
        return self.known[members]

    def without_one(self, members: int) -> tuple[float, float]:
        """Remove the member with most neighbours: it is alive alone, or somebody far from it is alive too."""
        k = max(_bits(members), key=lambda i: (self.near[i] & members).bit_count())
        some1, over1 = self.alive(members & ~(1 << k))
        some2, _ = self.alive(members & ~self.near[k])
        return some1 + self.w[k] * (1 - some2), over1 + self.w[k] * some2

    def component(self, members: int) -> int:
        """Return the members connected to the first one."""
        found, front = 0, members & -members
        while front:
            found |= front
            reached = 0
            for k in _bits(front):
                reached |= self.near[k]
            front = reached & members & ~found
        return found


def _bits(members: int) -> list[int]:
    found = []
    while members:
        low = members & -members
        found.append(low.bit_length() - 1)
        members ^= low
    return found
