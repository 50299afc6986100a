"""PanelClassifier: how the experts decide together, and life among scikit-learn's other things."""

import itertools
import pickle

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import Perceptron
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from covote import Panel, decode
from covote.errors import InputError
from covote.learn import PanelClassifier, fitted_panel
from tests.unit.learn.experts import LOGISTIC

# Decoders and probabilities


@pytest.mark.parametrize("decoder", ["fused", "authority"])
def test_every_decoder_labels_item_by_item(decoder, named):
    X, y, X_new, y_new = named
    model = PanelClassifier(LOGISTIC, size=5, decoder=decoder).fit(X, y)
    predicted = model.predict(X_new)
    assert np.mean(predicted == y_new) > 0.85
    assert np.array_equal(model.predict(X_new[100:130]), predicted[100:130])
    assert np.array_equal(model.classes_[model.decision_function(X_new).argmax(axis=1)], predicted)
    assert np.array_equal(model.classes_[model.predict_proba(X_new).argmax(axis=1)], predicted)


@pytest.mark.parametrize("size", [2, 4, 7])
def test_probabilities_are_not_far_behind_those_of_the_estimator(size, digits):
    X, y, X_new, y_new = digits

    def loss(model):
        return -np.log(model.fit(X, y).predict_proba(X_new)[np.arange(len(y_new)), y_new]).mean()

    assert loss(PanelClassifier(LOGISTIC, size=size)) < 2 * loss(LOGISTIC)


@pytest.mark.parametrize("size", [2, 4, 5])
@pytest.mark.parametrize("probabilities", [False, True])
def test_predictions_of_the_authority_vote_are_the_decoded_votes(size, probabilities, named):
    X, y, X_new, _ = named
    model = PanelClassifier(LOGISTIC, size=size, decoder="authority").fit(X, y)
    votes = model.votes(X_new, probabilities=probabilities)
    assert votes.soft == probabilities
    labels, predicted = decode(votes, method="authority"), model.predict(X_new)
    decided = labels.index >= 0
    assert 0 < (~decided).sum() < len(decided)
    assert np.array_equal(labels.value[decided], predicted[decided])
    for item in np.flatnonzero(~decided):
        assert predicted[item] in labels.tied_classes(item)
    default = decode(model.votes(X_new))
    assert np.array_equal(default.value[~default.tied], predicted[~default.tied])


class Sure:
    """A model that gives every item the same probabilities."""

    def __init__(self, classes, chances):
        self.classes_, self.chances = np.array(classes), np.array(chances)

    def predict(self, X):
        return np.full(len(X), self.classes_[self.chances.argmax()])

    def predict_proba(self, X):
        return np.tile(self.chances, (len(X), 1))


class Says:
    """A model that gives every item the same answer."""

    def __init__(self, classes, answer):
        self.classes_, self.answer = np.array(classes), answer

    def predict(self, X):
        return np.full(len(X), self.answer)


@pytest.mark.parametrize("decoder", ["fused", "authority"])
def test_a_class_with_the_votes_of_all_its_authorities_wins_whatever_the_probabilities(decoder):
    """Ten classes, pairs: the authorities of 0 are hardly sure, all others are certain of nonsense."""
    panel = Panel.from_blocks(list(range(10)), itertools.combinations(range(10), 2))
    models = [
        Sure(
            known, [0.51, 0.49] if known[0] == 0 else [0.9999, 0.0001] if known[0] == 1 else [0.5001, 0.4999]
        )
        for known in panel.blocks()
    ]
    model = PanelClassifier.from_experts(panel, models, decoder=decoder)
    assert model.predict(np.zeros((3, 1))).tolist() == [0, 0, 0]
    assert model.predict_proba(np.zeros((1, 1))).argmax() == 0


class Counted(Sure):
    """Counts the items about which it is asked for labels, and for probabilities."""

    labelled = asked = 0

    def predict(self, X):
        Counted.labelled += len(X)
        return self.classes_[(X[:, 0] > self.chances[0]).astype(int)]

    def predict_proba(self, X):
        Counted.asked += len(X)
        return super().predict_proba(X)


