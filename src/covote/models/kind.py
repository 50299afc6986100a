"""Models and their kinds: how files end, which library and options a kind has, how a model is opened."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from covote.errors import InputError, MissingDependencyError
from covote.models.batches import Batch
from covote.panel import Name


class Option(NamedTuple):
    """What may be written for an option: a test, and its words for people."""

    accepts: Callable[[Any], bool]
    must_be: str


def whole(least: int) -> Option:
    """Return an option that takes whole numbers from `least` on."""
    return Option(
        lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least,
        f"a whole number, {least} or more",
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _are(kinds: Any) -> Callable[[Any], bool]:
    def accepts(value: Any) -> bool:
        return isinstance(value, list | tuple) and all(
            isinstance(entry, kinds) and not isinstance(entry, bool) for entry in value
        )

    return accepts


SWITCH = Option(lambda value: isinstance(value, bool), "true or false")
TEXT = Option(lambda value: isinstance(value, str), "text")
TEXTS = Option(_are(str), 'a list of texts, as ["a", "b"]')
NUMBER = Option(_is_number, "a number")
SECONDS = Option(lambda value: _is_number(value) and value > 0, "a number of seconds above 0")

COMMON: Mapping[str, Option] = {
    "labels": Option(
        lambda value: isinstance(value, Mapping) and _are(str | int)([*value, *value.values()]),
        'a table, as labels = { theirs = "ours" }',
    ),
    "classes": Option(_are(str | int), 'a list of classes, as ["a", "b"]'),
    "columns": TEXTS,
    "logits": SWITCH,
    "batch": whole(1),
    "channels": Option(lambda value: value in ("first", "last"), '"first" or "last"'),
    "scale": NUMBER,
}
"""Options of every kind of model: they say how its expert asks it and understands it."""


class Model(Protocol):
    """What answers for an expert, in its own words: one adapter per kind."""

    @property
    def classes(self) -> tuple[Any, ...] | None:
        """What the columns of its probabilities are, in its own words; None if it does not say."""

    def __call__(self, batch: Batch) -> Any:
        """Return one label per item or probabilities (items x classes)."""


class Setting(NamedTuple):
    """What a model is opened for.

    Attributes
    ----------
    folder
        Where relative paths start.
    knows
        What the expert knows.
    classes
        What the columns of the model's probabilities are, if the panel says so.
    trust
        Whether models may run code of their authors.
    """

    folder: Path
    knows: tuple[Name, ...]
    classes: tuple[Any, ...] | None
    trust: bool


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Attributes
    ----------
    name
        What stands before the colon: ``onnx`` in ``onnx:skin.onnx``.
    open
        Takes the file (a path), or else the text behind the colon, then the :class:`Setting` and options.
    options
        Those of this kind alone. One that is also in `COMMON` is the kind's own matter.
    endings
        How files of this kind end; a kind without endings is not a file.
    library, extra
        What must be installed, and covote's extra that installs it.
    runs_code
        Why opening such a model may run code of whoever wrote it; empty if it cannot.
    remote
        Whether it answers on another machine, so that several can be asked at the same time.
    """

    name: str
    open: Callable[..., Model]
    options: Mapping[str, Option] = field(default_factory=dict)
    endings: tuple[str, ...] = ()
    library: str = ""
    extra: str = ""
    runs_code: str = ""
    remote: bool = False

    def check(self, options: Mapping[str, Any]) -> None:
        """Refuse options that this kind does not have, and values that they cannot have."""
        known = {**COMMON, **self.options}
        for name in options:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has: {', '.join(known)}"
                raise InputError(f"a model of kind {self.name!r} has no option {name!r}; {hint}")
        check_values(options, known)

    def missing_library(self) -> MissingDependencyError:
        """Return the error that says what to install."""
        return MissingDependencyError(
            f"models of kind {self.name!r} need {self.library}; install it with: "
            f"pip install 'covote[{self.extra}]'"
        )


def check_values(options: Mapping[str, Any], known: Mapping[str, Option]) -> None:
    """Refuse values that options cannot have."""
    for name, value in options.items():
        if not known[name].accepts(value):
            raise InputError(f"{name} = {value!r} must be {known[name].must_be}")
