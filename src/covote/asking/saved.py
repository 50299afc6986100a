"""Saved states of an Asker: arrays and a JSON header in an ``.npz`` file without pickles."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.arguments import no_file
from covote.asking.answers import WAITING
from covote.asking.rules import RULES
from covote.errors import FileError, InputError
from covote.panel import Panel

if TYPE_CHECKING:
    from covote.asking.asker import Asker

Array = NDArray[Any]
_FORMAT = "covote asking 3"


def save(asker: Asker, path: str | os.PathLike[str]) -> None:
    """Write the state of an Asker atomically."""
    rule: Any = asker.rule
    if type(rule) is not RULES.get(rule.name):
        raise InputError(f"the rule {rule.name!r} is not one of covote's, so its state cannot be saved")
    options = {one.name: getattr(rule, one.name) for one in fields(rule)}
    arrays = {f"rule_{name}": value for name, value in options.items() if isinstance(value, np.ndarray)}
    budget, total = (None if math.isinf(money) else money for money in (asker._budget, asker._total))
    head = {
        "format": _FORMAT,
        "panel": asker.panel.to_dict(),
        "rule": rule.name,
        "options": {name: value for name, value in options.items() if f"rule_{name}" not in arrays},
        "budget": budget,
        "total": total,
        "seed": asker._seed,
    }
    log, ids = asker._log, asker._ids.array
    arrays |= {"item": log.item, "expert": log.expert, "answer": log.answer}
    arrays |= {"cost": asker._cost, "away": asker._away, "stuck": asker._stuck}
    if ids is not None and ids.dtype == object:
        odd = [name for name in ids.tolist() if not isinstance(name, str | int | float)]
        if odd:
            raise InputError(f"item {odd[0]!r} cannot be saved; use text or numbers as ids")
        head["ids"] = ids.tolist()
    elif ids is not None:
        arrays["ids"] = ids
    text = json.dumps(head, default=lambda value: value.tolist()).encode()  # numpy's numbers
    with atomic.replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, head=np.frombuffer(text, dtype=np.uint8), **arrays)


def load(path: str | os.PathLike[str], make: type[Asker]) -> Asker:
    """Read what :func:`save` wrote."""
    with _reading(path) as (head, arrays):
        panel = Panel.from_dict(head["panel"])
        own = {name[5:]: array for name, array in arrays.items() if name.startswith("rule_")}
        stuck = _flags(arrays["stuck"])
        ids = arrays["ids"] if "ids" in arrays else head.get("ids")
        asker = make(
            panel,
            len(stuck) if ids is None else ids,
            RULES[head["rule"]](**head["options"], **own),
            cost=arrays["cost"],
            budget=head["budget"],
            total=head["total"],
            seed=head["seed"],
            partial=True,
        )
        asker.leave(*(panel.names[i] for i in np.flatnonzero(_flags(arrays["away"], len(panel)))))
        asker._restore(*_questions(panel, len(asker), arrays))
        asker._stuck[:] = _flags(stuck, len(asker)) & ~asker._settled
    return asker


def _questions(panel: Panel, items: int, arrays: dict[str, Array]) -> tuple[Array, Array, Array]:
    """Return the questions and answers in the order in which they were asked, if they fit the panel."""
    item, expert, answer = (_integers(arrays[name]) for name in ("item", "expert", "answer"))
    if not len(item) == len(expert) == len(answer):
        raise ValueError("questions and answers differ in number")
    if not ((item >= 0) & (item < items) & (expert >= 0) & (expert < len(panel)) & (answer >= WAITING)).all():
        raise ValueError("questions about items or experts that do not exist")
    if not ((answer < 0) | panel.knows[expert, np.maximum(answer, 0)]).all():
        raise ValueError("answers that the experts cannot give")
    if len(np.unique(item * np.int64(len(panel)) + expert)) < len(item):
        raise ValueError("an expert who was asked twice")
    return item, expert, answer


@contextmanager
def _reading(path: str | os.PathLike[str]) -> Iterator[tuple[dict[str, Any], dict[str, Array]]]:
    """Yield the header and the arrays.

    Any exception inside the block is reported as a damaged file: damaged archives, headers, texts and numbers
    fail in many ways.
    """
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        head = json.loads(arrays.pop("head").tobytes())
        if head["format"] != _FORMAT:
            raise ValueError(f"its format is {head['format']!r}")
    except FileNotFoundError as error:
        raise no_file(path) from error
    except Exception as error:
        raise FileError(f"{path} is not the state of an Asker; write it with Asker.save") from error
    try:
        yield head, arrays
    except Exception as error:
        raise FileError(
            f"{path} is a damaged state of an Asker ({_words(error)}); load an earlier copy"
        ) from error


def _flags(values: Array, size: int | None = None) -> NDArray[np.bool_]:
    """Return stored flags, or raise ValueError if they are not flags, or not as many as expected."""
    if values.dtype != np.bool_ or values.ndim != 1 or (size is not None and len(values) != size):
        raise ValueError(f"{values.dtype} of shape {values.shape} instead of flags")
    return values


def _integers(values: Array) -> NDArray[np.int64]:
    """Return stored integers, or raise ValueError if they are not a list of integers."""
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise ValueError(f"{values.dtype} of shape {values.shape} instead of integers")
    return values.astype(np.int64)


def _words(error: Exception) -> str:
    """Return a short reason on one line."""
    return " ".join(str(error).split())[:100] or type(error).__name__
