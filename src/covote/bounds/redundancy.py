"""Wrong and missing answers: what a panel repairs, for sure or with high probability (theory: sections
3 and 7).

lambda is the fewest experts that know a common pair (`redundancy` of a panel).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_accuracy, check_count, check_prior, check_probability, check_size
from covote.panel import Panel

Array = NDArray[Any]


def correctable_errors(redundancy: int, missing: int = 0) -> int:
    """Wrong answers per item that can always be repaired: the largest f with lambda >= 2f + missing + 1.

    The answers that two classes allow differ in at least lambda experts. Fewest violations and pairwise
    majority reach this; a panel that loses all of its redundancy repairs none.

    >>> correctable_errors(3), correctable_errors(4, missing=1)
    (1, 1)
    """
    left = check_count(redundancy, "redundancy", 0) - check_count(missing, "the number of missing answers", 0)
    return max(0, (left - 1) // 2)


def detectable_errors(redundancy: int, missing: int = 0) -> int:
    """Wrong answers per item that can always be noticed: the largest f with lambda >= f + missing + 1.

    >>> detectable_errors(3)
    2
    """
    left = check_count(redundancy, "redundancy", 0) - check_count(missing, "the number of missing answers", 0)
    return max(0, left - 1)


def times_needed(errors: int, missing: int = 0) -> int:
    """How often every pair must be covered to repair errors and missing answers: 2f + missing + 1.

    >>> times_needed(1)
    3
    """
    return (
        2 * check_count(errors, "the number of errors", 0)
        + check_count(missing, "the missing answers", 0)
        + 1
    )


def authority_correctable(panel: Panel) -> int:
    """Wrong answers per item that the paper's authority vote always repairs, on this panel.

    It repairs f iff f d_j < (lambda_kj - f) d_k for every truth k and rival j, where d counts authorities:
    the truth loses f of its d_k votes, the rival wins at most f from the common experts and all of its own.
    Returns -1 if the vote fails even without an error (a pair is uncovered).

    >>> authority_correctable(Panel.from_blocks(3, [[0, 1, 2]] * 3 + [[1, 2]] * 4))
    0
    """
    counts = panel.pair_counts().astype(np.int64)
    d = np.diagonal(counts).copy()
    most = len(panel.names)
    for k in range(len(d)):
        others = np.arange(len(d)) != k
        together = d[k] + d[others]
        if not together.all():
            return -1
        # f (d_j + d_k) < lambda_kj d_k, so f is one less than the quotient, rounded up.
        most = min([most, *(-(-counts[k, others] * d[k] // together) - 1).tolist()])
    return int(most)


def pairwise_majority_error(
    classes: int, size: int, redundancy: int, error: float, *, colluding: bool = False
) -> float:
    """Bound the error of pairwise majority if experts are wrong about what they know with this probability.

    (K-1) b^lambda with b = e(R-2)/(R-1) + 2 sqrt(e(1-e)/(R-1)) for uniform errors, and b = 2 sqrt(e(1-e))
    when all errors may name the same rival; answers outside expertise are arbitrary.

    >>> round(pairwise_majority_error(25, 5, 9, 0.1), 4)
    0.0035
    """
    K, R = check_size(classes, size)
    lam = check_count(redundancy, "redundancy")
    e = check_probability(error, "the experts' error")
    rival = e if colluding else e / (R - 1)
    if rival >= 1 - e:  # the truth is not the likelier answer: nothing can be promised
        return 1.0
    b = (e - rival) + 2 * math.sqrt(rival * (1 - e))
    return min(1.0, (K - 1) * b**lam)


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

    An expert of a single class always names it, and tells nothing apart.
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
