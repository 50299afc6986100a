"""What every search of covers promises, on any classes, size and fold."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from covote.covers.blocks import prune
from covote.covers.search.block_annealing import anneal
from covote.covers.search.greedy import greedy
from covote.covers.search.symmetric_covers import symmetric_cover
from tests.plain_covers import covers


@st.composite
def cells(draw, most=16):
    classes = draw(st.integers(2, most))
    return classes, draw(st.integers(2, classes)), draw(st.integers(1, 3))


@given(cells(), st.integers(0, 2**31))
def test_greedy_covers_and_repeats_itself(cell, seed):
    classes, size, times = cell
    blocks = greedy(classes, size, times, seed=seed)
    assert covers(blocks, classes, times)
    assert (blocks == greedy(classes, size, times, seed=seed)).all()


@given(cells(), st.integers(0, 2**31), st.integers(0, 20_000))
def test_annealing_covers_never_grows_and_repeats_itself(cell, seed, moves):
    classes, size, times = cell
    start = greedy(classes, size, times, seed=seed, tries=1)
    cover = anneal(start, classes, times, moves=moves, seed=seed)
    assert covers(cover, classes, times)
    assert len(cover) <= len(start)
    assert (cover == anneal(start, classes, times, moves=moves, seed=seed)).all()


@given(cells(), st.integers(0, 2**31), st.integers(0, 12))
def test_pruning_keeps_the_cover_and_leaves_no_block_to_spare(cell, seed, extra):
    classes, size, times = cell
    rng = np.random.default_rng(seed)
    more = [rng.permutation(classes)[:size] for _ in range(extra)]
    start = np.concatenate(
        [greedy(classes, size, times, tries=1), np.array(more, np.int32).reshape(-1, size)]
    )
    pruned = prune(rng.permutation(start), classes, times)
    assert covers(pruned, classes, times)
    for i in range(len(pruned)):
        rest = np.delete(pruned, i, axis=0)
        assert len(rest) == 0 or not covers(rest, classes, times)


@given(cells(14), st.integers(0, 1000))
@settings(max_examples=40)
def test_a_cover_with_symmetry_covers_and_repeats_itself(cell, seed):
    classes, size, times = cell
    target = len(greedy(classes, size, times)) + 3
    cover = symmetric_cover(classes, size, times, target=target, moves=20_000, seed=seed)
    again = symmetric_cover(classes, size, times, target=target, moves=20_000, seed=seed)
    if cover is None:
        assert again is None
    else:
        assert len(cover) <= target
        assert covers(cover, classes, times)
        assert (cover == again).all()