def test_probabilities_are_asked_for_only_where_the_votes_leave_doubt():
    panel = Panel(3, [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    models = [Counted(known, [0.6, 0.4]) for known in panel.blocks()]
    model = PanelClassifier.from_experts(panel, models)
    X = np.linspace(0, 1, 20)[:, None]  # up to 0.6 all say their first class, then their last: no doubt
    assert model.predict(X).tolist() == [0] * 12 + [2] * 8
    assert Counted.asked == 0
    models[2].chances = np.array([0.4, 0.6])  # between 0.4 and 0.6 every class has one vote
    Counted.labelled = 0
    model.predict(X)
    assert (Counted.labelled, Counted.asked) == (3 * 20, 3 * 4)
    assert model.classes_[model.decision_function(X).argmax(axis=1)].tolist() == model.predict(X).tolist()


def test_an_expert_cannot_know_more_classes_than_there_are(named):
    X, y, _, _ = named
    with pytest.raises(InputError, match=r"size=11 is more than the 10 classes in y; with size=10"):
        PanelClassifier(LOGISTIC, size=11).fit(X, y)


def test_items_are_labelled_in_parts(monkeypatch, named):
    X, y, X_new, _ = named
    model = PanelClassifier(LOGISTIC, size=4).fit(X, y)
    expected = model.predict(X_new), model.predict_proba(X_new), model.decision_function(X_new)
    monkeypatch.setattr(fitted_panel, "MOST_VOTES", 700)
    assert np.array_equal(model.predict(X_new), expected[0])
    assert np.allclose(model.predict_proba(X_new), expected[1])
    assert np.allclose(model.decision_function(X_new), expected[2])


def test_scores_of_many_authorities_do_not_overflow():
    panel = Panel(2, np.ones((200, 2), dtype=bool))
    models = [Says([0, 1], int(i < 150)) for i in range(200)]
    model = PanelClassifier.from_experts(panel, models, decoder="authority")
    score = model.decision_function(np.zeros((3, 1)))
    assert np.allclose(score, 100, atol=0.5)  # 150 votes against 50


# Among other scikit-learn things


def test_probabilities_of_an_expert_are_its_own_or_the_softmax_of_its_decision_function(named):
    X, y, new, _ = named
    known = [range(4), range(3, 7), range(5, 10), range(2, 9)]
    names = np.unique(y).tolist()
    panel = Panel.from_blocks(names, [[names[k] for k in mine] for mine in known])
    mixed = [LinearSVC(random_state=0), GaussianNB(), LinearSVC(C=0.1, random_state=0), Perceptron()]
    with pytest.warns(UserWarning, match="no common expert"):
        model = PanelClassifier(mixed, panel=panel).fit(X, y)
    expected = [
        expert.predict_proba(new)
        if hasattr(expert, "predict_proba")
        else softmax(expert.decision_function(new), axis=1)
        for expert in model.experts_
    ]
    votes = model.votes(new, probabilities=True).to_ragged()
    given = np.asarray(votes.class_probability).reshape(len(new), -1)
    np.testing.assert_allclose(given, np.concatenate(expected, axis=1), rtol=1e-4, atol=1e-6)


def test_a_weight_of_zero_is_a_missing_row(named):
    X, y, X_new, _ = named
    weight = np.arange(len(y)) % 3 > 0
    weighted = PanelClassifier(GaussianNB(), size=4).fit(X, y, sample_weight=weight)
    removed = PanelClassifier(GaussianNB(), size=4).fit(X[weight], y[weight])
    assert np.array_equal(weighted.predict(X_new), removed.predict(X_new))
    with pytest.raises(InputError, match="KNeighborsClassifier takes no sample_weight"):
        PanelClassifier(KNeighborsClassifier(), size=4).fit(X, y, sample_weight=weight)


def test_a_step_of_a_pipeline_with_a_search_over_it(named):
    X, y, X_new, y_new = named
    pipeline = make_pipeline(StandardScaler(), PanelClassifier(LOGISTIC))
    grid = {"panelclassifier__size": [2, 5], "panelclassifier__decoder": ["authority", "fused"]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(X[:300], y[:300])
    assert search.score(X_new, y_new) > 0.85
    nested = clone(search.best_estimator_).set_params(panelclassifier__estimator__C=0.1)
    assert cross_val_score(nested, X[:300], y[:300], cv=2).mean() > 0.8


def test_it_survives_pickle(named):
    X, y, X_new, _ = named
    model = PanelClassifier(LOGISTIC, size=4).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X_new), model.predict_proba(X_new))


def test_processes_train_the_same_experts(named):
    X, y, X_new, _ = named
    one, two = (PanelClassifier(LOGISTIC, size=4, n_jobs=jobs).fit(X, y) for jobs in (1, 2))
    assert np.array_equal(one.decision_function(X_new), two.decision_function(X_new))
