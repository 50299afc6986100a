"""Whatever the pool, what `select` returns covers, is part of the pool, and is as good as it says."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import Panel, select


@st.composite
def pools(draw):
    """A pool that covers, as often as asked: random experts, and a few that know everything."""
    classes = draw(st.integers(2, 6))
    times = draw(st.integers(1, 3))
    rows = draw(st.lists(st.sets(st.integers(0, classes - 1), min_size=1), max_size=8))
    rows += [set(range(classes))] * times
    cost = draw(st.lists(st.integers(0, 9) | st.floats(0, 9), min_size=len(rows), max_size=len(rows)))
    return Panel.from_blocks(classes, rows, cost=cost), times


def optimum(panel, times, keep):
    """Try all parts of the pool."""
    rest = [i for i in range(len(panel)) if i not in keep]
    best = np.inf
    for size in range(len(rest) + 1):
        for extra in combinations(rest, size):
            inside = list(keep) + list(extra)
            counts = panel.knows[inside].T.astype(int) @ panel.knows[inside]
            np.fill_diagonal(counts, times)
            if counts.min(initial=times) >= times:
                best = min(best, panel.cost[inside].sum())
    return best


@settings(max_examples=60)
@given(pools(), st.data())
def test_the_choice_is_the_cheapest_and_says_so(case, data):
    panel, times = case
    keep = data.draw(st.sets(st.integers(0, len(panel) - 1), max_size=2))
    chosen = select(panel, redundancy=times, keep=[panel.names[i] for i in keep], effort="fast")
    proof = chosen.certificate
    assert chosen.covers(times)
    assert set(chosen.names) <= set(panel.names)
    assert {panel.names[i] for i in keep} <= set(chosen.names)
    assert chosen == panel.only(*chosen.names)
    best = optimum(panel, times, keep)
    assert proof.lower <= best + 1e-9
    assert proof.size == chosen.cost.sum()
    assert abs(proof.size - best) <= 1e-6
    assert proof.optimal


@settings(max_examples=20)
@given(pools(), st.randoms())
def test_renaming_classes_and_reordering_experts_changes_no_cost(case, random):
    panel, times = case
    classes, experts = list(range(len(panel.classes))), list(range(len(panel)))
    random.shuffle(classes)
    random.shuffle(experts)
    shuffled = Panel(len(classes), panel.knows[experts][:, classes], cost=panel.cost[experts])
    costs = [select(p, redundancy=times, effort="fast").certificate.size for p in (panel, shuffled)]
    assert abs(costs[0] - costs[1]) <= 1e-6
