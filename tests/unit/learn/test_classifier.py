"""PanelClassifier: between one-versus-one and the estimator itself."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import covote
from covote import Panel, decode, design
from covote.errors import InputError, UnknownNameError
from covote.learn import PanelClassifier, fusing, hearing

LOGISTIC = LogisticRegression(max_iter=500)


class Remembers(ClassifierMixin, BaseEstimator):
    """Answer with the commonest class, and remember what was seen."""

    def fit(self, X, y, colour=None):
        self.classes_, count = np.unique(y, return_counts=True)
        self.seen_, self.colour_, self.rows_ = X, colour, len(y)
        self.answer_ = self.classes_[count.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.answer_)


def test_it_is_a_public_name():
    assert covote.PanelClassifier is PanelClassifier
    with pytest.raises(AttributeError, match="no attribute 'PanelClasifier'"):
        _ = covote.PanelClasifier


# Both ends


@pytest.mark.parametrize(
    "estimator",
    [LOGISTIC, LinearSVC(random_state=0), HistGradientBoostingClassifier(max_iter=3), SVC()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_experts_of_two_classes_are_one_versus_one(estimator, named):
    X, y, X_new, _ = named
    pairs = PanelClassifier(estimator, size=2).fit(X, y)
    theirs = OneVsOneClassifier(estimator).fit(X, y)
    assert np.array_equal(pairs.predict(X_new), theirs.predict(X_new))
    assert np.allclose(pairs.decision_function(X_new), theirs.decision_function(X_new))


def test_one_versus_one_votes_of_estimators_with_probabilities_only(named):
    """Their ties are decided differently: OneVsOneClassifier prefers later classes there."""
    X, y, X_new, _ = named
    pairs = PanelClassifier(DecisionTreeClassifier(random_state=0), size=2).fit(X, y)
    theirs = OneVsOneClassifier(DecisionTreeClassifier(random_state=0)).fit(X, y)
    votes = np.rint(theirs.decision_function(X_new))
    assert np.array_equal(np.rint(pairs.decision_function(X_new)), votes)
    decided = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
    assert 0 < (~decided).sum() < len(votes) / 4
    assert np.array_equal(pairs.predict(X_new)[decided], theirs.predict(X_new)[decided])


@pytest.mark.parametrize("size", [10, 99])
@pytest.mark.parametrize(
    "estimator",
    [LOGISTIC, LinearSVC(random_state=0), RandomForestClassifier(10, random_state=0), GaussianNB()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_experts_of_all_classes_are_the_estimator_itself(estimator, size, named):
    X, y, X_new, _ = named
    whole, alone = PanelClassifier(estimator, size=size, random_state=3).fit(X, y), clone(estimator).fit(X, y)
    assert len(whole.experts_) == 1
    for method in ("predict", "predict_proba", "predict_log_proba", "decision_function"):
        assert hasattr(whole, method) == (hasattr(alone, method) or method == "decision_function")
        if hasattr(alone, method):
            with np.errstate(divide="ignore"):
                assert np.array_equal(getattr(whole, method)(X_new), getattr(alone, method)(X_new))


def test_between_the_ends_nothing_is_lost(digits):
    X, y, X_new, y_new = digits
    accuracy = {size: PanelClassifier(LOGISTIC, size=size).fit(X, y).score(X_new, y_new) for size in (4, 10)}
    assert accuracy[4] > accuracy[10] - 0.005


# Who learns what


def test_every_expert_sees_only_the_classes_it_knows(named):
    X, y, _, _ = named
    model = PanelClassifier(Remembers(), size=4, random_state=1).fit(X, y)
    assert model.panel_.covers()
    assert model.classes_.tolist() == sorted(set(y))
    assert model.panel_.classes == tuple(model.classes_)
    for expert, known in zip(model.experts_, model.panel_.blocks(), strict=True):
        assert expert.classes_.tolist() == list(known)
        assert np.array_equal(expert.seen_, X[np.isin(y, known)])  # in the order of the data


@pytest.mark.parametrize(
    "estimator",
    [LOGISTIC, LinearSVC(random_state=0), SVC(), RandomForestClassifier(5, random_state=0), GaussianNB(),
     DecisionTreeClassifier(random_state=0), HistGradientBoostingClassifier(max_iter=2)],
    ids=lambda estimator: type(estimator).__name__,
)  # fmt: skip
def test_experts_asked_for_indices_answer_what_they_say_by_name(estimator, named):
    X, y, X_new, _ = named
    model = PanelClassifier(estimator, size=7).fit(X, y)
    for voice, expert in zip(model._hearing.voices, model.experts_, strict=True):
        assert voice.twin is not None
        assert np.array_equal(model.classes_[voice.votes(X_new)], expert.predict(X_new))
        assert expert.classes_.dtype == y.dtype  # the expert itself keeps its names


def test_a_list_of_estimators_is_a_mixed_panel(digits):
    X, y, X_new, y_new = digits
    kinds = [LOGISTIC, GaussianNB(), LinearSVC(random_state=0)]
    model = PanelClassifier(kinds, size=4).fit(X, y)
    assert [type(e) for e in model.experts_[:4]] == [
        LogisticRegression,
        GaussianNB,
        LinearSVC,
        LogisticRegression,
    ]
    assert model.score(X_new, y_new) > 0.85
    probability = model.predict_proba(X_new)
    assert np.allclose(probability.sum(axis=1), 1)
    assert np.array_equal(model.classes_[probability.argmax(axis=1)], model.predict(X_new))
    assert isinstance(clone(model).estimator[0], LogisticRegression)


def test_the_panel_has_the_given_size_times_and_method(digits):
    X, y, _, _ = digits
    assert len(PanelClassifier(GaussianNB(), size=4).fit(X, y).panel_) == 9
    assert PanelClassifier(GaussianNB(), size=4, times=2).fit(X, y).panel_.covers(2)
    paper = PanelClassifier(GaussianNB(), size=4, method="paper").fit(X, y)
    assert np.array_equal(paper.panel_.knows, design(10, 4, method="paper").knows)
    assert set(PanelClassifier(GaussianNB()).fit(X, y).panel_.sizes) == {4}
    assert sorted(PanelClassifier(GaussianNB(), size=[7, 7, 7, 7, 7]).fit(X, y).panel_.sizes)[0] <= 7


def test_seeds_fill_what_the_estimator_left_open(digits):
    X, y, X_new, _ = digits
    open_tree = RandomForestClassifier(3)
    one, two = (PanelClassifier(open_tree, size=4, random_state=5).fit(X, y) for _ in range(2))
    assert np.array_equal(one.predict(X_new), two.predict(X_new))
    states = [expert.random_state for expert in one.experts_]
    assert len(set(states)) == len(states)
    fixed = PanelClassifier(RandomForestClassifier(3, random_state=8), size=4, random_state=5).fit(X, y)
    assert {expert.random_state for expert in fixed.experts_} == {8}
    untouched = PanelClassifier(open_tree, size=4).fit(X, y)
    assert {expert.random_state for expert in untouched.experts_} == {None}


# What X and y may be


@pytest.mark.parametrize("container", [csr_array, csc_array])
def test_sparse_items(container, named):
    X, y, X_new, _ = named
    dense, sparse = (PanelClassifier(LOGISTIC, size=4).fit(data, y) for data in (X, container(X)))
    assert np.mean(dense.predict(X_new) == sparse.predict(container(X_new))) > 0.99


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_keep_their_names(frame, named):
    X, y, X_new, _ = named
    columns = [f"pixel {i}" for i in range(64)]
    table, new = (frame(dict(zip(columns, data.T, strict=True))) for data in (X, X_new))
    model = PanelClassifier(LOGISTIC, size=4).fit(table, y)
    assert model.feature_names_in_.tolist() == columns
    assert model.experts_[0].feature_names_in_.tolist() == columns
    assert np.array_equal(model.predict(new), PanelClassifier(LOGISTIC, size=4).fit(X, y).predict(X_new))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(new[columns[::-1]])


def test_experts_that_look_for_columns_by_name():
    table = pd.DataFrame({"coat": list("abcabc") * 8, "legs": [2.0, 4.0, 0.0] * 16})
    y = np.array(["bird", "dog", "fish"] * 16)
    expert = make_pipeline(
        make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["coat"]), remainder="passthrough"),
        LOGISTIC,
    )
    assert PanelClassifier(expert, size=2).fit(table, y).score(table, y) == 1


def test_texts():
    words = {"cash": "atm note", "card": "chip pin", "loan": "rate term"}
    texts = [f"{word} {n}" for pair in words.values() for word in pair.split() for n in range(5)]
    y = [name for name, pair in words.items() for _ in pair.split() for _ in range(5)]
    model = PanelClassifier(make_pipeline(TfidfVectorizer(), LOGISTIC), size=2).fit(texts, y)
    assert model.predict(["about the rate", "my pin please"]).tolist() == ["loan", "card"]
    assert len(model.experts_[0][0].vocabulary_) < 4 + 5  # it never saw the words of the third class
    with pytest.raises(InputError, match="0 items"):
        clone(model).fit([], [])


@pytest.mark.parametrize(
    "labels",
    [[1.0, 2.0, 3.0], ["", "a", "b"], [-3, 7, 40], ["ä", "ß", "名"]],
    ids=["float", "empty", "int", "unicode"],
)
def test_labels_of_all_kinds(labels):
    X = np.repeat([[0.0, 0], [5, 0], [0, 5]], 8, axis=0) + np.arange(24)[:, None] / 50
    y = np.repeat(labels, 8)
    model = PanelClassifier(GaussianNB(), size=2).fit(X, y)
    assert np.array_equal(model.predict(X), y)
    assert model.predict(X).dtype == y.dtype


def test_a_precomputed_kernel(digits):
    X, y, X_new, _ = digits
    X, y, X_new = X[:300], y[:300], X_new[:100]
    kernel = {"gamma": 0.1}
    square, new = rbf_kernel(X, X, **kernel), rbf_kernel(X_new, X, **kernel)
    given = PanelClassifier(SVC(kernel="precomputed"), size=4).fit(square, y)
    assert np.array_equal(given.predict(new), PanelClassifier(SVC(**kernel), size=4).fit(X, y).predict(X_new))


def test_two_classes_and_one():
    X, y = np.array([[0.0], [1], [5], [6]]), np.array(["low", "low", "high", "high"])
    both = PanelClassifier(LOGISTIC, size=2, times=2).fit(X, y)
    assert both.predict([[0.5], [5.5]]).tolist() == ["low", "high"]
    assert (both.decision_function([[0.5], [5.5]]) > 0).tolist() == [True, False]
    one = PanelClassifier(LOGISTIC).fit(X[:2], y[:2])
    assert one.predict([[0.5], [5.5]]).tolist() == ["low", "low"]
    assert one.predict_proba([[9.0]]).tolist() == [[1]]
    assert one.decision_function([[9.0]]).tolist() == [0]


# Given panels

ANIMALS = Panel(
    ["dog", "cat", "fox", "owl"], [[1, 1, 1, 0], [0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
)


@pytest.fixture
def animals():
    X = np.repeat([[0.0, 0], [5, 0], [0, 5], [5, 5]], 6, axis=0) + np.arange(24)[:, None] / 30
    return X, np.repeat(["dog", "cat", "fox", "owl"], 6)


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
        ({"estimator": StandardScaler()}, "no classifier"),
        ({"size": 1}, "size"),
        ({"times": 0}, "times"),
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
    with pytest.raises(InputError, match="learns from training data"):
        PanelClassifier.from_experts(panel, [Answers("a"), Answers("b")], decoder="em")


@pytest.mark.parametrize("decoder", ["authority", "soft", "em"])
def test_an_outage_is_a_panel_without_the_expert(decoder, named):
    X, y, X_new, y_new = named
    whole = PanelClassifier(LOGISTIC, size=4, decoder=decoder).fit(X, y)
    left = whole.without_expert("expert-2", "expert-7")
    assert left.panel_ == whole.panel_.without("expert-2", "expert-7")
    assert len(whole.experts_) == len(left.experts_) + 2
    assert 0.85 < left.score(X_new, y_new) <= whole.score(X_new, y_new)
    if decoder != "em":  # which learns from all experts' votes
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


# Decoders and probabilities


@pytest.mark.parametrize(
    "decoder",
    [
        "authority",
        "soft",
        "coupling",
        "mean",
        "pairwise",
        "likelihood",
        "lookup",
        "anchored",
        "em",
        "supervised",
    ],
)
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


def test_votes_can_be_decoded_with_their_evidence(named):
    X, y, X_new, _ = named
    model = PanelClassifier(LOGISTIC, size=4).fit(X, y)
    labels = decode(model.votes(X_new), ties="report")
    decided = labels.index >= 0
    assert np.array_equal(labels.value[decided], model.predict(X_new)[decided])
    assert 0 < decided.sum() < len(decided)
    assert model.votes(X_new, probabilities=True).soft


def test_many_votes_are_counted_by_the_decoder_and_in_parts(monkeypatch, named):
    X, y, X_new, _ = named
    model = PanelClassifier(LOGISTIC, size=4).fit(X, y)
    expected = model.predict(X_new), model.predict_proba(X_new), model.decision_function(X_new)
    monkeypatch.setattr(fusing, "FEW_VOTES", 0)
    assert np.array_equal(model.predict(X_new), expected[0])
    monkeypatch.setattr(hearing, "MOST_VOTES", 700)
    assert np.array_equal(model.predict(X_new), expected[0])
    assert np.allclose(model.predict_proba(X_new), expected[1])
    assert np.allclose(model.decision_function(X_new), expected[2])


# Among other scikit-learn things


def test_a_weight_of_zero_is_a_missing_row(named):
    X, y, X_new, _ = named
    weight = np.arange(len(y)) % 3 > 0
    weighted = PanelClassifier(GaussianNB(), size=4).fit(X, y, sample_weight=weight)
    removed = PanelClassifier(GaussianNB(), size=4).fit(X[weight], y[weight])
    assert np.array_equal(weighted.predict(X_new), removed.predict(X_new))
    with pytest.raises(InputError, match="KNeighborsClassifier takes no sample_weight"):
        PanelClassifier(KNeighborsClassifier(), size=4).fit(X, y, sample_weight=weight)


def test_metadata_goes_to_the_experts_that_ask_for_it(named):
    X, y, X_new, _ = named
    weight = np.arange(len(y)) % 3 > 0
    with config_context(enable_metadata_routing=True):
        asks = GaussianNB().set_fit_request(sample_weight=True)
        weighted = PanelClassifier(asks, size=4).fit(X, y, sample_weight=weight)
        ignores = PanelClassifier(GaussianNB().set_fit_request(sample_weight=False), size=4)
        with pytest.raises(TypeError, match="not routed to any object"):
            ignores.fit(X, y, sample_weight=weight)
        with pytest.raises(UnsetMetadataPassedError):
            PanelClassifier(GaussianNB(), size=4).fit(X, y, sample_weight=weight)
        mixed = [Remembers().set_fit_request(colour=True), Remembers().set_fit_request(colour=False)]
        mixed = PanelClassifier(mixed, size=4).fit(X, y, colour=np.arange(len(y)))
        scored = PanelClassifier(asks).set_score_request(sample_weight=True)
        search = GridSearchCV(scored, {"size": [2, 4]}, cv=2).fit(X, y, sample_weight=weight)
    plain = PanelClassifier(GaussianNB(), size=4)
    assert np.array_equal(
        weighted.predict(X_new), clone(plain).fit(X, y, sample_weight=weight).predict(X_new)
    )
    assert mixed.experts_[1].colour_ is None
    assert len(mixed.experts_[0].colour_) == mixed.experts_[0].rows_
    assert search.best_params_["size"] in (2, 4)


def test_without_routing_unknown_metadata_is_refused(named):
    X, y, _, _ = named
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        PanelClassifier(Remembers(), size=4).fit(X, y, colour=np.arange(len(y)))


def test_a_step_of_a_pipeline_with_a_search_over_it(named):
    X, y, X_new, y_new = named
    pipeline = make_pipeline(StandardScaler(), PanelClassifier(LOGISTIC))
    grid = {"panelclassifier__size": [2, 5], "panelclassifier__decoder": ["authority", "coupling"]}
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


def test_progress_is_shown_on_request(capsys, animals):
    PanelClassifier(GaussianNB(), size=2).fit(*animals)
    assert capsys.readouterr().err == ""
    PanelClassifier(GaussianNB(), size=2, verbose=1).fit(*animals)
    assert "6 of 6 experts trained" in capsys.readouterr().err
    PanelClassifier(GaussianNB(), size=2, verbose=2).fit(*animals)
    assert capsys.readouterr().err.count("experts trained") == 6
