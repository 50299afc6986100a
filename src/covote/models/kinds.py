"""Which model answers for an expert, as panel files write it: ``model = "onnx:models/skin.onnx"``."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from covote.errors import FileError, InputError
from covote.models.answers import NONE
from covote.models.function import open_function, reachable
from covote.models.inference_server import Server
from covote.models.onnx import open_onnx
from covote.models.pickles import open_pickle
from covote.models.protocol import Model
from covote.models.skops import open_skops
from covote.models.torch import open_torch
from covote.panel import Name

FILES: dict[str, Callable[..., Model]] = {
    "onnx": open_onnx,
    "skops": open_skops,
    "torch": open_torch,
    "pickle": open_pickle,
    "joblib": open_pickle,
}
"""Kinds of model files and what opens them. A new kind is one new file and one line here."""
LIBRARIES = {
    "onnx": "onnxruntime",
    "skops": "skops.io",
    "torch": "torch",
    "pickle": "sklearn.base",
    "joblib": "sklearn.base",
}
"""What kinds of model files need, or most probably need."""
OPENERS: dict[str, Callable[..., Any]] = {**FILES, "python": open_function, "http": Server, "https": Server}
_ENDINGS = {
    "onnx": "onnx",
    "skops": "skops",
    "pt2": "torch",
    "pkl": "pickle",
    "pickle": "pickle",
    "joblib": "joblib",
}
COMMON = ("labels", "classes", "columns", "logits", "batch", "channels", "scale")
"""Options that every kind of model has."""


@dataclass(frozen=True)
class Named:
    """A model as a panel file names it: its kind, where it is, and the options written beside it."""

    kind: str
    place: str
    options: Mapping[str, Any]

    def path(self, folder: Path) -> Path | None:
        """Return the file that the model is in, if any; relative paths start at the panel's folder."""
        if self.kind in FILES:
            return folder / self.place
        if self.kind == "python":
            reachable(folder)
            try:
                found = importlib.util.find_spec(self.place.partition(":")[0])
            except (ImportError, ValueError, AttributeError):
                return None
            return Path(found.origin) if found is not None and found.origin else None
        return None


def named(model: Any) -> Named:
    """Read what a panel says about a model: text, or a table with `use` and options.

    >>> named("onnx:models/skin.onnx").kind
    'onnx'
    >>> named({"use": "models/skin.pt2", "logits": True}).kind
    'torch'
    """
    options = dict(model) if isinstance(model, Mapping) else {"use": model}
    use = options.pop("use", None)
    if not isinstance(use, str) or not use:
        raise InputError(
            f'model = {model!r} is not understood; write model = "onnx:models/skin.onnx", or model = {{ use '
            '= "onnx:models/skin.onnx", logits = true }'
        )
    kind, colon, place = use.partition(":")
    if not colon and Path(use).suffix.lower().removeprefix(".") in _ENDINGS:
        kind, place = _ENDINGS[Path(use).suffix.lower().removeprefix(".")], use
    if kind not in OPENERS:
        raise InputError(
            f"model = {use!r} is of no known kind; it begins with one of: {', '.join(OPENERS)} and a colon"
        )
    if kind in ("http", "https"):
        place = use
    _check_options(kind, options)
    return Named(kind, place, options)


def _check_options(kind: str, options: Mapping[str, Any]) -> None:
    own = [p.name for p in inspect.signature(OPENERS[kind]).parameters.values() if p.kind is p.KEYWORD_ONLY]
    known = [*COMMON, *(name for name in own if name not in COMMON)]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(known)}"
            raise InputError(f"a model of kind {kind!r} has no option {name!r}; {hint}")


def open_model(model: Named, folder: Path, knows: tuple[Name, ...]) -> Model:
    """Load a model, or connect to where it is."""
    own = {name: value for name, value in model.options.items() if name not in COMMON}
    classes = model.options.get("classes")
    if model.kind == "python":
        return open_function(model.place, folder, knows, **own)  # type: ignore[no-any-return]
    if model.kind in ("http", "https"):
        if "batch" in model.options:
            own["batch"] = model.options["batch"]
        return Server(model.place, classes, **own)
    path = folder / model.place
    if not path.is_file():
        raise FileError(f"no file {path}{_near(path)}")
    if model.kind == "onnx":
        labels = model.options.get("labels")
        theirs = labels if isinstance(labels, Mapping) else ()
        return open_onnx(path, classes, (*map(str, knows), *theirs, NONE), **own)
    if model.kind == "torch":
        return open_torch(path, classes, **own)
    return FILES[model.kind](path, **own)


def _near(path: Path) -> str:
    """Suggest the file that was meant."""
    if not path.parent.is_dir():
        return f"; there is no folder {path.parent} either"
    others = [other.name for other in path.parent.iterdir() if other.is_file()]
    near = difflib.get_close_matches(path.name, others, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
