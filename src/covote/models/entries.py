"""Which model answers for an expert, as panel files write it: ``model = "onnx:models/skin.onnx"``."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from covote.arguments import no_file
from covote.errors import InputError
from covote.models import chat, function, inference_server, json_server, onnx, scikit, torch
from covote.models.connections import without_password
from covote.models.kind import Kind, Model, Setting

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        onnx.ONNX,
        scikit.SKOPS,
        torch.TORCH,
        scikit.PICKLE,
        scikit.JOBLIB,
        function.PYTHON,
        inference_server.HTTP,
        inference_server.HTTPS,
        json_server.JSON,
        chat.CHAT,
    )
}
"""The kinds of models. A new one is one object, and one line here."""
_ENDINGS = {ending: kind for kind in KINDS.values() for ending in kind.endings}

_WEIGHTS = (
    "a {} file holds weights without the network, or a pickle: save the program in torch with "
    'torch.export.save(torch.export.export(model, (example,)), "model.pt2"), or as ONNX'
)
_KERAS = "save the model as ONNX (python -m tf2onnx.convert), or write a python: function that asks it"
_OTHER_FILES = {ending: _WEIGHTS.format(ending) for ending in (".pt", ".pth", ".ckpt", ".safetensors")}
_OTHER_FILES |= dict.fromkeys((".h5", ".keras", ".tflite"), _KERAS)
_OTHER_FILES |= {".py": 'a function in a module is written "python:module:function", without .py'}
"""What to do about files that cannot be asked as models."""


@dataclass(frozen=True)
class Entry:
    """A model as a panel names it: the text itself, its kind, the part behind the colon, and options."""

    use: str
    kind: Kind
    place: str
    options: Mapping[str, Any]

    def path(self, folder: Path) -> Path | None:
        """Return the file that the model is in, if any, relative to the panel's folder."""
        if self.kind.endings:
            return folder / self.place
        return function.module_file(self.place, folder) if self.kind is function.PYTHON else None

    def open(self, setting: Setting) -> Model:
        """Load the model, or connect to where it is; reject one that could run code and is not trusted."""
        if self.kind.runs_code and setting.trust is not True:
            raise InputError(
                f'model = "{self.use}" is rejected: {self.kind.runs_code}. If you trust it, say so with '
                "--trust on the command line or trust=True in Python (trust = true in a panel does not "
                "count: it may be someone else's word)"
            )
        where: str | Path = self.place
        if self.kind.endings:
            where = setting.folder / self.place
            if not where.is_file():
                raise no_file(where)
        if self.kind.library:
            try:
                importlib.import_module(self.kind.library)
            except ImportError as error:
                raise self.kind.missing_library() from error
        own = {name: self.options[name] for name in self.options if name in self.kind.options}
        return self.kind.open(where, setting, **own)


def entry(model: Any) -> Entry:
    """Read what a panel says about a model: text, or a table with `use` and options.

    >>> entry("onnx:models/skin.onnx").kind.name
    'onnx'
    >>> entry({"use": "models/skin.pt2", "logits": True}).kind.name
    'torch'
    """
    options = dict(model) if isinstance(model, Mapping) else {"use": model}
    use = options.pop("use", None)
    options.pop("trust", None)  # older panels have it; only the person who runs covote can say it
    if not isinstance(use, str) or not use:
        raise InputError(
            f'cannot parse model = {model!r}; write model = "onnx:models/skin.onnx", or model = {{ use '
            '= "onnx:models/skin.onnx", logits = true }'
        )
    name, colon, place = use.partition(":")
    kind = KINDS.get(name) if colon else _ENDINGS.get(Path(use).suffix.lower().removeprefix("."))
    if kind is None:
        hint = _OTHER_FILES.get(
            Path(use).suffix.lower(), f"begin it with one of {', '.join(KINDS)} and a colon"
        )
        raise InputError(f"unknown kind of model = {without_password(use)!r}; {hint}")
    kind.check(options)
    return Entry(use, kind, use if kind.remote or not colon else place, options)


def running_code(models: Iterable[Any]) -> list[str]:
    """Return those models of a panel that run code of their author, as the panel names them."""
    found = []
    for model in models:
        with suppress(InputError):  # told when it is opened
            if entry(model).kind.runs_code:
                found.append(entry(model).use)
    return found


def redact(model: Any) -> Any:
    """Return what a panel says about a model as people may see it: without passwords."""
    if isinstance(model, Mapping):
        return {**model, "use": redact(model.get("use"))}
    return without_password(model) if isinstance(model, str) else model
