"""PanelClassifier: between one-versus-one and the estimator itself."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csc_array, csr_array
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsOneClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import covote
from covote import design
from covote.errors import InputError
from covote.learn import PanelClassifier
from tests.unit.learn.experts import LOGISTIC, Remembers


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
    pairs = PanelClassifier(estimator, size=2, decoder="authority").fit(X, y)
    theirs = OneVsOneClassifier(estimator).fit(X, y)
    assert np.array_equal(pairs.predict(X_new), theirs.predict(X_new))
    assert np.allclose(pairs.decision_function(X_new), theirs.decision_function(X_new))


def test_one_versus_one_votes_of_estimators_with_probabilities_only(named):
    """Their ties are decided differently: OneVsOneClassifier prefers later classes there."""
    X, y, X_new, _ = named
    pairs = PanelClassifier(DecisionTreeClassifier(random_state=0), size=2, decoder="authority").fit(X, y)
    theirs = OneVsOneClassifier(DecisionTreeClassifier(random_state=0)).fit(X, y)
    votes = np.rint(theirs.decision_function(X_new))
    assert np.array_equal(np.rint(pairs.decision_function(X_new)), votes)
    decided = (votes == votes.max(axis=1, keepdims=True)).sum(axis=1) == 1
    assert 0 < (~decided).sum() < len(votes) / 4
    assert np.array_equal(pairs.predict(X_new)[decided], theirs.predict(X_new)[decided])


@pytest.mark.parametrize(
    "estimator",
    [LOGISTIC, LinearSVC(random_state=0), RandomForestClassifier(10, random_state=0), GaussianNB()],
    ids=lambda estimator: type(estimator).__name__,
)
def test_experts_of_all_classes_are_the_estimator_itself(estimator, named):
    X, y, X_new, _ = named
    whole, alone = PanelClassifier(estimator, size=10, random_state=3).fit(X, y), clone(estimator).fit(X, y)
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
def test_votes_are_what_the_experts_say_by_name(estimator, named):
    X, y, X_new, _ = named
    model = PanelClassifier(estimator, size=7).fit(X, y)
    for column, expert in zip(model.votes(X_new).by_expert, model.experts_, strict=True):
        assert np.array_equal(model.classes_[column], expert.predict(X_new))
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
    assert PanelClassifier(GaussianNB(), size=4, redundancy=2).fit(X, y).panel_.covers(2)
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


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_items_without_a_class_are_named(missing):
    y = np.array(["a", "b", missing] * 8, dtype=object)
    for labels in (y, y.tolist(), pd.Series(y)):
        with pytest.raises(InputError, match=r"no class for 8 of 24 items .*first at position 2"):
            PanelClassifier(GaussianNB()).fit(np.ones((24, 2)), labels)
    y[2::3] = 3
    with pytest.raises(InputError, match="labels that are text, 'a', and others, 3"):
        PanelClassifier(GaussianNB()).fit(np.ones((24, 2)), y)


@pytest.mark.parametrize("size", [2.5, 2.0, float("nan"), [2, 2.5], True, {}, [], "two"])
def test_sizes_are_whole_numbers(size):
    with pytest.raises(InputError, match=r"cannot parse size=.*give a number of classes"):
        PanelClassifier(GaussianNB(), size=size).fit(np.eye(6), [0, 1, 2] * 2)


def test_every_item_has_a_label_and_every_label_an_item():
    X = np.repeat([[0.0, 0], [5, 0], [0, 5]], 10, axis=0)
    texts = ["cat", "dog", "fox"] * 10
    for items in (X, pd.DataFrame(X, columns=["a", "b"]), pd.DataFrame({"text": texts}), texts, csr_array(X)):
        for labels in (np.arange(24) % 3, pd.Series(np.arange(24) % 3), np.arange(31) % 3):
            with pytest.raises(ValueError, match="inconsistent numbers of samples"):
                PanelClassifier(GaussianNB()).fit(items, labels)


def test_two_classes_and_one():
    X, y = np.array([[0.0], [1], [5], [6]]), np.array(["low", "low", "high", "high"])
    both = PanelClassifier(LOGISTIC, size=2, redundancy=2).fit(X, y)
    assert both.predict([[0.5], [5.5]]).tolist() == ["low", "high"]
    assert (both.decision_function([[0.5], [5.5]]) > 0).tolist() == [True, False]
    one = PanelClassifier(LOGISTIC).fit(X[:2], y[:2])
    assert one.predict([[0.5], [5.5]]).tolist() == ["low", "low"]
    assert one.predict_proba([[9.0]]).tolist() == [[1]]
    assert one.decision_function([[9.0]]).tolist() == [0]
