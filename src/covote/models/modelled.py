"""An expert whose answers come from a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from covote.errors import CovoteError, ExpertError, InputError
from covote.models.answers import Dictionary, understood
from covote.models.batches import chunks, pictured, selected, size
from covote.models.kinds import COMMON, named, open_model
from covote.models.protocol import Answers, Batch, Model
from covote.panel import Name, Panel


@dataclass(frozen=True)
class ModelExpert:
    """A model that answers for an expert of a panel.

    Parameters
    ----------
    name, knows
        The expert, and the classes it can tell apart, in the order of the panel.
    model
        Anything that takes a batch and returns labels or probabilities; see :class:`Model`.
    labels
        From the model's names of classes to the panel's; classes that are called the same need no entry.
    classes
        What the columns of the model's probabilities are, in its own names, unless it says so itself.
    columns
        Which columns of a table the model takes; all unless given.
    logits
        Whether it gives scores before softmax instead of probabilities.
    batch
        The most items to give it at a time; no limit unless given.
    channels, scale
        Images: ``"first"`` moves the channels before height and width; values are multiplied by `scale`.
    """

    name: Name
    knows: tuple[Name, ...]
    model: Model
    labels: Mapping[str, Name] = field(default_factory=dict)
    classes: Sequence[Any] | None = None
    columns: Sequence[str] | None = None
    logits: bool = False
    batch: int | None = None
    channels: str = "last"
    scale: float = 1.0
    _named: tuple[Any, ...] | None = field(init=False, repr=False)
    _words: Dictionary = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.batch is not None and (
            isinstance(self.batch, bool) or not isinstance(self.batch, int) or self.batch < 1
        ):
            raise InputError(f"batch = {self.batch!r} must be a whole number, 1 or more")
        if self.channels not in ("first", "last"):
            raise InputError(f'channels = {self.channels!r} must be "first" or "last"')
        if not isinstance(self.labels, Mapping):
            raise InputError(f'labels = {self.labels!r} must be a table: labels = {{ theirs = "ours" }}')
        object.__setattr__(self, "_named", None if self.classes is None else tuple(self.classes))
        object.__setattr__(self, "_words", Dictionary(self.knows, self.labels))

    def answer(self, batch: Batch) -> Answers:
        """Ask the model about a batch, and put what it says into the words of the panel."""
        try:
            wanted = pictured(selected(batch, self.columns), self.channels, self.scale)
            items = size(wanted)
            if self.batch is None or items <= self.batch:
                return self._answered(wanted, items)
            return _joined([self._answered(piece, size(piece)) for piece in chunks(wanted, self.batch)])
        except ExpertError as error:
            raise ExpertError(f"expert {self.name!r} {error}") from error
        except CovoteError:
            raise
        except Exception as error:
            reason = " ".join(str(error).split()) or "no message"
            raise ExpertError(f"expert {self.name!r} failed: {type(error).__name__}: {reason}") from error

    def _answered(self, batch: Batch, items: int) -> Answers:
        said = self.model(batch)
        classes = self.model.classes if self._named is None else self._named
        return understood(said, items, self._words, classes, self.logits)


def _joined(parts: list[Answers]) -> Answers:
    soft = [part.probability for part in parts if part.probability is not None]
    return Answers(
        np.concatenate([part.label for part in parts]),
        np.concatenate(soft) if len(soft) == len(parts) else None,
        next((part.note for part in parts if part.note), ""),
    )


def open_expert(name: Name, knows: Sequence[Name], model: Any, folder: str | Path = ".") -> ModelExpert:
    """Return the expert that a panel file describes; loads its model.

    Parameters
    ----------
    name, knows
        The expert, and what it knows in the order of the panel.
    model
        As a panel file has it (text or a table; see docs/experts.md), or a fitted scikit-learn classifier, or
        a function from a batch to labels.
    folder
        Where relative paths start: the folder of the panel file.

    >>> expert = open_expert("sign", ["minus", "plus"], lambda batch: np.where(batch < 0, "minus", "plus"))
    >>> expert.answer(np.array([-1.0, 2.0])).label
    array([0, 1])
    """
    known = tuple(knows)
    if hasattr(model, "predict"):
        from covote.models.scikit import Scikit

        return ModelExpert(name, known, Scikit(model))
    if callable(model):
        from covote.models.function import Function

        return ModelExpert(name, known, Function(model, known))
    try:
        entry = named(model)
        opened = open_model(entry, Path(folder), known)
        own = {key: entry.options[key] for key in COMMON if key in entry.options}
        if entry.kind in ("http", "https"):
            own.pop("batch", None)  # the server's own bound: its requests go side by side
        return ModelExpert(name, known, opened, **own)
    except CovoteError as error:
        raise type(error)(f"expert {name!r}: {error}") from error


def open_experts(panel: Panel, folder: str | Path = ".") -> list[ModelExpert]:
    """Return an expert for every expert of the panel; all of them must have a model."""
    without = [name for name, model in zip(panel.names, panel.models, strict=True) if model is None]
    if without:
        raise InputError(
            f"expert {without[0]!r} has no model ({len(without)} of {len(panel)} experts have none); write "
            'model = "..." below its name in the panel file, or leave it out with panel.without(...)'
        )
    return [
        open_expert(name, known, model, folder)
        for name, known, model in zip(panel.names, panel.blocks(), panel.models, strict=True)
    ]
