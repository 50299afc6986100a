"""Estimators, their tags and their metadata, as scikit-learn passes them around."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    _routing_enabled,
    process_routing,
)
from sklearn.utils.validation import _check_sample_weight, has_fit_parameter

from covote.errors import InputError
from covote.panel import Name, Panel


def listed(estimator: Any) -> list[Any]:
    """Return one estimator or several as a list."""
    return list(estimator) if isinstance(estimator, list | tuple) else [estimator]


def names(estimators: Sequence[Any]) -> list[str]:
    """Return what the router calls the estimators."""
    if len(estimators) == 1:
        return ["estimator"]
    return [f"estimator_{i}" for i in range(len(estimators))]


def router(classifier: Any) -> MetadataRouter:
    """Route what is passed to fit on to the fit of every estimator."""
    route = MetadataRouter(owner=classifier).add_self_request(classifier)
    estimators = listed(classifier.estimator)
    to_fit = MethodMapping().add(caller="fit", callee="fit")
    for name, one in zip(names(estimators), estimators, strict=True):
        route.add(**{name: one}, method_mapping=to_fit)
    return route


def fit_params(
    classifier: Any, X: Any, sample_weight: Any, params: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Return what each estimator gets in fit besides its rows."""
    estimators = listed(classifier.estimator)
    given = dict(params)
    if sample_weight is not None:
        given["sample_weight"] = sample_weight
    if not given:
        return [{} for _ in estimators]
    if _routing_enabled():
        routed = process_routing(classifier, "fit", **given)
        return [routed[name].fit for name in names(estimators)]
    for one in estimators:
        if not has_fit_parameter(one, "sample_weight"):
            raise InputError(
                f"{type(one).__name__} takes no sample_weight; leave it out, or route it to a step of a "
                "pipeline with sklearn.set_config(enable_metadata_routing=True)"
            )
    weight = _check_sample_weight(sample_weight, X)
    return [{"sample_weight": weight} for _ in estimators]


def tags(own: Any, estimators: Sequence[Any]) -> Any:
    """Return tags that promise no more than all estimators keep."""
    every = [get_tags(one) for one in estimators if hasattr(one, "__sklearn_tags__")]
    if not every:
        return own
    kept, first = own.input_tags, every[0].input_tags
    kept.sparse = all(t.input_tags.sparse for t in every)
    kept.allow_nan = all(t.input_tags.allow_nan for t in every)
    kept.positive_only = any(t.input_tags.positive_only for t in every)
    kept.one_d_array, kept.two_d_array = first.one_d_array, first.two_d_array
    kept.string, kept.categorical = first.string, first.categorical
    kept.pairwise = first.pairwise
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
