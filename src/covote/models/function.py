"""Python functions as experts: ``python:module:function``."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from covote.errors import InputError
from covote.models import scikit
from covote.models.protocol import Batch


class Function:
    """A Python function that takes a batch and returns labels or probabilities.

    A matrix of probabilities has one column for each class that the expert knows, in the order of the panel.
    """

    def __init__(self, function: Any, knows: tuple[Any, ...]) -> None:
        self._function = function
        self.classes = knows

    def __call__(self, batch: Batch) -> Any:
        """Ask the function."""
        return self._function(batch)


def reachable(folder: Path) -> None:
    """Let Python find modules in a folder, after all others."""
    if str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))
    importlib.invalidate_caches()


def open_function(place: str, folder: Path, knows: tuple[Any, ...], *, probabilities: bool = True) -> Any:
    """Import ``module:name``; modules beside the panel file are found too, after installed ones."""
    module, _, name = place.partition(":")
    if not module or not name:
        raise InputError(f'model "python:{place}" is not understood; write "python:module:function"')
    reachable(folder)
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(
            f"no Python module {error.name!r}; it must be installed, or lie in the panel's folder ({folder})"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(f"the Python module {module!r} has no {name!r}")
        found = getattr(found, part)
    if hasattr(found, "predict"):
        return scikit.Scikit(found, probabilities=probabilities)
    if not callable(found):
        raise InputError(
            f"{name!r} of the Python module {module!r} is a {type(found).__name__}, not a function"
        )
    return Function(found, knows)
