"""What a trained panel says, beside a plain twin that counts in fractions."""

from fractions import Fraction
from unittest import mock

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import Panel
from covote.learn import PanelClassifier, fusing
from covote.learn.probability import fused_probabilities


class Table:
    """A model that looks its answers up; an item is its row."""

    def __init__(self, classes, probability):
        self.classes_, self.probability = np.array(classes), probability

    def predict(self, X):
        return self.classes_[self.probability[X].argmax(axis=1)]

    def predict_proba(self, X):
        return self.probability[X]


@st.composite
def panels_with_models(draw):
    """Some experts on some classes, with probabilities of few different values: ties are common."""
    classes = draw(st.integers(2, 6))
    blocks = draw(
        st.lists(st.sets(st.integers(0, classes - 1), min_size=2), min_size=1, max_size=7).map(list)
    )
    panel = Panel.from_blocks(
        [f"class {k}" for k in range(classes)], [[f"class {k}" for k in b] for b in blocks]
    )
    items = 8
    models = []
    for known in panel.blocks():
        weights = draw(
            st.lists(
                st.lists(st.integers(1, 4), min_size=len(known), max_size=len(known)),
                min_size=items, max_size=items,
            )
        )  # fmt: skip
        weights = np.array(weights, dtype=float)
        models.append(Table(known, weights / weights.sum(axis=1, keepdims=True)))
    return panel, models, np.arange(items)


def plain_label(panel, models, item):
    """Best share of authorities, then mean probability, then the first class."""
    votes = [model.predict(np.array([item]))[0] for model in models]
    best, chosen = None, None
    for name in panel.classes:
        mine = [i for i, known in enumerate(panel.blocks()) if name in known]
        if not mine:
            continue
        share = Fraction(sum(votes[i] == name for i in mine), len(mine))
        place = [list(models[i].classes_).index(name) for i in mine]
        sure = sum(models[i].probability[item, at] for i, at in zip(mine, place, strict=True)) / len(mine)
        if best is None or share > best[0] or (share == best[0] and sure > best[1] + 1e-12):
            best, chosen = (share, sure), name
    return chosen


@given(panels_with_models())
@settings(max_examples=60)
def test_a_panel_predicts_what_its_plain_twin_does(case):
    panel, models, X = case
    model = PanelClassifier.from_experts(panel, models)
    expected = [plain_label(panel, models, item) for item in X]
    if model._hearing.alone is None:
        assert model.predict(X).tolist() == expected
        assert model.classes_[model.predict_proba(X).argmax(axis=1)].tolist() == expected
        score = model.decision_function(X)
        chosen = score.argmax(axis=1) if len(panel.classes) > 2 else (score > 0).astype(int)
        assert model.classes_[chosen].tolist() == expected
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


@given(panels_with_models(), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_the_order_of_the_experts_does_not_matter(case, random):
    panel, models, X = case
    order = list(range(len(panel)))
    random.shuffle(order)
    turned = Panel(panel.classes, panel.knows[order], [panel.names[i] for i in order])
    here, there = (
        PanelClassifier.from_experts(p, m) for p, m in ((panel, models), (turned, [models[i] for i in order]))
    )
    if len(panel.classes) > 2:
        assert np.allclose(here.decision_function(X), there.decision_function(X))


@given(panels_with_models())
@settings(max_examples=30)
def test_few_votes_and_many_are_counted_alike(case):
    panel, models, X = case
    columns = PanelClassifier.from_experts(panel, models).votes(X).columns
    few = fusing.leading(columns, panel)
    with mock.patch.object(fusing, "FEW_VOTES", 0):
        assert np.array_equal(fusing.leading(columns, panel), few)


@given(panels_with_models(), st.sampled_from([1, 20_000]))
@settings(max_examples=30)
def test_votes_are_counted_alike_for_few_items_and_many(case, repeats):
    panel, models, X = case
    few = PanelClassifier.from_experts(panel, models).votes(X).columns
    columns = np.tile(few, repeats)
    expected = np.array([(columns == k).sum(axis=0) for k in range(len(panel.classes))])
    assert np.array_equal(fusing.counted(columns, panel), expected)


@given(panels_with_models(), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_experts_that_agree_are_believed(case, seed):
    """Where p_i(k) = q_k / q(Y_i) for all experts of a cover, the fused probabilities are q."""
    panel, _, _ = case
    panel = panel if panel.covers() else Panel(panel.classes, np.ones((2, len(panel.classes))))
    q = np.random.default_rng(seed).dirichlet(np.ones(len(panel.classes)), size=5)
    given = [q[:, known] / q[:, known].sum(axis=1, keepdims=True) for known in panel.knows]
    votes = np.array(
        [np.flatnonzero(known)[p.argmax(axis=1)] for known, p in zip(panel.knows, given, strict=True)]
    )
    assert np.allclose(fused_probabilities(np.hstack(given).T, votes, panel), q, atol=1e-3)


@given(panels_with_models())
@settings(max_examples=30)
def test_fused_probabilities_beside_a_plain_twin(case):
    panel, models, X = case
    votes = np.array([np.searchsorted(panel.classes, model.predict(X)) for model in models])
    columns = np.hstack([model.probability for model in models]).T
    fused = fused_probabilities(columns, votes, panel)
    known = [np.flatnonzero(row) for row in panel.knows]
    for item, q in zip(X, fused, strict=True):
        mean = np.zeros(len(panel.classes))
        for k in range(len(panel.classes)):
            said = [
                q[mine].sum() * model.probability[item, list(mine).index(k)]
                for mine, model in zip(known, models, strict=True)
                if k in mine
            ]
            mean[k] = np.mean(said) if said else 0
        assert np.allclose(mean / mean.sum(), q, atol=1e-5)
