"""Error against the number of experts."""

import numpy as np
import pytest

from covote.bounds import exact_error, fano_bound, random_panel_bound
from covote.simulation.method_errors import error_rate
from paper.error_curve import (
    BOUNDS,
    clustered_interval,
    converse_error,
    error_curve,
    fano_error,
    paper_error,
    plot_error_curve,
    random_panel,
)


def test_the_curve_lies_between_its_bounds():
    curve = error_curve(20, 5, [4, 8, 16, 32], panels=20, items=200, seed=0)
    fano, converse, random, paper = curve.bounds.values()
    assert (curve.high >= fano).all()
    assert (curve.high >= converse).all()
    assert (curve.low <= random).all()
    assert (curve.low <= paper).all()
    assert (curve.low <= curve.error).all()
    assert (curve.error <= curve.high).all()
    assert (np.diff(curve.error) < 0).all()


def test_the_measured_error_is_the_exact_one():
    for p in range(10):
        panel = random_panel(8, 3, 6, [p])  # in some of them nobody knows some class
        items, exact = 20_000, exact_error(panel)
        measured = error_rate(panel, items, "likelihood", [p])
        assert abs(measured - exact) <= 5 * np.sqrt(exact * (1 - exact) / items)


def test_same_seed_same_curve_and_any_set_of_sizes():
    one = error_curve(10, 4, [5, 9], panels=3, items=50, seed=7)
    two = error_curve(10, 4, [9], panels=3, items=50, seed=7)
    assert (one.error[1], one.low[1], one.high[1]) == (two.error[0], two.low[0], two.high[0])


@pytest.mark.parametrize(("classes", "size"), [(100, 12), (1000, 40)])
def test_bounds_solved_for_the_error_agree_with_the_theorems(classes, size):
    fewest = fano_bound(classes, size, 0.01)
    assert fano_error(classes, size, fewest) <= 0.01 < fano_error(classes, size, fewest - 1)
    enough = random_panel_bound(classes, size, 0.01)
    assert paper_error(classes, size, enough) <= 0.01 < paper_error(classes, size, enough - 1)
    assert converse_error(classes, size, 0) > 0.9


def test_intervals_widen_when_panels_differ():
    alike = clustered_interval(np.full(50, 0.1), 1000)
    apart = clustered_interval(np.repeat([0.0, 0.2], 25), 1000)
    assert alike[0] == pytest.approx(apart[0])
    assert apart[2] - apart[1] > 2 * (alike[2] - alike[1])
    none = clustered_interval(np.zeros(10), 100)
    assert none[:2] == (0.0, 0.0)
    assert 0 < none[2] < 0.01


def test_the_picture_has_the_curve_and_its_bounds():
    (axes,) = plot_error_curve(error_curve(6, 3, [2, 4], panels=2, items=20, seed=0)).axes
    assert axes.get_yscale() == "log"
    assert [line.get_label() for line in axes.get_lines()[:4]] == list(BOUNDS)
