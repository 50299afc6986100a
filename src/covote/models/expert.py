"""An expert whose answers come from a model."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from covote.arguments import naming, some_of
from covote.errors import CovoteError, ExpertError, InputError
from covote.models.batches import Batch, chunks, pictured, read_only, selected, size
from covote.models.chat import joined
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
            wanted = read_only(pictured(selected(batch, self.columns), self.channels, self.scale))
            return joined([self._answered(piece) for piece in chunks(wanted, self.batch)])
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

    def codes(self, own: Sequence[Any]) -> set[int]:
        """Return which of the classes that it knows a model's classes are, as positions."""
        return {self._words[name] for name in own}

    def _answered(self, batch: Batch) -> ModelAnswers:
        output = self.model(batch)
        if isinstance(output, ModelAnswers):  # a chat expert speaks in the words of the panel
            return output
        return interpret(output, size(batch), self._words, self.says(), self.logits)


def models_of(path: str | Path) -> list[Any]:
    """Return the models that a panel file names; none is opened."""
    with naming(path):
        experts = panel_files.load(path).get("experts")
    named = [expert for expert in experts if isinstance(expert, dict)] if isinstance(experts, list) else []
    return [panel_files.with_options(expert).get("model") for expert in named]


def folder_of(path: str | os.PathLike[str]) -> Path:
    """Return where the paths of a panel's models start: the folder of the file, not of a link to it."""
    return Path(path).resolve().parent


def panel_of_models(path: str | os.PathLike[str], trust: bool = False) -> Panel:
    """Return the panel of a file; an expert without `knows` knows what its model says."""
    with naming(path):
        data = panel_files.load(path)
        experts, classes = data.get("experts"), data.get("classes")
        if isinstance(experts, list) and isinstance(classes, list):
            experts = [_described(expert, data.get("describe")) for expert in experts]
            data["experts"] = [_complete(expert, classes, folder_of(path), trust) for expert in experts]
        return Panel.from_dict(data)


def _described(expert: Any, describe: Any) -> Any:
    """Return an expert that is a language model with what the panel says the classes mean."""
    inside = panel_files.with_options(expert) if isinstance(expert, dict) else {}
    model = inside.get("model")
    options = model if isinstance(model, dict) else {"use": model}
    if describe is None or not str(options.get("use")).startswith("chat:"):
        return expert
    return {**inside, "model": {"describe": describe, **options}}


def _complete(expert: Any, classes: list[Name], folder: Path, trust: bool) -> Any:
    """Return an expert of a panel file with what it knows, if only its model says so."""
    if not isinstance(expert, dict) or "knows" in expert or "model" not in expert:
        return expert
    inside = panel_files.with_options(expert)
    if str(inside["model"]).startswith("table:"):  # a stored table is not opened
        return expert
    name = inside.get("name", "without a name")
    found = _opened(name, classes, inside["model"], folder, trust)
    own = found.says()
    if not own:
        raise InputError(
            f"the model of expert {name!r} does not say which classes it has; write knows = "
            '["...", "..."], or classes = [...] next to the model'
        )
    return {**inside, "knows": [name for k, name in enumerate(classes) if k in found.codes(own)]}


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
    expert = _opened(name, tuple(knows), model, folder, trust)
    own = expert.says() or ()
    missing = [k for i, k in enumerate(expert.knows) if own and i not in expert.codes(own)]
    if missing:
        raise InputError(
            f"expert {name!r}: the panel says that it knows {some_of(missing)}, but its model has only "
            f"{some_of(own)}; remove what it does not know from the panel, or say what the model's classes "
            'mean with labels = { theirs = "ours" }'
        )
    return expert


def _opened(name: Name, knows: Sequence[Name], model: Any, folder: str | Path, trust: bool) -> ModelExpert:
    """Load a model that a panel names, whatever classes it has."""
    known = tuple(knows)
    try:
        found = entry(model)
        options = {key: value for key, value in found.options.items() if key not in found.kind.options}
        classes = options.get("classes")
        opened = found.open(Setting(Path(folder), known, None if classes is None else tuple(classes), trust))
        return ModelExpert(name, known, opened, **options)
    except CovoteError as error:
        raise type(error)(f"expert {name!r}: {error}") from error
