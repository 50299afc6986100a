"""Chooser: somebody who can be given any few classes to choose from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_count, check_size
from covote.asking import saved
from covote.errors import InputError
from covote.panel import Name, class_names
from covote.votes import NONE_OF_MINE

Array = NDArray[Any]
NOBODY = -1


@dataclass(frozen=True, eq=False)
class Choices:
    """What to choose from: the position of each item, and a row of class indices, filled up with -1."""

    item: NDArray[np.int64]
    classes: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.item)


class Chooser:
    """Find the class of items by letting somebody choose among a few classes at a time.

    A language model or a person at a screen knows every class, but looks at only `size` of them at once, and
    names the right one if it is among them. The class that was named last is offered again with classes
    that were not offered yet, so `batch=1` takes exactly ceil((K-1)/(R-1)) answers without a prior, and
    nothing takes fewer in the worst case. With larger batches several groups of classes are offered at once,
    down to ceil(log_R K) rounds of a knock-out.

    theory: section 6, ``bounds.adaptive_answers``, ``bounds.knockout_rounds``.

    Parameters
    ----------
    classes
        The K classes, or their number.
    size
        How many classes can be offered at once (R).
    items
        How many items there are.
    prior
        How probable the classes are: one probability per class, or one row per item. Likely ones are offered
        first.
    error
        Stop when the classes that were not offered are together at most this probable. Whatever is answered
        when the right class is missing, a label is then wrong no more often than that.
    batch
        How many groups of classes are offered at once: fewer rounds, and with a prior more answers.

    >>> chooser = Chooser(["ant", "bee", "cat", "dog", "eel"], 3, 1)
    >>> while len(choices := chooser.next()):
    ...     offered = [chooser.classes[k] for k in choices.classes[0]]
    ...     chooser.tell(choices, [4 if "eel" in offered else choices.classes[0, 0]])
    >>> chooser.classes[chooser.labels()[0]], chooser.answers
    ('eel', 2)
    """

    def __init__(
        self,
        classes: int | Iterable[Name],
        size: int,
        items: int,
        *,
        prior: ArrayLike | None = None,
        error: float = 0.0,
        batch: int = 1,
    ) -> None:
        self.classes = class_names(classes)
        _, self._size = check_size(len(self.classes), size)
        self._items = check_count(items, "items", 0)
        self._batch = min(check_count(batch, "batch", 1), -(-len(self.classes) // self._size))
        if not 0 <= error < 1:
            raise InputError(f"error {error} must be at least 0 and below 1")
        self._error = float(error)
        self._order, self._rest = _ordered(prior, self._items, len(self.classes))
        self._offered = np.zeros(self._items, dtype=np.int64)
        self._alive = np.full((self._items, self._batch + 1), NOBODY, dtype=np.int64)
        self._waiting = np.zeros(self._items, dtype=np.int64)
        self._asked = Choices(np.empty(0, dtype=np.int64), np.empty((0, self._size), dtype=np.int64))
        self.answers = 0

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which items are settled: one class was named last, and the others are ruled out or improbable."""
        named = (self._alive >= 0).sum(axis=1)
        unlikely = self._unoffered() <= self._error * (1 + 1e-12)
        # A class that nobody offered needs no answer if it is the only one, or probable enough by itself.
        alone = (named == 0) & (self._offered < len(self.classes)) & (self._beyond() <= self._error)
        settled: NDArray[np.bool_] = ((named == 1) & unlikely | alone) & (self._waiting == 0)
        return settled

    def _unoffered(self) -> Array:
        left: Array = self._rest[np.arange(self._items) % len(self._rest), self._offered]
        return left

    def _beyond(self) -> Array:
        """Return how probable the classes are that come after the next one."""
        after = np.minimum(self._offered + 1, len(self.classes))
        left: Array = self._rest[np.arange(self._items) % len(self._rest), after]
        return left

    def next(self, n: int | None = None) -> Choices:
        """Return what to offer next about at most `n` items that wait for no answer; all unless given."""
        rows = np.flatnonzero(~self.done & (self._waiting == 0))[:n]
        exhausted = (self._offered[rows] == len(self.classes)) & ((self._alive[rows] >= 0).sum(axis=1) == 0)
        rows = rows[~exhausted]
        if not len(rows):
            return Choices(rows, np.empty((0, self._size), dtype=np.int64))
        pool, fresh = self._pool(rows)
        filled = (pool >= 0).reshape(len(rows), self._batch, self._size).sum(axis=2)
        groups = pool.reshape(len(rows), self._batch, self._size)
        # A class alone in its group goes on without being offered; it is never in the only group.
        self._alive[rows] = NOBODY
        row, group = np.nonzero(filled == 1)
        self._alive[rows[row], group] = groups[row, group, 0]
        row, group = np.nonzero(filled > 1)
        self._offered[rows] += fresh
        np.add.at(self._waiting, rows[row], 1)
        asked = Choices(rows[row], groups[row, group])
        self._asked = Choices(
            np.concatenate([self._asked.item, asked.item]),
            np.concatenate([self._asked.classes, asked.classes]),
        )
        return asked

    def _pool(self, rows: Array) -> tuple[Array, Array]:
        """Return the classes that are offered about each item, the named ones first; and how many are new."""
        room = self._batch * self._size
        pool = np.full((len(rows), room), NOBODY, dtype=np.int64)
        alive = self._alive[rows]
        kept = alive >= 0
        count = kept.sum(axis=1)
        row, column = np.nonzero(kept)
        place = np.cumsum(kept, axis=1)[row, column] - 1
        pool[row, place] = alive[row, column]
        fresh = np.minimum(room - count, len(self.classes) - self._offered[rows])
        row = np.repeat(np.arange(len(rows)), fresh)
        step = np.arange(len(row)) - np.repeat(np.cumsum(fresh) - fresh, fresh)
        order = self._order[rows % len(self._order)] if len(self._order) > 1 else self._order[[0] * len(rows)]
        pool[row, count[row] + step] = order[row, self._offered[rows][row] + step]
        return pool, fresh

    def tell(self, choices: Choices, answers: ArrayLike) -> None:
        """Take answers to choices that :meth:`next` gave: class indices, -2 for "none of these"."""
        codes = np.asarray(answers)
        if codes.shape != choices.item.shape or codes.dtype.kind not in "iu":
            raise InputError(
                f"{codes.dtype} answers of shape {codes.shape} to {len(choices)} choices; give one class "
                "index for each, -2 for 'none of these'"
            )
        among = (choices.classes == codes[:, None]).any(axis=1) & (codes >= 0)
        refused = ~among & (codes != NONE_OF_MINE)
        if refused.any():
            row = int(np.argmax(refused))
            offered = ", ".join(str(self.classes[k]) for k in choices.classes[row] if k >= 0)
            raise InputError(
                f"answer {codes[row]} about item {choices.item[row]} is none of the classes that were "
                f"offered ({offered}); choose one of these"
            )
        where = _entries(self._asked, choices)
        keep = np.ones(len(self._asked), dtype=np.bool_)
        keep[where] = False
        self._asked = Choices(self._asked.item[keep], self._asked.classes[keep])
        for n, answer in zip(choices.item[among].tolist(), codes[among].tolist(), strict=True):
            free = int(np.argmax(self._alive[n] == NOBODY))
            self._alive[n, free] = answer
        np.subtract.at(self._waiting, choices.item, 1)
        self.answers += len(codes)

    def labels(self) -> NDArray[np.int64]:
        """Return the class index of every settled item, -1 for the others."""
        named = self._alive.max(axis=1)
        likeliest = self._order[np.arange(self._items) % len(self._order), self._offered % len(self.classes)]
        found: NDArray[np.int64] = np.where(named >= 0, named, likeliest)
        return np.where(self.done, found, -1)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to an ``.npz`` file, completely or not at all."""
        head = {
            "classes": list(self.classes), "size": self._size, "items": self._items, "error": self._error,
            "batch": self._batch, "answers": self.answers,
        }  # fmt: skip
        arrays = {
            "order": self._order, "rest": self._rest, "offered": self._offered, "alive": self._alive,
            "waiting": self._waiting, "asked_item": self._asked.item, "asked_classes": self._asked.classes,
        }  # fmt: skip
        saved.write(path, "Chooser", head, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Chooser:
        """Read what :meth:`save` wrote, and go on from there."""
        with saved.reading(path, "Chooser") as (head, arrays):
            made = cls(head["classes"], head["size"], head["items"], error=head["error"], batch=head["batch"])
            made.answers = check_count(head["answers"], "answers", 0)
            made._put(arrays)
        return made

    def _put(self, arrays: dict[str, Array]) -> None:
        """Take over stored arrays, if they fit."""
        items, classes = self._items, len(self.classes)
        order, rest = arrays["order"].astype(np.int64), arrays["rest"].astype(np.float64)
        asked = Choices(arrays["asked_item"].astype(np.int64), arrays["asked_classes"].astype(np.int64))
        offered, alive, waiting = (arrays[name].astype(np.int64) for name in ("offered", "alive", "waiting"))
        fits = (
            order.shape in ((1, classes), (items, classes))
            and rest.shape == (len(order), classes + 1)
            and (np.sort(order, axis=1) == np.arange(classes)).all()
            and offered.shape == waiting.shape == (items,)
            and alive.shape == self._alive.shape
            and asked.classes.shape == (len(asked), self._size)
            and bool(((offered >= 0) & (offered <= classes) & (waiting >= 0)).all())
            and all(((some >= NOBODY) & (some < classes)).all() for some in (alive, asked.classes))
            and bool(((asked.item >= 0) & (asked.item < items)).all())
            and (np.bincount(asked.item, minlength=items) == waiting).all()
        )
        if not fits:
            raise ValueError("arrays that do not fit")
        self._order, self._rest, self._asked = order, rest, asked
        self._offered, self._alive, self._waiting = offered, alive, waiting


def _ordered(prior: ArrayLike | None, items: int, classes: int) -> tuple[Array, Array]:
    """Return (classes by falling probability, how probable those from each place on are), by rows."""
    if prior is None:
        rest = np.linspace(1, 0, classes + 1)[None]
        return np.arange(classes)[None], rest
    given = np.atleast_2d(np.asarray(prior, dtype=np.float64))
    if given.shape not in ((1, classes), (items, classes)):
        raise InputError(
            f"prior has shape {given.shape}; give {classes} probabilities, or a row for each item"
        )
    if not (given >= 0).all():
        raise InputError("prior has values that are no probabilities; give finite numbers, 0 or more")
    wrong = np.flatnonzero(~np.isclose(given.sum(axis=1), 1, rtol=1e-4))
    if len(wrong):
        raise InputError(f"prior of item {wrong[0]} sums to {given[wrong[0]].sum():g}; divide it by its sum")
    order = np.argsort(-given, axis=1, kind="stable")
    falling = np.take_along_axis(given, order, axis=1)
    rest = np.zeros((len(given), classes + 1))
    rest[:, :-1] = np.cumsum(falling[:, ::-1], axis=1)[:, ::-1]
    return order, rest


def _entries(asked: Choices, choices: Choices) -> Array:
    """Return where choices stand among those that wait for an answer, or say which one does not."""
    waiting = zip(asked.item.tolist(), asked.classes, strict=True)
    place = {(n, row.tobytes()): p for p, (n, row) in enumerate(waiting)}
    found: list[int] = []
    for n, row in zip(choices.item.tolist(), choices.classes, strict=True):
        at = place.pop((n, row.tobytes()), None)
        if at is None:
            raise InputError(
                f"item {n} does not wait for an answer to these classes; answer what next() offers, once"
            )
        found.append(at)
    return np.array(found, dtype=np.int64)
