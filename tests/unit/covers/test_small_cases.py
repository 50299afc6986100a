import subprocess
import sys

import pytest

from covote.bounds import best_lower_bound
from covote.covers import design
from covote.covers.constructions import recursion_kernels, recursion_rules, recursions
from covote.covers.constructions.small_cases import small_cover
from tests.plain_covers import covers


def test_compiled_rules_fill_the_same_table(monkeypatch):
    monkeypatch.setattr(recursions, "INTERPRETED", 10**6)
    plain = recursions.table.__wrapped__(9, 60)
    monkeypatch.setattr(recursions, "INTERPRETED", 0)
    compiled = recursions.table.__wrapped__(9, 60)
    assert (plain.size == compiled.size).all()
    assert (plain.plan == compiled.plan).all()
    assert recursion_kernels.fill is not recursion_rules.fill


@pytest.mark.parametrize("size", range(2, 12))
def test_small_covers_meet_their_bound(size):
    found = 0
    for classes in range(size + 1, 25):
        lower, _ = best_lower_bound(classes, size)
        cover = small_cover(classes, size, lower)
        if cover is not None:
            found += 1
            assert cover.blocks.shape == (lower, size)
            assert covers(cover.blocks, classes)
    assert found >= 3


def test_large_and_unsettled_cases_are_left_to_the_portfolio():
    assert small_cover(500, 20, 1) is None
    assert small_cover(12, 5, 0) is None


@pytest.mark.parametrize("effort", ["fast", "normal", "max"])
def test_no_effort_changes_what_is_settled(effort):
    assert design(10, 4, effort=effort) == design(10, 4)


def test_a_small_panel_needs_no_compiler():
    program = "import sys, covote; assert len(covote.design(10, 4)) == 9; print('numba' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n"
