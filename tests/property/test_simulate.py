"""Simulated votes do not depend on how they are drawn."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import Panel
from covote.simulation import simulate


@st.composite
def panels(draw):
    classes = draw(st.integers(1, 8))
    rows = draw(st.lists(st.sets(st.integers(0, classes - 1), min_size=1), min_size=1, max_size=6))
    return Panel.from_blocks(classes, rows)


models = st.fixed_dictionaries(
    {
        "noise": st.sampled_from(["uniform", "similar", "adversarial"]),
        "accuracy": st.floats(0, 1),
        "missing": st.floats(0, 1),
        "none_rate": st.tuples(st.floats(0, 1), st.floats(0, 1)),
        "seed": st.integers(0, 2**63),
    }
)


@settings(max_examples=60)
@given(panels(), models, st.integers(0, 40), st.integers(0, 40), st.data())
def test_parts_drawn_apart_make_the_whole(panel, model, size, cut, data):
    truth = np.array(
        data.draw(st.lists(st.integers(0, len(panel.classes) - 1), min_size=size, max_size=size)), int
    )
    whole = simulate(panel, truth, **model).dense
    assert (simulate(panel, truth, **model).dense == whole).all()
    parts = [
        simulate(panel, truth[:cut], **model),
        simulate(panel, truth[cut:], first=min(cut, size), **model),
    ]
    assert (np.concatenate([part.dense for part in parts]) == whole).all()


@settings(max_examples=60)
@given(panels(), models)
def test_votes_are_always_legal(panel, model):
    votes = simulate(panel, np.arange(200) % len(panel.classes), **model).dense
    for i, row in enumerate(panel.knows):
        answers = votes[votes[:, i] >= 0, i]
        assert row[answers].all()


@settings(max_examples=30)
@given(panels(), st.integers(0, 2**32))
def test_another_seed_gives_other_noise(panel, seed):
    truth = np.arange(400) % len(panel.classes)
    one, two = (simulate(panel, truth, seed=s).dense for s in (seed, seed + 1))
    free = (~panel.knows[:, truth].T) & (panel.sizes > 1)
    assert not free.any() or (one != two).any() or free.sum() < 20
