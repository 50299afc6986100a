"""What is true of every panel."""

from itertools import combinations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covote import Panel
from covote.panel.panel_files import dumps, loads

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


@given(panels(), st.integers(1, 3))
def test_an_outage_costs_the_pairs_that_nobody_else_knows(panel, missing):
    """Compare with every panel that is left after some experts went."""
    outage = panel.survives(missing)
    blocks = dict(zip(panel.names, panel.blocks(), strict=True))
    lost = {}
    for gone in combinations(panel.names, min(missing, len(panel))):
        left = [set(block) for name, block in blocks.items() if name not in gone]
        for pair in combinations(panel.classes, 2):
            if not any(set(pair) <= block for block in left):
                for name in gone:
                    if set(pair) <= set(blocks[name]):
                        lost.setdefault(name, set()).add(pair)
    assert dict(outage.critical) == {name: len(pairs) for name, pairs in lost.items()}
    assert bool(outage) == (not lost and panel.covers())
    assert [n for _, n in outage.critical] == sorted((n for _, n in outage.critical), reverse=True)
