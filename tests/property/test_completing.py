"""Whatever there is, what `complete` returns covers, keeps what there was, and respects its own bound."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import Panel
from covote.covers.completing import complete


@st.composite
def panels(draw):
    classes = draw(st.integers(2, 9))
    rows = draw(st.lists(st.sets(st.integers(0, classes - 1), min_size=1), max_size=6))
    return Panel.from_blocks(classes, rows)


@settings(max_examples=50)
@given(panels(), st.data())
def test_completed_panels_cover_and_keep_what_there_was(panel, data):
    size = data.draw(st.integers(2, len(panel.classes)))
    times = data.draw(st.integers(1, 3))
    whole = complete(panel, size, redundancy=times, effort="fast")
    new = len(whole) - len(panel)
    assert whole.covers(times)
    assert np.array_equal(whole.knows[: len(panel)], panel.knows)
    assert (whole.sizes[len(panel) :] == size).all()
    assert whole.certificate.size == new >= whole.certificate.lower
    # Without any one of the new experts, some pair would be missing.
    for name in whole.names[len(panel) :]:
        assert not whole.without(name).covers(times)
