"""The bounds of the paper, as the paper states them; logarithms are natural.

K classes, experts of size R. Theorems 2 and 3 ask for a panel that covers every pair of classes; Lemma 4 and
Theorems 4 and 5 allow an error probability, for uniform classes and uniform answers outside expertise.
"""

from __future__ import annotations

import math

from covote.arguments import check_count, check_probability, check_size


def counting_bound(classes: int, size: int, redundancy: int = 1) -> int:
    """Fewest experts that any covering panel can have, by counting pairs: ceil(redundancy K(K-1) / (R(R-1))).

    An expert of `size` classes covers at most C(size, 2) of the C(classes, 2) pairs.

    Paper: Thm 2.

    >>> counting_bound(10, 4)
    8
    """
    K, R = check_size(classes, size)
    return -(-check_count(redundancy, "redundancy") * K * (K - 1) // (R * (R - 1)))


def random_cover_bound(classes: int, size: int, delta: float | None = None) -> int:
    """Experts with which a random panel covers every pair.

    Without `delta`: ceil(K(K-1)/(R(R-1)) ln(K(K-1)/2) + 1) experts, among which some choice covers. With
    `delta`: ceil(K(K-1)/(R(R-1)) ln(K(K-1)/(2 delta))) experts, drawn at random, cover with probability 1 -
    delta.

    Paper: Thm 3.

    >>> random_cover_bound(10, 4), random_cover_bound(10, 4, delta=0.05)
    (30, 52)
    """
    K, R = check_size(classes, size)
    ratio = K * (K - 1) / (R * (R - 1))
    if delta is None:
        return math.ceil(ratio * math.log(K * (K - 1) / 2) + 1)
    return math.ceil(ratio * math.log(K * (K - 1) / (2 * check_probability(delta, "delta"))))


def greedy_guarantee(size: int) -> float:
    """How many times more experts than necessary the greedy set cover may take: 1 + 1/2 + ... + 1/C(R,2).

    Paper: section on set covering, after Johnson (1974) and Lovasz (1975).

    >>> greedy_guarantee(2), round(greedy_guarantee(4), 2)
    (1.0, 2.45)
    """
    R = check_count(size, "the size of an expert", 2)
    pairs = math.comb(R, 2)
    if pairs <= 10_000:
        return math.fsum(1 / i for i in range(1, pairs + 1))
    # Euler and Maclaurin; what is left out is below 1e-17 here.
    return math.log(pairs) + 0.5772156649015329 + 1 / (2 * pairs) - 1 / (12 * pairs**2)


def conditional_entropy(classes: int, size: int, experts: int) -> float:
    """Entropy (in nats) of all answers when the class is known: m (K-R)/K ln R.

    Paper: Lemma 4.

    >>> round(conditional_entropy(10, 4, 9), 3)
    7.486
    """
    K, R = check_size(classes, size)
    return check_count(experts, "the number of experts", 0) * (K - R) / K * math.log(R)


def fano_bound(classes: int, size: int, error: float = 0.01) -> int:
    """Fewest experts for an error probability: ceil(K/R ((1-error) ln K - ln 2) / ln R).

    Paper: Thm 4. For R = K^a it grows as K^(1-a)/a; the paper's remark that it grows as K is a slip.

    >>> fano_bound(100, 12), fano_bound(1000, 40)
    (13, 42)
    """
    K, R = check_size(classes, size)
    gain = (1 - check_probability(error, "error")) * math.log(K) - math.log(2)
    return max(0, math.ceil(K / R * gain / math.log(R)))


def random_panel_bound(classes: int, size: int, error: float = 0.01) -> int:
    """Random experts that reach an error probability: ceil(K(K-1)/((K-R)(R-1)) ln(K/error)).

    Paper: Thm 5. Experts that know every class (R = K) need no second one.

    >>> random_panel_bound(100, 12), random_panel_bound(1000, 40)
    (95, 308)
    """
    K, R = check_size(classes, size)
    error = check_probability(error, "error")
    if K == R:
        return 1
    return math.ceil(K * (K - 1) / ((K - R) * (R - 1)) * math.log(K / error))
