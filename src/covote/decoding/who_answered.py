"""Who answered an item is evidence, if people answer mostly what they know.

If an expert who knows the class answers e^g times as readily (in odds) as one who does not, the number d_k of
those who answered and know class k has Fisher's noncentral hypergeometric distribution: of m experts, M_k
know the class, and a answered. Given the class k, the probability that these a experts answered is

    e^(g d_k) / sum over d of C(M_k, d) C(m - M_k, a - d) e^(g d)

and the weight of class k is its logarithm, so that it is 0 for every class if g = 0. Experts who answer
nearly every item say nothing by answering, and are left out.

R. A. Fisher (1935), "The logic of inductive inference", Journal of the Royal Statistical Society 98;
A. Fog (2008), doi:10.1080/03610910701790269.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear
from covote.decoding.linear import UNIT
from covote.decoding.statistics import Statistics
from covote.votes.patterns import AnswerPatterns

Array = NDArray[Any]

ALWAYS = 0.9
"""Experts who answer this share of the items say nothing by answering."""


def selective(statistics: Statistics) -> NDArray[np.bool_]:
    """Return which experts leave items out."""
    seen = statistics.expert_totals()
    return np.asarray(seen.inside + seen.outside < ALWAYS * max(statistics.items, 1))


def weights(rows: AnswerPatterns, selects: NDArray[np.bool_], g: float) -> NDArray[np.int64]:
    """Return the weight of who answered for every class (rows x classes), in whole units."""
    panel, expert = rows.votes.panel, rows.ragged.expert
    authorities = linear.totals(rows, _table(panel.knows & selects[:, None], panel.layout.cells.expert))
    start = np.concatenate([[0], np.cumsum(selects[expert])])[rows.ragged.indptr]
    answers, which = np.unique(np.diff(start), return_inverse=True)
    known, of_class = np.unique((panel.knows & selects[:, None]).sum(axis=0), return_inverse=True)
    every = np.array([_log_normaliser(int(a), tuple(known), int(selects.sum()), g) for a in answers])
    every = every.reshape(len(answers), len(known))
    found: NDArray[np.int64] = np.rint((g * authorities - every[which][:, of_class]) * UNIT).astype(np.int64)
    return found


def _table(knows: NDArray[np.bool_], expert: Array) -> linear.Weights:
    """Return 1 for every answer of an expert who knows a class (cells x classes)."""
    if len(expert) * knows.shape[1] <= linear.TABLE:
        return knows[expert].astype(np.int64)
    return lambda cells: knows[expert[cells]].astype(np.int64)


@lru_cache(maxsize=1 << 10)
def _log_normaliser(answers: int, known: tuple[int, ...], experts: int, g: float) -> NDArray[np.float64]:
    """Return log of the mean of e^(g d) over all choices of `answers` experts, for each number who know."""
    from scipy.special import gammaln, logsumexp

    d, knowing = np.arange(answers + 1)[:, None], np.array(known)

    def log_choose(n: Array, k: Array) -> Array:
        fits = (k >= 0) & (k <= n)
        k = np.where(fits, k, 0)
        return np.where(fits, gammaln(n + 1) - gammaln(k + 1) - gammaln(np.maximum(n - k, 0) + 1), -np.inf)

    terms = log_choose(knowing, d) + log_choose(experts - knowing, answers - d)
    return np.asarray(logsumexp(terms + g * d, axis=0) - log_choose(np.array(experts), np.array(answers)))
