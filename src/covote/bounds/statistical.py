"""Error probabilities beyond the paper: right answers inside expertise, uniform ones outside, best decoder.

Two classes k and j that share an expert are never confused. If they share none, class j stays *alive* (all
who know it name it) with probability w_j = prod 1/R_i over its authorities, when k is the truth.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_accuracy, check_count, check_prior, check_probability, check_size
from covote.errors import InputError, TooLargeError
from covote.panel import Panel

Array = NDArray[Any]

MOST_CLASSES = 30
"""Most classes for which the exact error is computed."""


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


def exact_error(panel: Panel, prior: ArrayLike | None = None) -> float:
    """Error probability of the best decoder for this panel: right inside expertise, uniform answers outside.

    theory: section 5. An answer vector y has probability U(y) / w_k under class k if all authorities of k
    name k (k is alive), else 0; U is uniform and w_k = prod 1/R_i over the authorities. So the best decoder
    is right with probability E_U[max over alive k of a_k], a_k = pi_k / w_k. With the classes in falling
    order of a, that is the sum of (a_j - a_j+1) P_U(one of the first j is alive), and the error the sum of
    (a_j - a_j+1) (w_1 + ... + w_j - P_U(one of the first j is alive)), which has no cancellation.

    At most 30 classes: beyond, :func:`confusion_bound` bounds the error and a simulation estimates it.

    The best decoder may name a class that no expert knows, if the answers make it the likeliest;
    :func:`covote.decode` never does, and is wrong more often then.

    >>> exact_error(Panel.from_blocks(3, [[0, 1], [1, 2], [0, 2]]))
    0.0
    >>> exact_error(Panel.from_blocks(4, [[0, 1], [2, 3], [0, 2], [1, 3]]))
    0.125
    """
    K = len(panel.classes)
    if K > MOST_CLASSES:
        raise TooLargeError(
            f"the exact error of {K} classes would take too long; it is computed for at most {MOST_CLASSES} "
            "(confusion_bound works for any number)"
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


def random_partitions_bound(classes: int, size: int, error: float = 0.01) -> int:
    """Experts of random partitions that reach an error: (K/R) ceil(ln((K-1)/(2 error)) / ln(R(K-1)/(K-R))).

    Every partition gives each class one authority; R must divide K. It closes the gap of ln R between Thm 4
    and Thm 5 of the paper.

    >>> random_partitions_bound(100, 10)
    40
    """
    K, R = check_size(classes, size)
    error = check_probability(error, "error")
    if K % R:
        near = [size for size in range(2, K + 1) if K % size == 0]
        best = min(near, key=lambda size: abs(size - R))
        raise InputError(
            f"{K} classes do not split into experts of size {R}; "
            f"choose a size that divides {K}, such as {best}"
        )
    if K == R:
        return 1
    rounds = math.ceil(math.log((K - 1) / (2 * error)) / math.log(R * (K - 1) / (K - R)))
    return K // R * max(rounds, 0)


def random_panel_error(classes: int, size: int, experts: int) -> float:
    """Bound the mean error of panels of `experts` random experts.

    This is the union bound over pairs, (K-1)/2 E[1(no common expert) R^-max(a,b)], where a and b count the
    experts that know one class only.

    >>> round(random_panel_error(100, 12, 41), 4)
    0.0113
    """
    K, R = check_size(classes, size)
    m = check_count(experts, "the number of experts", 0)
    one = R * (K - R) / (K * (K - 1))
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


def random_panel_experts(classes: int, size: int, error: float = 0.01) -> int:
    """Fewest random experts for which :func:`random_panel_error` promises an error probability.

    >>> random_panel_experts(100, 12)
    42
    """
    K, R = check_size(classes, size)
    error = check_probability(error, "error")
    low, high = 0, 1
    while random_panel_error(K, R, high) > error:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if random_panel_error(K, R, middle) > error:
            low = middle
        else:
            high = middle
    return high


def confusion_bound(panel: Panel, accuracy: Any = 1.0, prior: ArrayLike | None = None) -> float:
    """Bound the error probability of a panel by the sum of sqrt(pi_k pi_j) prod BC_i(k, j).

    BC_i(k, j) is the Bhattacharyya coefficient of what expert i answers to k and to j: 1 if it knows neither,
    less the better it tells them apart. An expert who knows the class is right with its accuracy, and wrong
    evenly among its other classes; one who does not answers evenly among all of its classes.

    Parameters
    ----------
    panel
        Who knows what.
    accuracy
        One for all experts, one for each, or a mapping by name.
    prior
        The probability of every class (default: uniform).

    >>> panel = Panel.from_blocks(4, [[0, 1], [2, 3], [0, 2], [1, 3], [0, 3], [1, 2]])
    >>> confusion_bound(panel), round(confusion_bound(panel, 0.99), 3)
    (0.0, 0.107)
    """
    weight = pair_weights(check_prior(prior, len(panel.classes)))
    for row, both, one in zip(panel.knows, *confusion(panel, check_accuracy(accuracy, panel)), strict=True):
        apply(weight, row, both, one)
    return min(1.0, float(weight.sum() / 2))


def pair_weights(prior: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return sqrt(pi_k pi_j) for every pair of classes; 0 on the diagonal."""
    weight: NDArray[np.float64] = np.sqrt(np.outer(prior, prior))
    np.fill_diagonal(weight, 0)
    return weight


def confusion(panel: Panel, accuracy: NDArray[np.float64]) -> tuple[Array, Array]:
    """Return BC of every expert, for two classes that it knows and for two of which it knows one.

    An expert of a single class always names it, and distinguishes nothing.
    """
    size = panel.sizes.astype(np.float64)
    other = np.maximum(size - 1, 1)
    wrong = np.where(size > 1, 1 - accuracy, 0.0)
    right = 1 - wrong
    both = 2 * np.sqrt(right * wrong / other) + wrong * (size - 2) / other
    one = (np.sqrt(right) + np.sqrt(wrong * (size - 1))) / np.sqrt(np.maximum(size, 1))
    # Who knows nothing answers nothing.
    return np.where(size > 1, both, 1.0), np.where(size > 1, one, 1.0)


def apply(weight: Array, knows: NDArray[np.bool_], both: float, one: float) -> None:
    """Multiply the weights of pairs, in place, by what an expert confuses."""
    mine = np.flatnonzero(knows)
    weight[mine] *= one
    weight[:, mine] *= one
    weight[np.ix_(mine, mine)] *= both / one**2 if one > 0 else 0.0
