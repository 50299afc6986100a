import numpy as np
import pytest

from covote.covers.blocks import pair_counts
from covote.covers.search.groups import Symmetry
from covote.covers.search.symmetric_covers import Action, BaseBlocks, symmetric_cover
from covote.progress import Work

STEINER_SYSTEMS = {(7, 3): 7, (13, 4): 13, (25, 4): 50, (28, 4): 63, (37, 4): 111, (40, 4): 130, (41, 5): 82}


def covered(blocks, classes):
    return int(pair_counts(blocks, classes)[np.triu_indices(classes, 1)].min())


@pytest.mark.parametrize(("cell", "size"), STEINER_SYSTEMS.items())
def test_steiner_systems_are_found(cell, size):
    cover = symmetric_cover(*cell, target=size, moves=20_000_000, lower=size)
    assert cover is not None
    assert len(cover) == size
    assert covered(cover, cell[0]) == 1


def test_forty_three_classes_by_seven_need_at_most_forty_nine_blocks():
    cover = symmetric_cover(43, 7, target=49, moves=20_000_000, lower=49)
    assert cover is not None
    assert len(cover) == 49
    assert covered(cover, 43) >= 1


def test_what_cannot_be_is_not_found():
    assert symmetric_cover(13, 4, target=12, moves=100_000) is None


def test_no_moves_find_nothing():
    assert symmetric_cover(13, 4, target=13, moves=0) is None


def test_the_search_stops_when_told():
    seen = []

    def stop(made, total, words):
        seen.append(made)
        raise KeyboardInterrupt

    assert symmetric_cover(61, 6, target=123, moves=10**12, work=Work(10**12, stop)) is None
    assert len(seen) == 1


ACTIONS = [
    (Symmetry(7, 2, 1), 4, 1),
    (Symmetry(6, 2, 2), 4, 2),
    (Symmetry(7, 1, 0, scale=2), 3, 1),
    (Symmetry(4, 3, 1), 5, 3),
    (Symmetry(3, 3, 0, period=3), 3, 1),
    (Symmetry(5, 2, 3, period=2), 3, 1),
]


@pytest.mark.parametrize(("group", "size", "times"), ACTIONS, ids=str)
def test_the_lack_of_every_orbit_is_what_its_blocks_leave_open(group, size, times):
    action = Action(group, size)
    for seed, (_, plan) in enumerate(action.plans(10 * times, times)):
        run = BaseBlocks(action, plan, times, seed)
        for _ in range(2):
            before = run.blocks.copy()
            run.cool(500)
            assert_lacks_tell_the_truth(run, times)
            assert run.shortfall == 0 or (run.blocks != before).any()


def assert_lacks_tell_the_truth(run, times):
    action = run.action
    images = run.images_of_all()
    assert len(images) == sum(run.images)
    counts = np.zeros((len(action.orbit),) * 2, int)
    for row in images:
        counts[np.ix_(row, row)] += 1
    for x in range(len(counts)):
        for y in range(x):
            orbit = action.orbit[x, y]
            assert run.lack[orbit] == (times - counts[x, y]) * action.sizes[orbit]
    uncovered = run.uncovered[: run.shortfall]
    assert sorted(uncovered) == np.flatnonzero(run.lack > 0).tolist()
