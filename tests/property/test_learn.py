"""What a trained panel says, beside a plain twin that counts in fractions."""

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


def plain_scores(panel, models, item):
    """The default: log q + 4 N / d, q by iteration, and no class above half of one that all agree on."""
    votes = [model.predict(np.array([item]))[0] for model in models]
    known = [np.flatnonzero(row) for row in panel.knows]
    q = plain_coupled(panel, known, models, item)
    scores, shares = {}, {}
    for k, name in enumerate(panel.classes):
        mine = [i for i, block in enumerate(panel.blocks()) if name in block]
        if mine:
            shares[name] = Fraction(sum(votes[i] == name for i in mine), len(mine))
            scores[name] = np.log(max(q[k], 1e-3)) + 4 * float(shares[name])
    agreed = [name for name, share in shares.items() if share == 1]
    if len(agreed) == 1:
        most = scores[agreed[0]] - np.log(2)
        scores = {name: score if name in agreed else min(score, most) for name, score in scores.items()}
    return scores


def plain_coupled(panel, known, models, item):
    """q_k = sum p_i(k) / sum 1 / q(Y_i), by iteration."""
    q = panel.knows.any(axis=0) / panel.knows.any(axis=0).sum()
    for _ in range(2000):
        said, wanted = np.zeros(len(q)), np.zeros(len(q))
        for mine, one in zip(known, models, strict=True):
            said[mine] += one.probability[item]
            wanted[mine] += 1 / q[mine].sum()
        before, q = q, np.divide(said, wanted, out=np.zeros(len(q)), where=wanted > 0)
        q /= q.sum()
        if np.abs(q - before).max() < 1e-9:
            break
    return q


@given(panels_with_models())
@settings(max_examples=60)
def test_scores_labels_and_probabilities_are_those_of_a_plain_twin(case):
    panel, models, X = case
    model = PanelClassifier.from_experts(panel, models)
    if model._fitted.alone is not None:
        return
    score = model._fitted.score(X)
    for item in X.tolist():
        for name, expected in plain_scores(panel, models, item).items():
            assert abs(score[item, panel.classes.index(name)] - expected) < 0.02
    assert model.predict(X).tolist() == model.classes_[score.argmax(axis=1)].tolist()
    weights = np.exp(score) * panel.knows.any(axis=0)
    chances = weights / weights.sum(axis=1, keepdims=True)
    assert np.allclose(model.predict_proba(X), chances)
    decided = model.decision_function(X)
    expected = score if len(panel.classes) > 2 else score[:, 1] - score[:, 0]
    assert np.allclose(decided, expected)


@given(panels_with_models())
@settings(max_examples=60)
def test_the_authority_vote_counts_in_fractions(case):
    panel, models, X = case
    model = PanelClassifier.from_experts(panel, models, decoder="authority")
    if model._fitted.alone is not None:
        return
    predicted = model.predict(X).tolist()
    for item in X.tolist():
        votes = [one.predict(np.array([item]))[0] for one in models]
        best = {}
        for name in panel.classes:
            mine = [i for i, block in enumerate(panel.blocks()) if name in block]
            if mine:
                share = Fraction(sum(votes[i] == name for i in mine), len(mine))
                places = [list(models[i].classes_).index(name) for i in mine]
                sure = sum(models[i].probability[item, at] for i, at in zip(mine, places, strict=True))
                best[name] = (share, round(sure / len(mine), 9))
        assert best[predicted[item]] == max(best.values())


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
