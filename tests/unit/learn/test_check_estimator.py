"""scikit-learn's own checks, all of them, on panels of several sizes and estimators."""

import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from covote.learn import PanelClassifier

CLASSIFIERS = [
    PanelClassifier(LogisticRegression()),
    PanelClassifier(LogisticRegression(), size=2),
    PanelClassifier(DecisionTreeClassifier(), size=2, redundancy=2, random_state=0),
    PanelClassifier(GaussianNB(), size=2, decoder="authority"),
    PanelClassifier([LogisticRegression(), GaussianNB()], size=2),
    PanelClassifier(HistGradientBoostingClassifier(max_iter=3), size=2, decoder="authority"),
    PanelClassifier(LinearSVC(), size=2),
    PanelClassifier(LogisticRegression(), size="auto"),
]


def weights_are_not_repeated_rows(classifier):
    """Return why a weight of 2 is not the same as a row that is there twice, where it is not."""
    reason = ""
    if isinstance(classifier.estimator, LinearSVC):
        reason = "LinearSVC shuffles rows, and does not pass it on its own"
    elif classifier.size == "auto":
        reason = "cross-validation splits rows, as in GridSearchCV, which does not pass it either"
    checks = (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    )
    return dict.fromkeys(checks, reason) if reason else {}


# A class of weight 0 makes GaussianNB, on its own too, take the logarithm of 0.
@pytest.mark.filterwarnings("ignore:divide by zero encountered in log:RuntimeWarning")
@parametrize_with_checks(CLASSIFIERS, expected_failed_checks=weights_are_not_repeated_rows)
def test_scikit_learn_finds_nothing_to_complain_about(estimator, check):
    check(estimator)
