"""Fitted scikit-learn classifiers, and whatever else has ``predict``; also in skops files and in pickles."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import CovoteError, ExpertError, FileError, InputError
from covote.models.batches import Batch, matrix, select
from covote.models.kind import Kind, Setting


class Scikit:
    """A fitted classifier: asked for probabilities if it has them, else for labels.

    Columns go to it by name if it was fitted on named columns, else in the order of the data.

    Attributes
    ----------
    estimator
        The classifier.
    classes
        Its classes in the order of its columns; None if it does not say.
    """

    def __init__(self, estimator: Any) -> None:
        if not hasattr(estimator, "predict"):
            raise InputError(f"a {type(estimator).__name__} has no predict(); give a fitted classifier")
        self.estimator = estimator
        classes = getattr(estimator, "classes_", None)
        self.classes = None if classes is None else tuple(np.asarray(classes).tolist())

    def has(self, method: str) -> bool:
        """Whether the classifier has scores of this kind, and says which class each column is."""
        return self.classes is not None and hasattr(self.estimator, method)

    def __call__(self, batch: Batch) -> Any:
        """Ask the classifier."""
        names = getattr(self.estimator, "feature_names_in_", None)
        if names is None or not isinstance(batch, Mapping):
            rows: Any = matrix(batch)
        else:
            rows = _frame(select(batch, [str(name) for name in names]))
        soft = self.has("predict_proba")
        return self.estimator.predict_proba(rows) if soft else self.estimator.predict(rows)

    def labels(self, X: Any) -> NDArray[Any]:
        """Return one label per item, in the classifier's words."""
        output = np.asarray(self.estimator.predict(X))
        return output[:, 0] if output.ndim == 2 and output.shape[1] == 1 else output

    def scores(self, X: Any, method: str) -> NDArray[np.float64]:
        """Return (items x classes) what ``predict_proba`` or ``decision_function`` says.

        The one column that a decision function has for two classes speaks for the second: the first has 0.
        """
        output = np.asarray(getattr(self.estimator, method)(X), dtype=np.float64)
        return np.stack([np.zeros_like(output), output], axis=1) if output.ndim == 1 else output


def _frame(batch: Batch) -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ExpertError(
            "was fitted on named columns, and takes them as a pandas DataFrame: pip install pandas"
        ) from error
    return pd.DataFrame(dict(batch))


def _open_skops(path: Path, setting: Setting) -> Scikit:
    """Load a model; types that skops does not know as harmless need the person's word."""
    from skops import io

    try:
        untrusted = io.get_untrusted_types(file=path)
    except Exception as error:
        raise FileError(f"{path} cannot be read as a skops file: {error}") from error
    if untrusted and setting.trust is not True:
        raise InputError(
            f"{path} contains types that could run code when loaded: {', '.join(untrusted)}. If you know and "
            "trust them, say so with --trust on the command line or trust=True in Python"
        )
    try:
        return Scikit(io.load(path, trusted=untrusted))
    except CovoteError:
        raise
    except Exception as error:
        raise FileError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error


def _open_pickle(path: Path, setting: Setting) -> Scikit:
    """Load a scikit-learn model from a pickle or joblib file that the user trusts."""
    import joblib

    try:
        return Scikit(joblib.load(path))  # reads plain pickles as well
    except CovoteError:
        raise
    except (Exception, SystemExit) as error:
        raise FileError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error


_REASON = (
    "loading a pickle runs any code that its author put there (better, save the model with skops.io.dump "
    "or as ONNX)"
)
SKOPS = Kind("skops", _open_skops, {}, ("skops",), "skops", "skops")
PICKLE = Kind("pickle", _open_pickle, {}, ("pkl", "pickle"), runs_code=_REASON)
JOBLIB = Kind("joblib", _open_pickle, {}, ("joblib",), runs_code=_REASON)
