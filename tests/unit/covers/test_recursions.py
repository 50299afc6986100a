import subprocess
import sys

import numpy as np
import pytest

from covote.bounds import best_lower_bound
from covote.compiled import kernel_mode
from covote.covers import design
from covote.covers.blocks import without_room
from covote.covers.constructions import recursions
from tests.plain_covers import covers


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6, 7, 9, 12, 16, 25, 32])
def test_the_table_builds_what_it_promises(size):
    for classes in range(2, 121, 7):
        cover = recursions.build(classes, size)
        assert covers(cover.blocks, classes)
        assert len(cover.blocks) <= recursions.table().size[size, classes]


def test_no_size_of_the_table_beats_a_bound():
    for size in range(2, 26):
        for classes in range(size, 130):
            assert recursions.table().size[size, classes] >= best_lower_bound(classes, size)[0]


def test_the_table_is_a_fixpoint_of_the_simple_rules():
    size = recursions.table().size
    for k in range(3, 26):
        for v in range(k + 1, 150):
            assert size[k, v] <= size[k - 1, v - 1]
            assert size[k, v] <= size[k, v - 1] + -(-(v - 1) // (k - 1))
            assert all(size[k, v] <= size[k // a, -(-v // a)] for a in range(2, k // 2 + 1))


@pytest.mark.parametrize(("classes", "size"), [(13, 4), (31, 6), (57, 8), (91, 10), (16, 4), (27, 3)])
def test_geometries_are_found(classes, size):
    assert recursions.table().size[size, classes] == classes * (classes - 1) // (size * (size - 1))


@pytest.mark.parametrize(
    ("classes", "size"), [(700, 25), (300, 50), (261, 3), (262, 2), (500, 41), (450, 44), (90, 50)]
)
def test_larger_plans_build_what_they_promise(classes, size):
    cover = recursions.build(classes, size)
    assert covers(cover.blocks, classes)
    assert len(cover.blocks) <= recursions.large_plan(classes, size).experts


def test_plain_and_compiled_rules_fill_the_same_table():
    with kernel_mode("plain"):
        plain = recursions.table.__wrapped__(9, 60)
    with kernel_mode("compiled"):
        compiled = recursions.table.__wrapped__(9, 60)
    assert (plain.size == compiled.size).all()
    assert (plain.plan == compiled.plan).all()


@pytest.mark.parametrize("size", range(2, 12))
def test_many_small_covers_meet_their_bound_without_a_search(size):
    sizes = [len(recursions.build(v, size).blocks) for v in range(size + 1, 25)]
    bounds = [best_lower_bound(v, size)[0] for v in range(size + 1, 25)]
    assert np.count_nonzero(np.array(sizes) == bounds) >= 3


@pytest.mark.parametrize("effort", ["fast", "normal", "max"])
def test_no_effort_changes_what_is_settled(effort):
    assert design(10, 4, effort=effort) == design(10, 4)


def test_a_small_panel_needs_no_compiler():
    program = "import sys, covote; assert len(covote.design(10, 4)) == 9; print('numba' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n"


def test_room_is_filled_with_other_classes():
    blocks = np.array([[0, 1, -1, -1], [1, 2, 3, -1], [3, -1, -1, -1]], dtype=np.int32)
    full = without_room(blocks, 5)
    assert full.shape == (2, 4)
    assert all(len(set(row)) == 4 for row in full.tolist())
    assert {0, 1} <= set(full[0].tolist())
    assert {1, 2, 3} <= set(full[1].tolist())


def test_weighted_points_fill_the_gap_between_two_planes():
    # 8 groups of 8 and one of 17 in pairs: 64 blocks, 8 for the groups, 5 for the last one.
    cover = recursions.build(81, 10)
    assert len(cover.blocks) <= 64 + 8 + 5
    assert covers(cover.blocks, 81)
