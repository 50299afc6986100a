"""One probability for every class, from experts that each speak of some classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.learn.fusing import authorities, counted
from covote.panel import Panel

Array = NDArray[Any]

ROUNDS, CLOSE = 200, 1e-7


def fused_probabilities(given: Array, columns: Array, panel: Panel) -> NDArray[np.float64]:
    """Return (items x classes) probabilities that fit what the experts say.

    An expert's probability p_i(k) holds if the class is one that it knows: p_i(k) = q_k / q(Y_i). So every
    authority of k says that q_k = q(Y_i) p_i(k), and q_k is their mean. An expert counts the less the less
    probable its classes are: what it says about items it does not know hardly matters. With one expert for
    every pair of classes this is pairwise coupling as in Wu, Lin and Weng (2004), method 1.

    Parameters
    ----------
    given
        (sum of sizes x items) p_i(k), for each expert and each class that it knows, in this order.
    columns
        (experts x items) votes; the solution is sought from their shares.
    """
    from covote.learn import probability_kernels

    expert, known = np.nonzero(panel.knows)
    start = np.searchsorted(expert, np.arange(len(panel) + 1)).astype(np.int64)
    classes = len(panel.classes)
    q = counted(columns, panel).T / authorities(panel) + panel.knows.any(axis=0) / classes
    q = np.ascontiguousarray(q / q.sum(axis=1, keepdims=True))
    probabilities = np.array(given.T, dtype=np.float32, order="C")  # a copy: what votes hold is read-only
    probability_kernels.fit_probabilities(probabilities, start, known.astype(np.int64), q, ROUNDS, CLOSE)
    return q
