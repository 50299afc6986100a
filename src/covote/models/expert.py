"""An expert whose answers come from a model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from covote.arguments import naming, some_of
from covote.errors import CovoteError, ExpertError, InputError
from covote.models.batches import Batch, chunks, prepare_images, read_only, select, size
from covote.models.chat import join_answers
from covote.models.entries import entry
from covote.models.function import Function
from covote.models.kind import COMMON, Model, Setting, check_values
from covote.models.scikit import Scikit
from covote.models.understanding import Dictionary, ModelAnswers, interpret
from covote.panel import Name, Panel, panel_files


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
        Which columns of a table the model takes; all by default.
    logits
        Whether it gives scores before softmax instead of probabilities.
    batch
        The most items to give it at a time; no limit by default.
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
    _words: Dictionary = field(init=False, repr=False)

    def __post_init__(self) -> None:
        options = {name: getattr(self, name) for name in COMMON}
        check_values({name: value for name, value in options.items() if value is not None}, COMMON)
        object.__setattr__(self, "_words", Dictionary(self.knows, self.labels))

    def answer(self, batch: Batch) -> ModelAnswers:
        """Ask the model about a batch, and translate its answers into the words of the panel."""
        try:
            wanted = read_only(prepare_images(select(batch, self.columns), self.channels, self.scale))
            return join_answers([self._ask(piece) for piece in chunks(wanted, self.batch)])
        except ExpertError as error:
            raise type(error)(f"expert {self.name!r} {error}") from error
        except CovoteError:
            raise
        except (Exception, SystemExit) as error:  # a model may call sys.exit
            reason = " ".join(str(error).split()) or "no message"
            if "read-only" in reason:
                reason += "; the data belong to all experts: let it change a copy of them"
            raise ExpertError(f"expert {self.name!r} failed: {type(error).__name__}: {reason}") from error

    def says(self) -> tuple[Any, ...] | None:
        """Return the classes that the model has, in its own words; None if it does not say.

        A function speaks of what its expert knows, in the words of the panel: that is the empty tuple.
        """
        return self.model.classes if self.classes is None else tuple(self.classes)

    def refuse_missing_classes(self) -> None:
        """Reject a panel that says the expert knows what its model cannot answer."""
        own = self.says() or ()
        codes = {self._words[name] for name in own}
        missing = [name for k, name in enumerate(self.knows) if own and k not in codes]
        if missing:
            raise InputError(
                f"expert {self.name!r}: the panel says that it knows {some_of(missing)}, but its model has "
                f"only {some_of(own)}; remove what it does not know from the panel, or say what the model's "
                'classes mean with labels = { theirs = "ours" }'
            )

    def _ask(self, batch: Batch) -> ModelAnswers:
        output = self.model(batch)
        if isinstance(output, ModelAnswers):  # a chat expert speaks in the words of the panel
            return output
        return interpret(output, size(batch), self._words, self.says(), self.logits)


def folder_of(path: str | os.PathLike[str]) -> Path:
    """Return where the paths of a panel's models start: the folder of the file, not of a link to it."""
    return Path(path).resolve().parent


def panel_of_models(path: str | os.PathLike[str]) -> Panel:
    """Return the panel of a file; its language models get what the panel says the classes mean."""
    with naming(path):
        data = panel_files.load(path)
        panel = Panel.from_dict(data)
    describe = data.get("describe")
    if describe is None:
        return panel
    models = []
    for model in panel.models:
        options = model if isinstance(model, Mapping) else {"use": model}
        is_chat = str(options.get("use")).startswith("chat:")
        models.append({"describe": describe, **options} if is_chat else model)
    return Panel(panel.classes, panel.knows, panel.names, panel.cost, models=models, left=panel.left)


def open_expert(
    name: Name, knows: Sequence[Name], model: Any, folder: str | Path = ".", *, trust: bool = False
) -> ModelExpert:
    """Load a model, and return the expert that a panel file describes.

    Parameters
    ----------
    name, knows
        The expert, and what it knows in the order of the panel.
    model
        As a panel file has it (text or a table; see docs/models.md), or a fitted scikit-learn classifier, or
        a function from a batch to labels.
    folder
        Where relative paths start: the folder of the panel file.
    trust
        Whether a model that a panel names may run code of its author (Python modules, pickles, torch).

    >>> import numpy as np
    >>> expert = open_expert("sign", ["minus", "plus"], lambda batch: np.where(batch < 0, "minus", "plus"))
    >>> expert.answer(np.array([-1.0, 2.0])).label
    array([0, 1])
    """
    if hasattr(model, "predict"):
        return ModelExpert(name, tuple(knows), Scikit(model))
    if callable(model):
        return ModelExpert(name, tuple(knows), Function(model, tuple(knows)))
    try:
        found = entry(model)
        options = {key: value for key, value in found.options.items() if key not in found.kind.options}
        classes = options.get("classes")
        own = None if classes is None else tuple(classes)
        expert = ModelExpert(
            name, tuple(knows), found.open(Setting(Path(folder), tuple(knows), own, trust)), **options
        )
    except CovoteError as error:
        raise type(error)(f"expert {name!r}: {error}") from error
    expert.refuse_missing_classes()
    return expert
