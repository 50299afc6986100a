"""Lower bounds for covers: known values, brute force on tiny cells, and bad input."""

from itertools import combinations

import pytest

from covote.bounds import best_lower_bound, counting_bound, hanani_bound, horsley_bound, schonheim_bound
from covote.errors import InputError

LOWER = [counting_bound, schonheim_bound, hanani_bound, horsley_bound]


def smallest_cover(classes, size, times):
    """Fewest blocks that cover every pair `times` times, by exhaustive search."""
    pairs = list(combinations(range(classes), 2))
    blocks = [frozenset(combinations(block, 2)) for block in combinations(range(classes), size)]

    def fits(need, left):
        open_pairs = [pair for pair in pairs if need[pair] > 0]
        if not open_pairs:
            return True
        total = sum(need[pair] for pair in open_pairs)
        if left * (size * (size - 1) // 2) < total:
            return False
        target = max(open_pairs, key=lambda pair: need[pair])
        for block in blocks:
            if target in block:
                rest = {pair: count - (pair in block) for pair, count in need.items()}
                if fits(rest, left - 1):
                    return True
        return False

    experts = 1
    while not fits(dict.fromkeys(pairs, times), experts):
        experts += 1
    return experts


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize(
    ("classes", "size"),
    [(2, 2), (3, 2), (4, 2), (4, 3), (5, 3), (5, 4), (6, 3), (6, 4), (6, 5), (7, 5), (8, 6)],
)
def test_no_bound_exceeds_the_optimum_found_by_brute_force(classes, size, times):
    optimum = smallest_cover(classes, size, times)
    for bound in LOWER:
        assert bound(classes, size, times) <= optimum
    assert best_lower_bound(classes, size, times)[0] <= optimum


@pytest.mark.parametrize("order", [2, 3, 4, 5, 7, 8, 9, 11, 13])
def test_projective_and_affine_planes_meet_the_bound(order):
    points = order * order + order + 1
    assert best_lower_bound(points, order + 1)[0] == points
    assert best_lower_bound(order**2, order)[0] == order**2 + order


def test_the_best_bound_is_at_least_each_single_one():
    for classes in range(2, 40):
        for size in range(2, classes + 1):
            for times in (1, 2, 5):
                best, name = best_lower_bound(classes, size, times)
                assert best >= max(bound(classes, size, times) for bound in LOWER)
                assert name


def test_the_bounds_are_monotone():
    """More classes never need fewer experts, larger experts never more, nor does a class all know."""
    best = {(v, k): best_lower_bound(v, k)[0] for v in range(2, 70) for k in range(2, v + 1)}
    for (v, k), value in best.items():
        for neighbour in ((v - 1, k), (v, k + 1), (v + 1, k + 1)):
            assert value >= best.get(neighbour, 0), (v, k, neighbour)


def test_experts_that_know_everything():
    assert best_lower_bound(7, 7)[0] == 1
    assert best_lower_bound(7, 7, redundancy=4)[0] == 4
    assert best_lower_bound(2, 2)[0] == 1


@pytest.mark.parametrize(
    ("classes", "size", "times", "word"),
    [
        (10, 1, 1, "1"),
        (10, 11, 1, "11"),
        (1, 2, 1, "1"),
        (10, 4, 0, "0"),
        (10.5, 4, 1, "10.5"),
        (True, 2, 1, "True"),
    ],
)
def test_sizes_that_make_no_sense(classes, size, times, word):
    for bound in [*LOWER, best_lower_bound]:
        with pytest.raises(InputError, match=word):
            bound(classes, size, times)
