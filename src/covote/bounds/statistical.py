"""Error probabilities beyond the paper: right answers inside expertise, uniform ones outside, best decoder.

Two classes k and j that share an expert are never confused. If they share none, class j stays *alive* (all
who know it name it) with probability w_j = prod 1/R_i over its authorities, when k is the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_count, check_prior, check_probability, check_size, check_tables
from covote.errors import InputError, TooLargeError
from covote.panel import Panel

MOST_CLASSES = 30
"""Most classes for which the exact error is computed."""
MOST_LIKELIHOODS = 1 << 24
"""Most numbers in a table of different likelihoods (answer vectors x classes)."""


def converse_bound(classes: int, size: int, error: float = 0.01) -> int:
    """Fewest experts for an error probability: the largest ceil((K/R)(t+1)(1 - error - R^t/K)) over t >= 0.

    If a class has at most t authorities, it is at most R^t times as likely to be named as by pure chance,
    so all such classes together are right R^t times at most; the others need t+1 authorities each.

    >>> converse_bound(100, 12), converse_bound(1000, 40)
    (15, 48)
    """
    K, R = check_size(classes, size)
    right = 1 - Fraction(repr(check_probability(error, "error")))  # 0.01 means one percent exactly
    best, t = 0, 0
    while R**t < K:
        best = max(best, math.ceil(Fraction(K, R) * (t + 1) * (right - Fraction(R**t, K))))
        t += 1
    return best


def authority_chance(panel: Panel) -> NDArray[np.float64]:
    """Return w: how likely all authorities of a class name it by chance, for each class."""
    logs = panel.knows.astype(np.float64).T @ np.log(panel.sizes)
    return np.exp(-logs)


def panel_error_bound(panel: Panel, prior: ArrayLike | None = None) -> float:
    """Bound the error probability of a given panel: the sum of min(pi_k w_j, pi_j w_k) over uncovered pairs.

    If every class has d authorities of size R and a uniform prior this is avg(g_k) R^-d / 2, where g_k
    classes share no expert with k.

    >>> panel_error_bound(Panel.from_blocks(4, [[0, 1], [2, 3], [0, 2], [1, 3]]))
    0.125
    """
    pi = check_prior(prior, len(panel.classes))
    w = authority_chance(panel)
    counts = panel.pair_counts()
    total = 0.0
    for k in range(len(pi)):
        free = np.flatnonzero(counts[k, k + 1 :] == 0) + k + 1
        total += float(np.minimum(pi[k] * w[free], pi[free] * w[k]).sum())
    return min(total, 1.0)


def exact_error(
    panel: Panel, prior: ArrayLike | None = None, *, tables: Sequence[ArrayLike] | None = None
) -> float:
    """Error probability of the best decoder for this panel: right inside expertise, uniform answers outside.

    theory: section 5. An answer vector y has probability U(y) / w_k under class k if all authorities of k
    name k (k is alive), else 0; U is uniform and w_k = prod 1/R_i over the authorities. So the best decoder
    is right with probability E_U[max over alive k of a_k], a_k = pi_k / w_k. With the classes in falling
    order of a, that is the sum of (a_j - a_j+1) P_U(one of the first j is alive), and the error the sum of
    (a_j - a_j+1) (w_1 + ... + w_j - P_U(one of the first j is alive)), which has no cancellation.

    At most 30 classes: beyond, :func:`panel_error_bound` bounds the error and a simulation estimates it.

    With `tables`, one confusion table per expert (true class x answer), the error of the best decoder for
    experts who answer independently by these tables, inside expertise and outside. Answer vectors are gone
    through expert by expert; those with proportional likelihoods become one, so that what counts is how many
    different likelihoods there are.

    The best decoder may name a class that no expert knows, if the answers make it the likeliest;
    :func:`covote.decode` never does, and is wrong more often then.

    >>> exact_error(Panel.from_blocks(3, [[0, 1], [1, 2], [0, 2]]))
    0.0
    >>> exact_error(Panel.from_blocks(4, [[0, 1], [2, 3], [0, 2], [1, 3]]))
    0.125
    >>> coin = [[0.9, 0.1], [0.2, 0.8]]  # two experts who know two classes: right in 90% and in 80%
    >>> round(exact_error(Panel.from_blocks(2, [[0, 1], [0, 1]]), tables=[coin, coin]), 3)
    0.115
    """
    K = len(panel.classes)
    if tables is not None:
        return _error_of_tables(check_prior(prior, K), check_tables(tables, panel))
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


def _error_of_tables(prior: np.ndarray, tables: list[np.ndarray]) -> float:
    """Return the sum over all answer vectors of the probability that is not the likeliest class's."""
    joint = prior[None, :]  # P(class and answers so far), one row per answer vector
    for n, table in enumerate(tables):
        if len(joint) * table.shape[1] * len(prior) > MOST_LIKELIHOODS:
            raise TooLargeError(
                f"the first {n} of {len(tables)} experts already make {len(joint):,} different likelihoods; "
                "estimate the error with simulate(noise=tables) and decode(method='likelihood', tables=...)"
            )
        joint = (joint[:, None, :] * table.T[None]).reshape(-1, len(prior))
        # A vector that only one class allows is decided without error.
        joint = joint[(joint > 0).sum(axis=1) > 1]
        if not len(joint):
            return 0.0
        shares = np.round(joint / joint.sum(axis=1, keepdims=True), 12)
        _, group = np.unique(shares, axis=0, return_inverse=True)
        merged = np.zeros((int(group.max()) + 1, len(prior)))
        np.add.at(merged, group.ravel(), joint)
        joint = merged
    return float((joint.sum(axis=1) - joint.max(axis=1)).sum())


