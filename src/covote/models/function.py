"""Python functions as experts: ``python:module:function``."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from covote.errors import FileError, InputError
from covote.models.batches import Batch
from covote.models.kind import Kind, Model, Setting
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
        self._keywords = {"knows": knows} if _takes_knows(function) else {}

    def __call__(self, batch: Batch) -> Any:
        """Ask the function."""
        if self._folder is None:
            return self._function(batch, **self._keywords)
        with _modules_of(self._folder):
            return self._function(batch, **self._keywords)


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
            paths = [Path(file) for file in files if file]
            # An environment may lie in the folder: what is installed there belongs to everyone.
            if any(folder in path.parents and "site-packages" not in path.parts for path in paths):
                own[name] = module
        for name in own:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
        sys.path[:] = path


def _find(module: str, folder: Path) -> list[ModuleSpec]:
    """Return where a module and the packages around it lie in a folder; nothing is imported.

    Modules of the same name that are installed, or lie in the working folder, are not looked at.
    """
    found: list[ModuleSpec] = []
    places = [str(folder)]
    for part in module.split("."):
        name = f"{found[-1].name}.{part}" if found else part
        spec = PathFinder.find_spec(name, places)
        if spec is None:
            raise InputError(
                f"no Python module {module!r} in the panel's folder ({folder}); only code that lies there is "
                "run: put the file there, or for an installed package a file that imports from it"
            )
        found.append(spec)
        places = list(spec.submodule_search_locations or ())
    return found


def module_file(place: str, folder: Path) -> Path | None:
    """Return the file of ``module:name``, if it is found."""
    try:
        origin = _find(place.partition(":")[0], folder.resolve())[-1].origin
    except InputError:
        return None
    return Path(origin) if origin else None


def _load(module: str, folder: Path) -> ModuleType:
    """Return a module of the panel's folder, which is imported if it is not yet."""
    top = _find(module, folder)[0]
    hidden = {name: sys.modules.pop(name) for name in list(sys.modules) if name.split(".")[0] == top.name}
    try:
        with _modules_of(folder):
            if top.name not in sys.modules:
                made = sys.modules[top.name] = module_from_spec(top)
                try:
                    top.loader.exec_module(made)  # type: ignore[union-attr]
                except BaseException:
                    del sys.modules[top.name]
                    raise
            return importlib.import_module(module)
    finally:
        sys.modules.update(hidden)


def _open(place: str, setting: Setting) -> Model:
    """Import ``module:name`` from the folder of the panel; what it imports may also be installed."""
    module, _, name = place.partition(":")
    if not module or not name:
        raise InputError(f'cannot parse model "python:{place}"; write "python:module:function"')
    folder = setting.folder.resolve()
    try:
        found: Any = _load(module, folder)
    except InputError:
        raise
    except ModuleNotFoundError as error:
        raise InputError(
            f"the Python module {module!r} needs {error.name!r}, which is neither installed nor in the "
            f"panel's folder ({folder})"
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
        return Scikit(found)
    if not callable(found):
        raise InputError(
            f"{name!r} of the Python module {module!r} is a {type(found).__name__}, not a function"
        )
    return Function(found, setting.knows, folder)


PYTHON = Kind(
    "python",
    _open,
    runs_code="importing a module runs any code that its author put there",
)
