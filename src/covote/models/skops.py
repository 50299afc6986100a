"""Models in skops files: scikit-learn objects without pickle."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from covote.errors import FileError, InputError, MissingDependencyError
from covote.models.scikit import Scikit


def open_skops(path: Path, *, trust: bool | Sequence[str] = False, probabilities: bool = True) -> Scikit:
    """Load a model; types that skops does not know as harmless need `trust`: their names, or true for all."""
    try:
        from skops import io
    except ImportError as error:
        raise MissingDependencyError(
            "skops files need skops; install it with: pip install 'covote[skops]'"
        ) from error
    try:
        strangers = io.get_untrusted_types(file=path)
    except Exception as error:
        raise FileError(f"{path} cannot be read as a skops file: {error}") from error
    allowed = strangers if trust is True else list(trust or ())
    refused = [name for name in strangers if name not in allowed]
    if refused:
        raise InputError(
            f"{path} contains types that could run code when loaded: {', '.join(refused)}; if you know them, "
            f"write trust = {_listed(refused)} beside the model"
        )
    return Scikit(_loaded(io, path, allowed), probabilities=probabilities)


def _loaded(io: Any, path: Path, allowed: Sequence[str]) -> Any:
    try:
        return io.load(path, trusted=list(allowed))
    except Exception as error:
        raise FileError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error


def _listed(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"