class _Graph:
    """Classes, each alive with probability w; those that share an expert exclude each other.

    Classes without a common expert are alive independently, so P(no one alive) is the independence polynomial
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
        """Remove the member with most neighbours: it is alive alone, or someone far from it is alive too."""
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


def parallel_classes_error(classes: int, size: int, parallel: int) -> float:
    """Bound the error of d parallel classes in which no pair is covered twice: (K-1-d(R-1)) / (2 R^d).

    A parallel class is a partition of the classes among K/R experts; the d directions of an affine plane
    are an example, and with all of them the error is 0.

    >>> [round(parallel_classes_error(121, 11, d), 4) for d in (2, 3, 4, 12)]
    [0.4132, 0.0338, 0.0027, 0.0]
    """
    K, R = check_size(classes, size)
    d = check_count(parallel, "the number of parallel classes", 0)
    _check_partition(K, R)
    if d * (R - 1) > K - 1:
        raise InputError(
            f"{d} parallel classes of size {R} must cover some pair of {K} classes twice; "
            f"use at most {(K - 1) // (R - 1)}"
        )
    return float(Fraction(K - 1 - d * (R - 1), 2 * R**d))


def random_partitions_bound(classes: int, size: int, error: float = 0.01) -> int:
    """Experts of random partitions that reach an error: (K/R) ceil(ln((K-1)/(2 error)) / ln(R(K-1)/(K-R))).

    Every partition gives each class one authority; R must divide K. It closes the gap of ln R between Thm 4
    and Thm 5 of the paper.

    >>> random_partitions_bound(100, 10)
    40
    """
    K, R = check_size(classes, size)
    error = check_probability(error, "error")
    _check_partition(K, R)
    if K == R:
        return 1
    rounds = math.ceil(math.log((K - 1) / (2 * error)) / math.log(R * (K - 1) / (K - R)))
    return K // R * max(rounds, 0)


def _check_partition(K: int, R: int) -> None:
    if K % R:
        near = [size for size in range(2, K + 1) if K % size == 0]
        best = min(near, key=lambda size: abs(size - R))
        raise InputError(
            f"{K} classes do not split into experts of size {R}; "
            f"choose a size that divides {K}, such as {best}"
        )


def random_panel_error(classes: int, size: int, experts: int, *, exact: bool = True) -> float:
    """Bound the mean error of panels of `experts` random experts.

    With ``exact`` the union bound over pairs itself, (K-1)/2 E[1(no common expert) R^-max(a,b)], where a
    and b count the experts that know one class only; otherwise the simpler (K-1)/2 rho^m with rho = 1 -
    R(R-1)/(K(K-1)) - 2 R(K-R)/(K(K-1)) (1 - 1/sqrt R).

    >>> round(random_panel_error(100, 12, 41), 4), round(random_panel_error(100, 12, 41, exact=False), 4)
    (0.0113, 0.0303)
    """
    K, R = check_size(classes, size)
    m = check_count(experts, "the number of experts", 0)
    both = R * (R - 1) / (K * (K - 1))
    one = R * (K - R) / (K * (K - 1))
    if not exact:
        rho = 1 - both - 2 * one * (1 - 1 / math.sqrt(R))
        return min(1.0, (K - 1) / 2 * rho**m)
    neither = (K - R) * (K - R - 1) / (K * (K - 1))
    return min(1.0, (K - 1) / 2 * _confusion(m, one, neither, R))


def _confusion(m: int, one: float, neither: float, R: int) -> float:
    """E[1(no common expert) R^-max(a,b)] for m experts that know only k, only j, or neither of the two.

    Of n = a + b experts that know one of them, a is binomial. The value for n is at most R^-(n/2), so the sum
    ends early and what is left out is bounded by R^-(n/2) and added.
    """
    last = min(m, math.ceil(60 * math.log(10) / math.log(R)))
    total = 0.0 if last == m else R ** (-(last + 1) / 2)
    for n in range(last + 1):
        split = sum(math.comb(n, a) / 2**n * float(R) ** -max(a, n - a) for a in range(n + 1))
        total += math.exp(_log_chance(m, n, 2 * one, neither)) * split
    return total


def _log_chance(m: int, n: int, one: float, neither: float) -> float:
    """Logarithm of C(m, n) one^n neither^(m-n)."""
    if (one == 0 and n > 0) or (neither == 0 and n < m):
        return -math.inf
    ways = math.lgamma(m + 1) - math.lgamma(n + 1) - math.lgamma(m - n + 1)
    return ways + (n * math.log(one) if n else 0.0) + ((m - n) * math.log(neither) if n < m else 0.0)


def random_panel_experts(classes: int, size: int, error: float = 0.01, *, exact: bool = True) -> int:
    """Fewest random experts for which :func:`random_panel_error` promises an error probability.

    >>> random_panel_experts(100, 12), random_panel_experts(100, 12, exact=False)
    (42, 48)
    """
    K, R = check_size(classes, size)
    error = check_probability(error, "error")
    low, high = 0, 1
    while random_panel_error(K, R, high, exact=exact) > error:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if random_panel_error(K, R, middle, exact=exact) > error:
            low = middle
        else:
            high = middle
    return high
