"""From what a model says, in its own words, to answers that a panel understands."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.arguments import some_of
from covote.errors import ExpertError, InputError
from covote.panel import Name
from covote.votes import NONE_OF_MINE

NONE = "none of mine"
"""The label that means: this item belongs to none of the classes that I know."""

NO_ANSWER = -3
"""The expert was asked and gave nothing that can be used."""
_UNKNOWN = -4  # no class that the expert knows
_SLACK = 0.01  # how far from 1 probabilities may add up: some models compute in 16 bits


@dataclass(frozen=True)
class ModelAnswers:
    """What an expert says about the items of a batch.

    Attributes
    ----------
    label
        One index into what the expert knows per item; ``NONE_OF_MINE`` (-2) or ``NO_ANSWER`` (-3) where there
        is none.
    probability
        (items x classes it knows), if the expert gives probabilities.
    note
        What the first answer that cannot be used was, and what to do about it; empty if there is none.
    scores
        (items x options) what the probabilities were made from, if they are calibrated later.
    usage
        What the answers have cost (:class:`covote.models.chat.Usage`), if they were paid for.
    """

    label: NDArray[np.int64]
    probability: NDArray[np.float32] | None = None
    note: str = ""
    scores: NDArray[np.float32] | None = None
    usage: Any = None

    def __len__(self) -> int:
        return len(self.label)


class Dictionary(dict[Any, int]):
    """From a model's labels to indices into what its expert knows; filled as labels come.

    A label is looked up in `labels` (theirs to ours) if that has it, else among the classes the expert knows:
    as it is, or by its text where that is unambiguous (a panel file cannot write the keys of `labels` as
    numbers).

    >>> words = Dictionary(("skin", "eye"), {"naevus": "skin", "0": "eye"})
    >>> words["eye"], words["naevus"], words[0], words["none of mine"]
    (1, 0, 1, -2)
    """

    def __init__(self, knows: Sequence[Name], labels: Mapping[str, Name]) -> None:
        super().__init__()
        self.knows = tuple(knows)
        self._known = {name: k for k, name in enumerate(knows)}
        texts = Counter(map(str, knows))
        self._texts = {str(name): k for name, k in self._known.items() if texts[str(name)] == 1}
        self._labels = dict(labels)
        for theirs, ours in self._labels.items():
            if self._ours(ours) == _UNKNOWN:
                raise InputError(
                    f"labels maps {theirs!r} to {ours!r}, which the expert does not know (it knows: "
                    f'{some_of(knows)}); map it to one of these or to "{NONE}"'
                )

    def _ours(self, name: Any) -> int:
        if name in self._known:
            return self._known[name]
        if str(name) in self._texts:
            return self._texts[str(name)]
        return NONE_OF_MINE if name == NONE else _UNKNOWN

    def __missing__(self, label: Any) -> int:
        if isinstance(label, bytes):
            label = label.decode("utf-8", "replace")
        whole = int(label) if isinstance(label, float) and label.is_integer() else label
        if label is None:
            code = NO_ANSWER
        elif str(whole) in self._labels:
            code = self._ours(self._labels[str(whole)])
        else:
            code = self._ours(whole)
        if label == label:  # not-a-number never equals itself
            self[label] = code
        return code


def interpret(
    output: Any, items: int, words: Dictionary, classes: tuple[Any, ...] | None, logits: bool = False
) -> ModelAnswers:
    """Check what a model said about `items` items, and put it into the words of the panel.

    `classes` are what the columns of probabilities are, in the model's words. An empty tuple stands for the
    classes that the expert knows, in the words of the panel.
    """
    array, classes = (output, classes) if isinstance(output, np.ndarray) else _array(output, classes, logits)
    if array.ndim == 2 and array.shape[1] == 1 and array.dtype.kind != "f":
        array = array[:, 0]
    if array.ndim == 0 or len(array) != items:
        rows = "one answer" if array.ndim == 0 else f"{len(array)} answers"
        raise ExpertError(f"gave {rows} for {items} items (shape {array.shape})")
    if array.ndim == 1:
        return _labels(array, words)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ExpertError(
            f"gave an array of shape {array.shape} and type {array.dtype}; it must give one label per "
            "item, or a matrix of probabilities with one column per class"
        )
    if array.dtype.kind != "f" or array.dtype.itemsize < 4:
        array = array.astype(np.float64)  # 16 bits are too few to add up
    return _probabilities(array, words, classes, logits)


def _array(
    output: Any, classes: tuple[Any, ...] | None, logits: bool
) -> tuple[NDArray[Any], tuple[Any, ...] | None]:
    """Return an array of what is none, and what its columns are."""
    if isinstance(output, list) and output and all(isinstance(row, Mapping) for row in output):
        classes, output = _from_mappings(output, -np.inf if logits else 0.0)
    # numpy would turn [1, "1"] into two equal strings.
    mixed = isinstance(output, list | tuple) and any(isinstance(value, str) for value in output)
    return np.array(output, dtype=object) if mixed else np.asarray(output), classes


def _from_mappings(
    rows: list[Mapping[Any, float]], absent: float
) -> tuple[tuple[Any, ...], NDArray[np.float64]]:
    """Return the classes of all rows and the matrix of one mapping (class to probability) per item.

    >>> _from_mappings([{"a": 0.9, "b": 0.1}, {"b": 0.2, "c": 0.8}], 0.0)[0]
    ('a', 'b', 'c')
    """
    classes = tuple(dict.fromkeys(name for row in rows for name in row))
    return classes, np.array([[row.get(name, absent) for name in classes] for row in rows], dtype=np.float64)


def _labels(array: NDArray[Any], words: Dictionary) -> ModelAnswers:
    values = array.tolist()
    try:
        codes = np.fromiter(map(words.__getitem__, values), dtype=np.int64, count=len(values))
    except TypeError as error:
        raise ExpertError(f"gave {values[0]!r} as a label; labels are strings or integers") from error
    unknown = codes == _UNKNOWN
    if not unknown.any():
        return ModelAnswers(codes)
    first = int(np.argmax(unknown))
    codes[unknown] = NO_ANSWER
    return ModelAnswers(codes, None, _not_known(values[first], first, words.knows))


def _probabilities(
    probabilities: NDArray[Any], words: Dictionary, classes: tuple[Any, ...] | None, logits: bool
) -> ModelAnswers:
    ours = classes == ()
    names = _columns(probabilities.shape[1], words.knows, words.knows if ours else classes)
    codes = np.arange(len(names)) if ours else np.array([words[name] for name in names], dtype=np.int64)
    if logits:
        probabilities = _softmax(probabilities)
    order = np.argsort(codes)
    if np.array_equal(codes[order], np.arange(len(words.knows))) and _are_probabilities(probabilities):
        # One column for each class and nothing wrong, as nearly always. Of equally probable classes the first
        # is the vote; the probabilities, which go along, tell the tie.
        soft = np.minimum(probabilities[:, order].astype(np.float32, copy=False), 1)
        return ModelAnswers(np.argmax(soft, axis=1), soft)
    bad: NDArray[np.bool_] = ~np.isfinite(probabilities).all(axis=1)
    _check_probabilities(probabilities[~bad])
    return _summed(np.where(bad[:, None], 0.0, probabilities), bad, codes, names, words.knows)


def _softmax(scores: NDArray[Any]) -> NDArray[np.float64]:
    """Return probabilities; rows that are not numbers stay so. A score of -inf is a probability of 0."""
    top = scores.max(axis=1, keepdims=True)
    usable: NDArray[np.bool_] = np.isfinite(top)  # not-a-number and infinity are their row's maximum
    probabilities = np.exp(np.where(usable, scores - np.where(usable, top, 0.0), 0.0).astype(np.float64))
    return np.where(usable, probabilities / probabilities.sum(axis=1, keepdims=True), np.nan)


def _are_probabilities(probabilities: NDArray[Any]) -> bool:
    """Whether all rows are non-negative and add up to 1; not-a-number is neither."""
    sums = probabilities @ np.ones(probabilities.shape[1], dtype=probabilities.dtype)
    return bool(probabilities.min(initial=0) >= 0 and (np.abs(sums - 1) <= _SLACK).all())


def _summed(
    probabilities: NDArray[Any],
    bad: NDArray[np.bool_],
    codes: NDArray[np.int64],
    names: tuple[Any, ...],
    knows: tuple[Name, ...],
) -> ModelAnswers:
    """Add up columns of the same class; if the most probable class is another one, there is no answer."""
    total = np.zeros((len(probabilities), len(knows)))
    for column in np.flatnonzero(codes >= 0):
        total[:, codes[column]] += probabilities[:, column]
    none = probabilities[:, codes == NONE_OF_MINE].sum(axis=1)
    other = probabilities[:, codes == _UNKNOWN].max(axis=1, initial=-1.0)
    label = np.argmax(total, axis=1)
    best = total.max(axis=1, initial=0.0)
    label[none > best] = NONE_OF_MINE
    unknown = (other > np.maximum(best, none)) & ~bad
    note = ""
    if unknown.any():
        first = int(np.argmax(unknown))
        likely = int(np.argmax(np.where(codes == _UNKNOWN, probabilities[first], -1.0)))
        note = _not_known(names[likely], first, knows)
    if bad.any():
        note = (
            f"gave probabilities that are not numbers (NaN, first for row {int(np.argmax(bad))} of a batch)"
        )
    label[unknown | bad] = NO_ANSWER
    total[unknown | bad] = 0.0
    return ModelAnswers(label, np.minimum(total, 1.0).astype(np.float32), note)


def _columns(count: int, knows: tuple[Name, ...], classes: tuple[Any, ...] | None) -> tuple[Any, ...]:
    if classes is None:
        raise ExpertError(
            f"gave {count} columns of probabilities without saying which classes they are; write classes = "
            f"[...] next to the model, in the order of its columns (the expert knows: {some_of(knows)})"
        )
    if len(classes) != count:
        raise ExpertError(
            f"gave {count} columns of probabilities for {len(classes)} classes ({some_of(classes)}); correct "
            "classes = [...] next to the model"
        )
    return classes


def _check_probabilities(probabilities: NDArray[Any]) -> None:
    if _are_probabilities(probabilities):
        return
    outside = (probabilities < 0) | (probabilities > 1 + _SLACK)
    sums = probabilities.sum(axis=1)
    what = f"gave probabilities that add up to {sums[np.argmax(np.abs(sums - 1))]:.4g} for an item, not to 1"
    if outside.any():
        what = f"gave {probabilities[outside][0]:.4g} as a probability"
    raise ExpertError(f"{what}; if these are scores before softmax, write logits = true next to the model")


def _not_known(label: Any, row: int, knows: tuple[Name, ...]) -> str:
    return (
        f"answered {label!r} (row {row} of a batch), which it does not know (it knows: {some_of(knows)}); if "
        f'that is another name for one of these, write labels = {{ "{label}" = "..." }} next to the model, '
        f'or "{NONE}" for a class outside'
    )
