"""What X and y may be: arrays, sparse matrices, data frames, lists of texts.

Arrays and sparse matrices are checked here once, so that a thousand experts need not check them a thousand
times. Data frames and texts reach the experts as they are: pipelines look for columns by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, check_consistent_length, column_or_1d, validate_data

from covote.errors import InputError


def training_data(classifier: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Check data to learn from, and remember the features."""
    if y is not None and (is_frame(X) or is_list_of_things(X)):
        if len(X) == 0:
            raise InputError("there are 0 items; give at least one")
        validate_data(classifier, X, skip_check_array=True)
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
    else:
        X, y = validate_data(classifier, X, y, **_accepted(classifier))
    check_classification_targets(y)
    return X, y


def new_data(classifier: Any, X: Any) -> Any:
    """Check data to label: the same features as in training."""
    if not hasattr(classifier, "n_features_in_") or _as_in_training(classifier, X):
        return X
    if is_frame(X):
        return validate_data(classifier, X, reset=False, skip_check_array=True)
    return validate_data(classifier, X, reset=False, **_accepted(classifier))


def _as_in_training(classifier: Any, X: Any) -> bool:
    """Whether there is nothing that scikit-learn's check could refuse, warn of or convert.

    That check takes longer than a linear expert needs for a few items.
    """
    return (
        type(X) is np.ndarray
        and X.ndim == 2
        and X.dtype in (np.float32, np.float64)
        and len(X) > 0
        and X.shape[1] == classifier.n_features_in_
        and not hasattr(classifier, "feature_names_in_")
    )


def _accepted(classifier: Any) -> dict[str, Any]:
    """Say what an array may be. Whether NaN is welcome is for the estimator to say."""
    tags = get_tags(classifier).input_tags
    anything = tags.categorical or tags.string
    return {
        "accept_sparse": "csr",
        "ensure_all_finite": False,
        "dtype": None if anything else "numeric",
    }


def is_frame(X: Any) -> bool:
    """Whether X has named columns."""
    return hasattr(X, "columns") and hasattr(X, "shape")


def is_list_of_things(X: Any) -> bool:
    """Whether X is a list of texts or other things that are no numbers, for an estimator that takes them."""
    if hasattr(X, "ndim"):
        return bool(X.ndim == 1) and X.dtype.kind not in "fiubc"
    return isinstance(X, list | tuple) and all(isinstance(x, str | bytes | dict) for x in X)


def is_finite(X: Any) -> bool:
    """Whether X is an array or sparse matrix of numbers without NaN or infinity; if in doubt, no."""
    values = X.data if hasattr(X, "toarray") else X
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiub":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64)))


def count(X: Any) -> int:
    """Return how many items there are."""
    return int(_num_samples(X))


def take(X: Any, rows: NDArray[Any]) -> Any:
    """Return some items; all of them are not copied."""
    if len(rows) == count(X):
        return X
    return X[rows] if isinstance(X, np.ndarray) else _safe_indexing(X, rows)
