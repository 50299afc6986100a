"""Fitted scikit-learn classifiers, and whatever else has ``predict``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from covote.errors import ExpertError, InputError
from covote.models.batches import matrix, selected
from covote.models.protocol import Batch


class Scikit:
    """A fitted classifier: asked for probabilities if it has them, else for labels.

    Columns go to it by name if it was fitted on named columns, else in the order of the data.
    """

    def __init__(self, estimator: Any, *, probabilities: bool = True) -> None:
        if not hasattr(estimator, "predict"):
            raise InputError(f"a {type(estimator).__name__} has no predict(); give a fitted classifier")
        self._estimator = estimator
        soft = probabilities and hasattr(estimator, "predict_proba")
        classes = getattr(estimator, "classes_", None)
        self.classes = tuple(np.asarray(classes).tolist()) if classes is not None else None
        self._ask = estimator.predict_proba if soft and self.classes is not None else estimator.predict

    def __call__(self, batch: Batch) -> Any:
        """Ask the classifier."""
        names = getattr(self._estimator, "feature_names_in_", None)
        if names is None or not isinstance(batch, Mapping):
            return self._ask(matrix(batch))
        return self._ask(_frame(selected(batch, [str(name) for name in names])))


def _frame(batch: Batch) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ExpertError(
            "was fitted on named columns, and takes them as a pandas DataFrame: pip install pandas"
        ) from error
    return pd.DataFrame(dict(batch))
