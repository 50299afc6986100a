from itertools import chain

import numpy as np
import pytest

from covote import Panel
from covote.covers.constructions.resolvable import _partitions, parallel_panel
from covote.errors import InputError

CASES = [
    (2, 2),
    (3, 2),
    (9, 3),
    (10, 4),
    (13, 4),
    (16, 4),
    (20, 2),
    (21, 2),
    (30, 29),
    (50, 24),
    (60, 5),
    (90, 10),
]


@pytest.mark.parametrize(("classes", "size"), [*CASES, (121, 11), (700, 25), (1000, 32)])
def test_all_parallel_classes_together_cover(classes, size):
    blocks, how = parallel_panel(classes, size)
    assert Panel.from_blocks(classes, blocks).covers()
    assert all(2 <= len(set(block.tolist())) == len(block) <= size for block in blocks)
    assert how


@pytest.mark.parametrize(("classes", "size"), CASES)
def test_the_first_ones_are_partitions_of_equal_groups(classes, size):
    partitions, _ = _partitions(classes, size, 0)
    first = partitions[0]
    missing = classes % 2 if size == 2 else 0  # the bye of a tournament
    assert len(set(chain.from_iterable(group.tolist() for group in first))) == classes - missing
    assert sum(len(group) for group in first) == classes - missing
    assert max(len(group) for group in first) - min(len(group) for group in first) <= 1


@pytest.mark.parametrize("order", [2, 3, 4, 5, 7, 8, 9, 11])
def test_a_plane_repeats_no_pair(order):
    blocks, _ = parallel_panel(order**2, order)
    counts = Panel.from_blocks(order**2, blocks).pair_counts()
    np.fill_diagonal(counts, 1)
    assert len(blocks) == order * (order + 1)
    assert (counts == 1).all()


def test_a_tournament_has_every_pair_once():
    for classes in (3, 4, 9, 10):
        assert len(parallel_panel(classes, 2)[0]) == classes * (classes - 1) // 2


@pytest.mark.parametrize(("classes", "size"), [(100, 12), (60, 5)])
def test_searched_partitions_repeat_few_pairs(classes, size):
    groups = -(-classes // size)
    blocks, _ = parallel_panel(classes, size, experts=3 * groups)
    counts = Panel.from_blocks(classes, blocks).pair_counts()
    pairs = sum(len(block) * (len(block) - 1) // 2 for block in blocks)
    met = np.count_nonzero(np.triu(counts, 1))
    rng = np.random.default_rng(0)
    shuffled = [part for _ in range(3) for part in np.array_split(rng.permutation(classes), groups)]
    by_chance = np.count_nonzero(np.triu(Panel.from_blocks(classes, shuffled).pair_counts(), 1))
    assert pairs - met < 0.5 * (pairs - by_chance)


def test_a_given_number_cuts_or_repeats():
    everything, _ = parallel_panel(9, 3)
    some, _ = parallel_panel(9, 3, experts=5)
    more, _ = parallel_panel(9, 3, experts=24)
    assert np.array_equal(some, everything[:5])
    assert Panel.from_blocks(9, more).covers(2)


def test_a_seed_is_a_panel():
    first, again = parallel_panel(60, 5, seed=4)[0], parallel_panel(60, 5, seed=4)[0]
    assert all(np.array_equal(a, b) for a, b in zip(first, again, strict=True))


@pytest.mark.parametrize("wrong", [{"size": 1}, {"size": 10}, {"experts": 0}])
def test_refuses_impossible_requests(wrong):
    with pytest.raises(InputError):
        parallel_panel(**{"classes": 9, "size": 3} | wrong)
