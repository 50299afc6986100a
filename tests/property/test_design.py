from hypothesis import given, settings
from hypothesis import strategies as st

from covote.bounds import best_lower_bound, counting_bound
from covote.covers import design


@st.composite
def classes_and_size(draw):
    classes = draw(st.integers(2, 70))
    return classes, draw(st.integers(2, classes))


@settings(max_examples=40)
@given(classes_and_size())
def test_every_design_covers_and_none_beats_a_bound(case):
    panel = design(*case, effort="fast")
    assert panel.covers()
    assert len(panel) >= best_lower_bound(*case)[0] >= counting_bound(*case) - 1
    assert set(panel.sizes) == {case[1]}


@settings(max_examples=15)
@given(classes_and_size(), st.integers(2, 5))
def test_covering_often_needs_at_most_copies(case, times):
    once, often = design(*case, effort="fast"), design(*case, redundancy=times, effort="fast")
    assert often.covers(times)
    assert len(often) <= times * len(once)
