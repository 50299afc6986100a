"""Python functions as experts: ``python:module:function``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from typing import Any

from covote.errors import FileError, InputError
from covote.models.batches import Batch
from covote.models.kind import SWITCH, Kind, Model, Setting
from covote.models.scikit import Scikit


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


def module_file(place: str, folder: Path) -> Path | None:
    """Return the file of ``module:name``, if it is found and has one."""
    _reach(folder)
    try:
        found = importlib.util.find_spec(place.partition(":")[0])
    except (ImportError, ValueError, AttributeError):
        return None
    return Path(found.origin) if found is not None and found.origin else None


def _open(place: str, setting: Setting, *, probabilities: bool = True) -> Model:
    """Import ``module:name``; modules beside the panel file are found too, after installed ones."""
    module, _, name = place.partition(":")
    if not module or not name:
        raise InputError(f'model "python:{place}" is not understood; write "python:module:function"')
    _reach(setting.folder)
    try:
        found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(
            f"no Python module {error.name!r}; it must be installed, or lie in the panel's folder "
            f"({setting.folder})"
        ) from error
    except Exception as error:
        raise FileError(
            f"the Python module {module!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise InputError(f"the Python module {module!r} has no {name!r}")
        found = getattr(found, part)
    if hasattr(found, "predict"):
        return Scikit(found, probabilities=probabilities)
    if not callable(found):
        raise InputError(
            f"{name!r} of the Python module {module!r} is a {type(found).__name__}, not a function"
        )
    return Function(found, setting.knows)


def _reach(folder: Path) -> None:
    """Let Python find modules in a folder, after all others."""
    if str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))
    importlib.invalidate_caches()


PYTHON = Kind(
    "python",
    _open,
    {"probabilities": SWITCH},
    runs_code="importing a module runs any code that its author put there",
)
