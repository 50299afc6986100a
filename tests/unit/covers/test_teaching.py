"""Teaching experts further classes instead of hiring new ones."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import CovoteError, Panel, complete, design


@st.composite
def panels(draw):
    experts, classes = draw(st.integers(1, 4)), draw(st.integers(2, 5))
    cells = draw(st.lists(st.booleans(), min_size=experts * classes, max_size=experts * classes))
    knows = np.array(cells).reshape(experts, classes)
    knows[:, 0] |= ~knows.any(axis=1)
    return Panel(classes, knows)


def fewest(panel):
    """Return how few lessons are enough, by trying all sets of lessons."""
    lessons = np.argwhere(~panel.knows)
    for number in range(len(lessons) + 1):
        for some in combinations(lessons, number):
            knows = panel.knows.copy()
            for i, k in some:
                knows[i, k] = True
            if Panel(panel.classes, knows).covers():
                return number
    raise AssertionError


@settings(max_examples=60)
@given(panels())
def test_lessons_cover_and_the_bound_holds(panel):
    taught = complete(panel, len(panel.classes), teach=True)
    proof, best = taught.certificate, fewest(panel)
    assert taught.covers()
    assert (taught.knows | panel.knows == taught.knows).all()
    assert proof.size == (taught.knows & ~panel.knows).sum()
    assert proof.lower <= best <= proof.size
    assert proof.size <= best + 1  # greedy, with several tries, is hardly ever worse on small panels


def test_an_expert_that_left_is_replaced_by_lessons():
    panel = design(7, 3).without("expert-1")
    taught = complete(panel, 5, teach=True)
    assert taught.covers()
    assert taught.sizes.max() <= 5
    assert taught.names == panel.names
    assert taught.certificate.size == 2  # the three pairs that are missing share classes


def test_twice_and_no_room():
    panel = design(7, 3)
    assert complete(panel, 7, redundancy=2, teach=True).covers(2)
    with pytest.raises(CovoteError, match="allow more classes"):
        complete(panel.without("expert-1"), 3, teach=True)
    assert complete(panel, 3, teach=True).certificate.size == 0
