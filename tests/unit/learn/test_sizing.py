"""The size of the experts, chosen by cross-validation."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.tree import DecisionTreeClassifier

from covote import PanelClassifier
from covote.errors import InputError


def test_the_report_has_the_accuracy_of_every_size_and_the_cheapest_good_one_is_chosen(digits):
    X, y, X_new, _ = digits
    X, y = X[:300], y[:300]
    model = PanelClassifier(DecisionTreeClassifier(), size="auto", random_state=0).fit(X, y)
    report = model.size_report_
    assert [one.size for one in report.candidates] == [2, 4, 5, 10]
    assert [one.experts for one in report.candidates][::3] == [45, 1]
    found = {}
    for one in report.candidates:
        fixed = PanelClassifier(DecisionTreeClassifier(), size=one.size, random_state=0)
        rounds = [StratifiedKFold(5, shuffle=True, random_state=number) for number in range(one.folds // 5)]
        found[one.size] = np.concatenate([cross_val_score(fixed, X, y, cv=folds) for folds in rounds])
        assert one.accuracy == pytest.approx(found[one.size].mean())
    assert {one.size: one.folds for one in report.candidates} == {2: 10, 4: 10, 5: 5, 10: 5}
    first = {size: accuracy[:5] for size, accuracy in found.items()}
    leader = max(first, key=lambda size: first[size].mean())
    for one in report.candidates:
        behind = first[leader] - first[one.size]
        surely = behind.mean() > 2 * behind.std(ddof=1) / np.sqrt(5)
        assert (one.folds == 5) == surely
    tried_twice = [one for one in report.candidates if one.folds == 10]
    best = max(one.accuracy for one in tried_twice)
    good = [one for one in tried_twice if one.accuracy >= best - 0.001]
    assert report.size == min(good, key=lambda one: one.rows).size
    assert f"{best:.1%}" in report.reason
    same = PanelClassifier(DecisionTreeClassifier(), size=report.size, random_state=0).fit(X, y)
    assert (model.predict(X_new) == same.predict(X_new)).all()


def test_the_fit_cost_is_the_rows_of_all_experts(animals):
    X, y = animals
    report = PanelClassifier(LogisticRegression(), size="auto").fit(X, y).size_report_
    cost = {one.size: one.rows for one in report.candidates}
    assert (cost[2], cost[4]) == (3 * len(y), len(y))  # each class is in three pairs
    assert report.size == 4  # all are perfect here
    assert f"trains on {len(y):,} rows instead of {3 * len(y):,}" in report.reason


def test_weights_reach_the_folds(animals):
    X, y = animals
    weight = np.where(np.arange(len(y)) % 2, 1.0, 0.5)
    assert (
        PanelClassifier(LogisticRegression(), size="auto").fit(X, y, sample_weight=weight).size_report_.size
    )


def test_a_class_with_one_item_cannot_be_cross_validated(animals):
    X, y = animals
    with pytest.raises(InputError, match="needs two items of every class"):
        PanelClassifier(LogisticRegression(), size="auto").fit(X[:19], y[:19])
    with pytest.raises(InputError, match="cannot parse size='large'"):
        PanelClassifier(LogisticRegression(), size="large").fit(X, y)
