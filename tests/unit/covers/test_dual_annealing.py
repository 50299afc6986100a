import numpy as np
import pytest

from covote.covers.constructions.planes import projective_plane
from covote.covers.random_kernels import random_state
from covote.covers.search import dual_annealing
from covote.progress import Work
from tests.plain_covers import covers


def plain_cost(masks, experts, size, times=1):
    """How many of `times` common experts the pairs of classes lack, plus the price of overload."""
    sets = [
        {j for j in range(experts) if int(masks[j // 64, x]) >> (j % 64) & 1} for x in range(masks.shape[1])
    ]
    pairs = sum(max(0, times - len(sets[x] & sets[y])) for x in range(len(sets)) for y in range(x))
    over = [max(0, sum(j in known for known in sets) - size) for j in range(experts)]
    return pairs + dual_annealing.PRICE * sum(o * (o + 1) // 2 for o in over), pairs


@pytest.mark.parametrize("times", [1, 2, 5])
@pytest.mark.parametrize(
    ("classes", "size", "experts"), [(20, 5, 12), (40, 8, 31), (50, 6, 70), (30, 3, 120)]
)
def test_the_kernel_keeps_the_cost_that_a_plain_count_gives(classes, size, experts, times):
    random = np.random.default_rng(0)
    masks = dual_annealing.random_start(classes, experts, size, random)
    masks[:, 0] = 0
    load = dual_annealing.has_expert(masks, experts).sum(axis=1)
    cost = np.array(plain_cost(masks, experts, size, times))
    meeting = dual_annealing.ExpertSets(masks, load, cost, np.zeros(2, np.uint64), size, times)
    for _ in range(5):
        dual_annealing.walk(meeting, random_state(1), 1.0, 0.5, 2000)
        assert tuple(cost) == plain_cost(masks, experts, size, times)
        assert np.array_equal(load, dual_annealing.has_expert(masks, experts).sum(axis=1))


@pytest.mark.parametrize(("classes", "size", "experts"), [(10, 5, 6), (16, 9, 5), (25, 11, 7), (64, 25, 10)])
def test_optimal_covers_with_few_experts_are_found_from_nothing(classes, size, experts):
    start = dual_annealing.random_start(classes, experts, size, np.random.default_rng(1))
    blocks = dual_annealing.anneal_sets(
        start, experts, size, moves=6_000_000, state=random_state(2), hot=dual_annealing.RANDOM_HOT
    )
    assert blocks is not None
    assert blocks.shape == (experts, size)
    assert covers(blocks, classes)


@pytest.mark.parametrize(
    ("classes", "size", "experts", "times"), [(11, 5, 11, 2), (11, 6, 11, 3), (41, 19, 11, 2)]
)
def test_classes_that_meet_several_times_are_found_from_nothing(classes, size, experts, times):
    start = dual_annealing.random_start(classes, experts, size, np.random.default_rng(0))
    blocks = dual_annealing.anneal_sets(
        start,
        experts,
        size,
        moves=6_000_000,
        state=random_state(2),
        times=times,
        hot=dual_annealing.RANDOM_HOT,
    )
    assert blocks is not None
    assert covers(blocks, classes, times)


def test_a_plane_is_recognised_as_a_cover():
    start = dual_annealing.masks_of(projective_plane(9), 91)
    blocks = dual_annealing.anneal_sets(start, 91, 10, moves=1, state=random_state(0))
    assert blocks is not None
    assert covers(blocks, 91)


def test_masks_and_blocks_are_two_views_of_one_cover():
    blocks = projective_plane(8)
    assert np.array_equal(
        dual_annealing.blocks_of(dual_annealing.masks_of(blocks, 73), 73, 9), np.sort(blocks, axis=1)
    )


def test_the_search_stops_when_told():
    start = dual_annealing.random_start(30, 4, 5, np.random.default_rng(0))
    work = Work(10**12)
    work.stop()
    assert dual_annealing.anneal_sets(start, 4, 5, moves=10**12, state=random_state(0), work=work) is None
