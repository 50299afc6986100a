"""Simulated votes do not depend on how they are drawn."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import Panel
from covote.simulation import PART, simulate


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
@given(panels(), models, st.data())
def test_the_answer_about_an_item_does_not_depend_on_the_items_after_it(panel, model, data):
    classes = st.lists(st.integers(0, len(panel.classes) - 1), max_size=40)
    truth, more = (np.array(data.draw(classes), int) for _ in range(2))
    some, all_ = (simulate(panel, which, **model).dense for which in (truth, np.append(truth, more)))
    assert (all_[: len(truth)] == some).all()


def test_many_items_are_drawn_in_parts_as_few_are():
    panel = Panel.from_blocks(4, [[0, 1], [1, 2, 3], [0, 3]])
    truth = np.random.default_rng(0).integers(0, 4, 70_000)
    whole = simulate(panel, truth, accuracy=0.7, missing=0.1, seed=3).dense
    assert len(truth) > PART
    assert (whole[:100] == simulate(panel, truth[:100], accuracy=0.7, missing=0.1, seed=3).dense).all()
    assert abs((whole[PART:] == -1).mean() - 0.1) < 0.02


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
