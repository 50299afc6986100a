"""What a trained panel says, beside a plain twin that counts in fractions."""

import zlib
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import Panel
from covote.learn import PanelClassifier


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
    """Best share of authorities, then mean probability, then most authorities, then a checksum."""
    votes = [model.predict(np.array([item]))[0] for model in models]
    scores = {}
    for name in panel.classes:
        mine = [i for i, known in enumerate(panel.blocks()) if name in known]
        if not mine:
            continue
        share = Fraction(sum(votes[i] == name for i in mine), len(mine))
        place = [list(models[i].classes_).index(name) for i in mine]
        sure = sum(models[i].probability[item, at] for i, at in zip(mine, place, strict=True)) / len(mine)
        scores[name] = (share, round(sure, 9), len(mine), zlib.crc32(name.encode()))
    return max(scores, key=scores.__getitem__)


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


@given(panels_with_models(), st.integers(0, 2**32 - 1))
@settings(max_examples=30)
def test_experts_that_agree_are_believed(case, seed):
    """Where p_i(k) = q_k / q(Y_i) for all experts of a cover, the fused probabilities are q."""
    panel, _, _ = case
    panel = panel if panel.covers() else Panel(panel.classes, np.ones((2, len(panel.classes))))
    q = np.random.default_rng(seed).dirichlet(np.ones(len(panel.classes)), size=5)
    models = [
        Table(names, q[:, known] / q[:, known].sum(axis=1, keepdims=True))
        for names, known in zip(panel.blocks(), panel.knows, strict=True)
    ]
    fused = PanelClassifier.from_experts(panel, models).predict_proba(np.arange(5))
    assert np.allclose(np.sort(fused), np.sort(q), atol=1e-3)  # the label's is the highest


@given(panels_with_models())
@settings(max_examples=30)
def test_probabilities_beside_a_plain_twin(case):
    """q_k = sum p_i(k) / sum 1 / q(Y_i), by iteration; the label and the most probable class exchange."""
    panel, models, X = case
    model = PanelClassifier.from_experts(panel, models)
    fused, labels = model.predict_proba(X), np.searchsorted(panel.classes, model.predict(X))
    if len(panel) == 1 and panel.sizes[0] == len(panel.classes):
        return
    known = [np.flatnonzero(row) for row in panel.knows]
    for item in X.tolist():
        q = panel.knows.any(axis=0) / panel.knows.any(axis=0).sum()
        for _ in range(2000):
            said, wanted = np.zeros(len(q)), np.zeros(len(q))
            for mine, one in zip(known, models, strict=True):
                said[mine] += one.probability[item]
                wanted[mine] += 1 / q[mine].sum()
            before, q = q, np.divide(said, wanted, out=np.zeros(len(q)), where=wanted > 0)
            q /= q.sum()
            if np.abs(q - before).max() < 1e-7:
                break
        label, best = labels[item], q.argmax()
        if q[best] - q[label] > 1e-6:
            q[[label, best]] = q[[best, label]]
        assert np.allclose(fused[item], q, atol=5e-3)
