"""What a classifier is given: items and labels, estimators and weights, models of others.

Items are arrays, sparse matrices, data frames or lists of texts.

Arrays and sparse matrices are checked here once, so that a thousand experts need not check them a thousand
times. Data frames and texts reach the experts as they are: pipelines look for columns by name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing, get_tags  # nothing public takes rows of any kind of X
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    check_array,
    check_consistent_length,
    column_or_1d,
    has_fit_parameter,
    validate_data,
)

from covote.errors import InputError
from covote.panel import Name, Panel


def training_data(classifier: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """Check data to learn from, and remember the features."""
    if y is not None:
        _check_labels(np.asarray(y, dtype=None if hasattr(y, "dtype") else object))
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


def _check_labels(y: NDArray[Any]) -> None:
    """Reject labels that are missing, or that cannot be sorted."""
    if y.dtype.kind != "O" or y.ndim != 1:
        return  # the rest is checked by scikit-learn
    missing = [n for n, label in enumerate(y.tolist()) if _is_missing(label)]
    if missing:
        raise InputError(
            f"y has no class for {len(missing)} of {len(y)} items (Input contains NaN or None, first at "
            f"position {missing[0]}); leave these items out"
        )
    kinds = {str if isinstance(label, str) else float for label in y.tolist()}
    if len(kinds) > 1:
        text = next(label for label in y if isinstance(label, str))
        other = next(label for label in y if not isinstance(label, str))
        raise InputError(f"y has labels that are text, {text!r}, and others, {other!r}; write all as text")


def _is_missing(label: Any) -> bool:
    return label is None or type(label).__name__ == "NAType" or label != label  # pandas.NA equals nothing


def new_data(classifier: Any, X: Any) -> Any:
    """Check data to label: the same features as in training."""
    if not hasattr(classifier, "n_features_in_"):
        return X
    if is_frame(X):
        return validate_data(classifier, X, reset=False, skip_check_array=True)
    return validate_data(classifier, X, reset=False, **_accepted(classifier))


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
    """Whether X is a list of texts or other things that are not numbers, for an estimator that takes them."""
    if hasattr(X, "ndim"):
        return bool(X.ndim == 1) and X.dtype.kind not in "fiubc"
    return isinstance(X, list | tuple) and all(isinstance(x, str | bytes | dict) for x in X)


def is_finite(X: Any) -> bool:
    """Whether X is an array or sparse matrix of numbers without NaN or infinity; if unknown, False."""
    values = X.data if hasattr(X, "toarray") else X
    if not isinstance(values, np.ndarray) or values.dtype.kind not in "fiub":
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum(dtype=np.float64)))


def count(X: Any) -> int:
    """Return how many items there are."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def take(X: Any, rows: NDArray[Any]) -> Any:
    """Return some items; all of them are not copied."""
    if len(rows) == count(X):
        return X
    return X[rows] if isinstance(X, np.ndarray) else _safe_indexing(X, rows)


# Estimators, their tags and their weights, as scikit-learn passes them around


def as_list(estimator: Any) -> list[Any]:
    """Return one estimator or several as a list."""
    return list(estimator) if isinstance(estimator, list | tuple) else [estimator]


def weights(estimators: Sequence[Any], X: Any, sample_weight: Any) -> NDArray[Any] | None:
    """Return the weight of each item, if there are weights and all estimators take them."""
    if sample_weight is None:
        return None
    for estimator in estimators:
        if not has_fit_parameter(estimator, "sample_weight"):
            raise InputError(f"{type(estimator).__name__} takes no sample_weight; leave it out")
    weight = np.full(count(X), sample_weight) if isinstance(sample_weight, Number) else sample_weight
    weight = check_array(weight, ensure_2d=False, dtype=[np.float64, np.float32], input_name="sample_weight")
    if weight.shape != (count(X),):
        raise InputError(
            f"sample_weight has the shape {weight.shape}; give one weight for each of {count(X)} items"
        )
    return np.asarray(weight)


def tags(own: Any, estimators: Sequence[Any]) -> Any:
    """Return tags that promise no more than all estimators keep."""
    every = [get_tags(estimator) for estimator in estimators if hasattr(estimator, "__sklearn_tags__")]
    if not every:
        return own
    kept, first = own.input_tags, every[0].input_tags
    kept.sparse = all(t.input_tags.sparse for t in every)
    kept.allow_nan = all(t.input_tags.allow_nan for t in every)
    kept.positive_only = any(t.input_tags.positive_only for t in every)
    kept.one_d_array, kept.two_d_array = first.one_d_array, first.two_d_array
    kept.string, kept.categorical = first.string, first.categorical
    own.classifier_tags.poor_score = any(t.classifier_tags and t.classifier_tags.poor_score for t in every)
    own.non_deterministic = any(t.non_deterministic for t in every)
    return own


def by_expert(panel: Panel, fitted: Sequence[Any] | Mapping[Name, Any]) -> list[Any]:
    """Return the models in the order of the panel's experts."""
    if isinstance(fitted, Mapping):
        missing = [name for name in panel.names if name not in fitted]
        if missing:
            raise InputError(
                f"no model for expert {missing[0]!r} ({len(missing)} missing); add it, or take "
                "panel.without(...)"
            )
        for name in fitted:
            panel.expert_index(name)
        models = [fitted[name] for name in panel.names]
    else:
        models = list(fitted)
    if len(models) != len(panel):
        raise InputError(
            f"{len(models)} models for {len(panel)} experts; give one each, in the order of panel.names"
        )
    for name, model in zip(panel.names, models, strict=True):
        if not hasattr(model, "predict"):
            raise InputError(f"the model of expert {name!r} cannot be asked: {model!r} has no method predict")
    return models


def class_array(classes: Iterable[Name]) -> NDArray[Any]:
    """Return the classes as labels: sorted, if they are all strings or all integers."""
    values = list(classes)
    if len({type(value) for value in values}) == 1:
        return np.array(sorted(values))
    mixed = np.empty(len(values), dtype=object)
    mixed[:] = values
    return mixed
