"""PanelClassifier with panels and models that are given, and after outages."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler

from covote import Panel, design
from covote.errors import InputError, UnknownNameError
from covote.learn import PanelClassifier
from tests.unit.learn.experts import ANIMALS, LOGISTIC, Remembers

# Given panels


def test_a_given_panel_is_used_with_sorted_classes(animals):
    X, y = animals
    model = PanelClassifier(GaussianNB(), panel=ANIMALS).fit(X, y)
    assert model.panel_.classes == ("cat", "dog", "fox", "owl") == tuple(model.classes_)
    assert [set(known) for known in model.panel_.blocks()] == [set(known) for known in ANIMALS.blocks()]
    assert model.panel_.names == ANIMALS.names
    assert model.score(X, y) == 1


def test_an_expert_with_one_class_is_kept_and_changes_nothing(animals):
    X, y = animals
    model = PanelClassifier(GaussianNB(), panel=ANIMALS).fit(X, y)
    assert model.experts_[4].predict(X[:2]).tolist() == ["owl", "owl"]
    assert np.array_equal(model.decision_function(X), model.without_expert("expert-5").decision_function(X))
    assert model.votes(X).panel.names == ANIMALS.names[:4]
    alone = Panel(["cat", "dog", "fox", "owl"], np.eye(4))
    with pytest.raises(InputError, match="single class"), pytest.warns(UserWarning, match="no common expert"):
        PanelClassifier(GaussianNB(), panel=alone).fit(X, y)


def test_a_class_that_a_fold_does_not_have(animals):
    X, y = animals
    seen = y != "owl"
    model = PanelClassifier(GaussianNB(), panel=ANIMALS).fit(X[seen], y[seen])
    assert model.classes_.tolist() == ["cat", "dog", "fox"]
    assert model.panel_.names == ("expert-1", "expert-2", "expert-3", "expert-4")  # the fifth knows owls only
    assert model.score(X[seen], y[seen]) == 1


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        (["dog", "cat", "fox", "Owl"], "'owl' (did you mean 'Owl'?)"),
        ([1, 2, 3, 4], "4 of 4 classes that the panel does not have, such as 'cat'"),
    ],
)
def test_a_panel_of_other_classes_is_refused(classes, message, animals):
    with pytest.raises(InputError) as error:
        PanelClassifier(GaussianNB(), panel=Panel(classes, ANIMALS.knows)).fit(*animals)
    assert message in str(error.value)


def test_numbers_are_not_their_texts(digits):
    X, y, _, _ = digits
    panel = design([str(k) for k in range(10)], 4)
    with pytest.raises(InputError, match="there is '0', of type str"):
        PanelClassifier(GaussianNB(), panel=panel).fit(X, y)


def test_a_panel_that_does_not_cover_is_used_with_a_warning(animals):
    with pytest.warns(
        UserWarning, match=r"1 pairs of classes have no common expert, such as 'cat' and 'owl'"
    ):
        model = PanelClassifier(GaussianNB(), panel=ANIMALS.without("expert-2")).fit(*animals)
    assert model.score(*animals) > 0.9


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"size": 2, "panel": ANIMALS}, "not both"),
        ({"panel": [[0, 1]]}, "must be a covote.Panel"),
        ({"decoder": "magic"}, "no decoder 'magic'"),
        ({"estimator": []}, "empty"),
        ({"estimator": StandardScaler()}, "not a classifier"),
        ({"size": 1}, "size"),
        ({"redundancy": 0}, "redundancy"),
        ({"method": "magic"}, "magic"),
    ],
)
def test_wrong_parameters_are_explained(parameters, message, animals):
    with pytest.raises(InputError, match=message):
        PanelClassifier(**{"estimator": GaussianNB(), **parameters}).fit(*animals)


def test_an_error_names_the_expert(animals):
    X, y = animals
    with pytest.raises(ValueError, match="Negative") as error:
        PanelClassifier(covote_complaint(), size=2).fit(X, y)
    assert "while training expert 'expert-1' on 12 items" in error.value.__notes__


def covote_complaint():
    class Complains(Remembers):
        def fit(self, X, y):
            raise ValueError("Negative")

    return Complains()


# Models from elsewhere, and outages


def test_models_of_others_are_used_untouched(animals):
    X, y = animals
    models = [GaussianNB().fit(X[np.isin(y, known)], y[np.isin(y, known)]) for known in ANIMALS.blocks()[:4]]
    panel = ANIMALS.without("expert-5")
    before = [pickle.dumps(model) for model in models]
    given = PanelClassifier.from_experts(panel, models)
    by_name = PanelClassifier.from_experts(panel, dict(zip(panel.names, models, strict=True)))
    trained = PanelClassifier(GaussianNB(), panel=panel).fit(X, y)
    for other in (given, by_name):
        assert np.array_equal(other.predict_proba(X), trained.predict_proba(X))
        assert np.array_equal(other.predict(X), trained.predict(X))
    assert all(mine is theirs for mine, theirs in zip(given.experts_, models, strict=True))
    assert [pickle.dumps(model) for model in models] == before
    refitted = clone(given).fit(X, y)
    assert np.array_equal(refitted.predict(X), trained.predict(X))


class Answers:
    """A model that is no scikit-learn estimator and says nothing but its answers."""

    def __init__(self, *answers):
        self.answers = answers

    def predict(self, X):
        return [self.answers[int(x) % len(self.answers)] for x in X]


def test_models_need_only_answer():
    panel = Panel(["a", "b", "c"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    model = PanelClassifier.from_experts(
        panel, [Answers("a", "b", "a"), Answers("b", "b", "c"), Answers("a", "c", "c")]
    )
    assert model.predict([0, 1, 2]).tolist() == ["a", "b", "c"]
    assert not hasattr(model, "predict_proba")
    assert "PanelClassifier" in repr(model)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ([Answers("a")], "1 models for 2 experts"),
        ({"left": Answers("a")}, "no model for expert 'right'"),
        ([Answers("a"), "b"], "has no method predict"),
        (
            [Answers("a"), GaussianNB().fit([[0], [1]], ["a", "c"])],
            "'right' can answer 'a', which the expert does not",
        ),
    ],
)
def test_models_that_do_not_fit_the_panel_are_refused(models, message):
    panel = Panel(["a", "b", "c"], [[1, 1, 0], [0, 1, 1]], ["left", "right"])
    with pytest.raises(InputError, match=message):
        PanelClassifier.from_experts(panel, models)


def test_a_wrong_answer_of_a_model_is_named():
    panel = Panel(["a", "b", "c"], [[1, 1, 0], [0, 1, 1]], ["left", "right"])
    model = PanelClassifier.from_experts(panel, [Answers("a"), Answers("b", "lung")])
    with pytest.raises(InputError, match=r"'right' answered .*'lung'.* to item 1, which it does not know"):
        model.predict([0, 1])
    with pytest.raises(UnknownNameError, match="rigth"):
        PanelClassifier.from_experts(
            panel, {"left": Answers("a"), "right": Answers("b"), "rigth": Answers("b")}
        )
    with pytest.raises(InputError, match="choose 'fused' or 'authority'"):
        PanelClassifier.from_experts(panel, [Answers("a"), Answers("b")], decoder="em")


@pytest.mark.parametrize("decoder", ["authority", "fused"])
def test_an_outage_is_a_panel_without_the_expert(decoder, named):
    X, y, X_new, y_new = named
    whole = PanelClassifier(LOGISTIC, size=4, decoder=decoder).fit(X, y)
    left = whole.without_expert("expert-2", "expert-7")
    assert left.panel_ == whole.panel_.without("expert-2", "expert-7")
    assert len(whole.experts_) == len(left.experts_) + 2
    assert 0.85 < left.score(X_new, y_new) <= whole.score(X_new, y_new) + 0.01
    with pytest.warns(UserWarning, match="no common expert"):
        trained = PanelClassifier(LOGISTIC, panel=left.panel_, decoder=decoder).fit(X, y)
    assert np.array_equal(trained.predict(X_new), left.predict(X_new))


def test_an_outage_of_nobody_and_of_everybody(animals):
    model = PanelClassifier(GaussianNB(), size=2).fit(*animals)
    with pytest.raises(UnknownNameError, match="expert-99"):
        model.without_expert("expert-99")
    with pytest.raises(InputError, match="no expert is left"):
        model.without_expert(*model.panel_.names)
    with pytest.raises(NotFittedError):
        PanelClassifier(GaussianNB()).without_expert("expert-1")


def test_a_class_that_nobody_knows_any_more_is_not_predicted(animals):
    X, y = animals
    model = PanelClassifier(GaussianNB(), panel=ANIMALS).fit(X, y)
    left = model.without_expert("expert-2", "expert-3", "expert-4", "expert-5")
    assert set(left.predict(X)) == {"cat", "dog", "fox"}
    assert left.decision_function(X)[:, 3].max() < left.decision_function(X)[:, :3].min()
    assert left.predict_proba(X)[:, 3].max() == 0
