"""Pickle and joblib files: only with the user's word, because loading one runs whatever its author wrote."""

from __future__ import annotations

from pathlib import Path

from covote.errors import FileError, InputError
from covote.models.scikit import Scikit


def open_pickle(path: Path, *, trust: bool = False, probabilities: bool = True) -> Scikit:
    """Load a scikit-learn model from a pickle or joblib file that the user trusts."""
    if trust is not True:
        raise InputError(
            f"{path} is a pickle: loading it runs any code that its author put there, so it is refused. If "
            "it is yours, write trust = true beside the model; better, save the model with skops "
            "(skops.io.dump(model, 'model.skops')) or as ONNX"
        )
    import joblib

    try:
        return Scikit(joblib.load(path), probabilities=probabilities)  # reads plain pickles as well
    except InputError:
        raise
    except Exception as error:
        raise FileError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
