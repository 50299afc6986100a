from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from covote import Panel
from covote.covers.constructions.random_panels import random_blocks, random_panel
from covote.errors import InputError


@pytest.mark.parametrize(("classes", "size"), [(2, 2), (5, 3), (10, 4), (10, 9), (40, 7)])
@pytest.mark.parametrize("times", [1, 2])
def test_until_they_cover_and_not_one_more(classes, size, times):
    blocks, _ = random_panel(classes, size, times, seed=3)
    assert all(len(set(block.tolist())) == size for block in blocks)
    assert Panel.from_blocks(classes, blocks).covers(times)
    assert not Panel.from_blocks(classes, blocks[:-1]).covers(times)


def test_a_given_number_need_not_cover():
    blocks, how = random_panel(30, 4, experts=7, seed=0)
    assert len(blocks) == 7
    assert how == "7 random experts"
    assert not Panel.from_blocks(30, blocks).covers()


def test_a_seed_is_a_panel():
    first, again, other = (np.stack(random_panel(20, 5, seed=s)[0]) for s in (1, 1, 2))
    assert np.array_equal(first, again)
    assert first.shape != other.shape or not np.array_equal(first, other)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_every_subset_is_equally_likely(size):
    draws = 20_000
    counts = Counter(map(tuple, random_blocks(np.random.default_rng(0), draws, 5, size).tolist()))
    subsets = list(combinations(range(5), size))
    expected = draws / len(subsets)
    assert set(counts) == set(subsets)
    # Chi squared with at most 9 degrees of freedom: beyond 30 about once in 2,000 seeds.
    assert sum((counts[s] - expected) ** 2 / expected for s in subsets) < 30


@pytest.mark.parametrize("wrong", [{"size": 1}, {"size": 6}, {"times": 0}, {"experts": 0}])
def test_refuses_impossible_requests(wrong):
    with pytest.raises(InputError):
        random_panel(**{"classes": 5, "size": 3, "times": 1} | wrong)
