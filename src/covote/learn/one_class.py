"""The expert that knows a single class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _num_samples


class OneClass(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Always give the one class that was seen; few estimators can be trained on a single class.

    >>> OneClass().fit([[0.5], [1.5]], ["cat", "cat"]).predict([[7.0]])
    array(['cat'], dtype='<U3')
    """

    def fit(self, X: Any, y: Any) -> OneClass:
        """Remember the class."""
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the class, once for each item."""
        return np.repeat(self.classes_, _num_samples(X))
