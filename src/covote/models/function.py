"""Python functions as experts: ``python:module:function``."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from covote.errors import FileError, InputError
from covote.models.batches import Batch
from covote.models.kind import SWITCH, Kind, Model, Setting
from covote.models.scikit import Scikit
from covote.panel import Name


class Function:
    """A Python function that takes a batch and returns labels or probabilities.

    A matrix of probabilities has one column for each class that the expert knows, in the order of the panel.

    Parameters
    ----------
    function
        The function. A parameter `knows` receives the classes that its expert knows, so that one function
        can answer for many experts.
    knows
        These classes.
    folder
        The folder of the panel, if the function comes from a module: what it imports is looked for there.
    """

    classes: tuple[Any, ...] = ()

    def __init__(self, function: Any, knows: tuple[Name, ...], folder: Path | None = None) -> None:
        self._function, self._folder = function, folder
        self._told = {"knows": knows} if _takes_knows(function) else {}

    def __call__(self, batch: Batch) -> Any:
        """Ask the function."""
        if self._folder is None:
            return self._function(batch, **self._told)
        with _modules_of(self._folder):
            return self._function(batch, **self._told)


def _takes_knows(function: Any) -> bool:
    try:
        return "knows" in inspect.signature(function).parameters
    except (TypeError, ValueError):  # some built-in functions do not say
        return False


_MODULES: dict[Path, dict[str, ModuleType]] = {}
"""The modules that were loaded from the folder of each panel."""


@contextmanager
def _modules_of(folder: Path) -> Iterator[None]:
    """Let Python find modules in the folder of a panel, and those of no other panel.

    Two panels may both have a ``rules.py``: their modules are known to Python only inside this block.
    """
    folder = folder.resolve()
    own = _MODULES.setdefault(folder, {})
    hidden = {name: sys.modules[name] for name in own if name in sys.modules}
    path = list(sys.path)
    before = set(sys.modules)
    sys.modules.update(own)
    sys.path.append(str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        for name in set(sys.modules) - before:
            module = sys.modules[name]
            files = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
            if any(folder in Path(file).parents for file in files if file):
                own[name] = module
        for name in own:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
        sys.path[:] = path


def module_file(place: str, folder: Path) -> Path | None:
    """Return the file of ``module:name``, if it is found and has one."""
    with _modules_of(folder):
        try:
            found = importlib.util.find_spec(place.partition(":")[0])
        except (ImportError, ValueError, AttributeError):
            return None
    return Path(found.origin) if found is not None and found.origin else None


def _open(place: str, setting: Setting, *, probabilities: bool = True) -> Model:
    """Import ``module:name``; modules next to the panel file are found too, after installed ones."""
    module, _, name = place.partition(":")
    if not module or not name:
        raise InputError(f'cannot parse model "python:{place}"; write "python:module:function"')
    try:
        with _modules_of(setting.folder):
            found: Any = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(
            f"no Python module {error.name!r}; it must be installed, or lie in the panel's folder "
            f"({setting.folder})"
        ) from error
    except (Exception, SystemExit) as error:
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
    return Function(found, setting.knows, setting.folder)


PYTHON = Kind(
    "python",
    _open,
    {"probabilities": SWITCH},
    runs_code="importing a module runs any code that its author put there",
)
