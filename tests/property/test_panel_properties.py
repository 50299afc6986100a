"""What is true of every panel."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covote import Panel
from covote.panel.formats import dumps, loads

NAMES = st.one_of(
    st.integers(-(2**63), 2**63 - 1),
    st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text.strip()),
)


@st.composite
def panels(draw):
    classes = draw(st.lists(NAMES, min_size=1, max_size=6, unique=True))
    names = draw(st.lists(NAMES, max_size=6, unique=True))
    rows = st.lists(st.booleans(), min_size=len(classes), max_size=len(classes)).filter(any)
    knows = np.array([draw(rows) for _ in names], dtype=bool).reshape(len(names), len(classes))
    cost = [draw(st.floats(0, 1e9)) for _ in names]
    return Panel(classes, knows, names, cost)


@given(panels(), st.sampled_from(["toml", "json", "csv"]))
def test_reading_back_gives_the_same_panel(panel, kind):
    assert Panel.from_dict(loads(dumps(panel.to_dict(), kind), kind)) == panel


@given(panels(), st.integers(1, 3))
def test_covered_and_uncovered_agree_with_counting_by_hand(panel, times):
    missing = [
        (a, b)
        for a, b in combinations(panel.classes, 2)
        if sum(a in block and b in block for block in map(set, panel.blocks())) < times
    ]
    assert panel.uncovered(times) == missing
    assert panel.covers(times) == (not missing)


@given(panels(), st.randoms(use_true_random=False))
def test_the_order_of_experts_does_not_matter_to_coverage(panel, random):
    order = list(range(len(panel)))
    random.shuffle(order)
    turned = Panel(panel.classes, panel.knows[order], [panel.names[i] for i in order], panel.cost[order])
    assert turned.redundancy == panel.redundancy
    assert np.array_equal(turned.pair_counts(), panel.pair_counts())
