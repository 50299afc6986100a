"""Output sets and the graph of covered pairs, against their definitions."""

from itertools import product

import numpy as np
import pytest

from covote import Panel
from covote.bounds import output_set, pair_graph
from covote.errors import TooLargeError


def random_panel(rng):
    knows = rng.random((int(rng.integers(1, 5)), 5)) < 0.5
    knows[:, 0] |= ~knows.any(axis=1)
    return Panel(list("abcde"), knows)


@pytest.mark.parametrize("seed", range(20))
def test_an_output_set_is_every_vector_that_the_class_allows(seed):
    panel = random_panel(np.random.default_rng(seed))
    every = list(product(*(np.flatnonzero(known).tolist() for known in panel.knows)))
    for k, name in enumerate(panel.classes):
        allowed = {
            said for said in every if all(said[i] == k for i in range(len(panel)) if panel.knows[i, k])
        }
        assert {tuple(row) for row in output_set(panel, name).tolist()} == allowed


@pytest.mark.parametrize("seed", range(20))
def test_an_edge_is_missing_where_two_output_sets_meet(seed):
    panel = random_panel(np.random.default_rng(seed))
    graph = pair_graph(panel)
    sets = {name: {tuple(row) for row in output_set(panel, name).tolist()} for name in panel.classes}
    meet = [(a, b) for a in "abcde" for b in "abcde" if a < b and sets[a] & sets[b]]
    assert graph.missing == meet == panel.uncovered()
    assert len(graph.edges) + len(graph.missing) == 10


def test_a_large_output_set_is_refused_with_a_remedy():
    with pytest.raises(TooLargeError, match="too many to list; decode"):
        output_set(Panel.from_blocks(11, [list(range(10))] * 12), 10)


def test_the_picture_has_a_line_for_every_pair():
    axes = pair_graph(Panel.from_blocks(4, [[0, 1], [1, 2, 3]])).plot()
    dashed = [line for line in axes.lines if line.get_linestyle() == "--"]
    assert (len(axes.lines), len(dashed)) == (6, 2)
    assert axes.get_title() == "4 pairs covered, 2 not (dashed)"


@pytest.mark.parametrize(("classes", "circle"), [(25, True), (26, False), (120, False)])
def test_many_classes_are_drawn_as_a_matrix(classes, circle):
    axes = pair_graph(Panel.from_blocks(classes, [[0, 1, 2], [2, classes - 1]])).plot()
    assert len(axes.images) == (0 if circle else 1)
    if not circle:
        shown = axes.images[0].get_array()
        assert shown[0, 1] == 1
        assert shown[0, classes - 1] == 0
        assert shown.mask[3, 3]
