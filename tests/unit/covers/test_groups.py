from itertools import combinations

import numpy as np
import pytest

from covote.covers.search.groups import Symmetry, symmetries

GROUPS = [
    Symmetry(7, 1),
    Symmetry(5, 2, 1),
    Symmetry(7, 2, 0, scale=2),
    Symmetry(3, 3, 2, period=3),
    Symmetry(6, 4, 0, period=4),
    Symmetry(7, 3, 1, scale=2, period=3),
    Symmetry(1, 4),
    Symmetry(5, 5, 1, scale=4, period=2),
    Symmetry(4, 5, 2, period=2),
    Symmetry(7, 3, 7, scale=2, period=3),
]


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_the_elements_form_a_group(group):
    elements = {tuple(row) for row in group.elements().tolist()}
    assert len(elements) == group.order
    for one in elements:
        assert sorted(one) == list(range(group.classes))
        assert {tuple(one[x] for x in other) for other in elements} == elements


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_pairs_are_in_one_orbit_when_an_element_moves_one_to_the_other(group):
    number, sizes = group.pair_orbits()
    elements = group.elements().tolist()
    for x, y in combinations(range(group.classes), 2):
        images = {frozenset((g[x], g[y])) for g in elements}
        same = {frozenset(p) for p in combinations(range(group.classes), 2) if number[p] == number[x, y]}
        assert images == same
        assert sizes[number[x, y]] == len(images)
        assert number[x, y] == number[y, x]


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_subgroups_are_closed_and_their_parts_are_orbits(group):
    for turns, twists, skew in group.subgroups():
        elements = group.elements(turns, twists, skew)
        assert len(elements) == turns * twists
        closed = {tuple(row) for row in elements.tolist()}
        assert all(tuple(one[other]) in closed for one in elements for other in elements)
        parts = group.parts(turns, twists, skew)
        assert sorted(x for part in parts for x in part) == list(range(group.classes))
        for part in parts:
            assert set(part) == set(elements[:, part[0]].tolist())


def test_all_groups_act_on_all_classes():
    for group in symmetries(30, twists=4):
        assert group.classes == 30
        assert group.twists <= 4
    assert len({(s.turn, s.fixed) for s in symmetries(30)}) == len(symmetries(30))


def test_products_of_turns_that_are_no_turn_are_among_the_groups():
    assert Symmetry(5, 5, 0, 1, 5) in symmetries(25, twists=5)
    assert np.array_equal(Symmetry(2, 2, 0, 1, 2).elements().min(axis=0), [0, 0, 0, 0])
