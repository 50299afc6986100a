"""The state of many items in flight: a log of questions, and a few numbers per item."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.errors import FileError
from covote.votes import NOT_ASKED

Array = NDArray[Any]

NO_ANSWER = NOT_ASKED
"""The expert was asked and did not answer; it is not asked about this item again."""
WAITING = -3
"""The expert was asked, and its answer is awaited."""

OPEN, SETTLED, STUCK = range(3)
"""An item has more to be asked; its class is settled; nobody who is left could settle it."""

KEPT = ("status", "waiting", "spent", "questions")


class Log(NamedTuple):
    """All questions in the order in which they were asked; those about one item are linked backwards.

    The questions about item n are ``last[n]``, ``previous[last[n]]``, and so on until -1. An answer is a
    class, ``NO_ANSWER``, ``NONE_OF_MINE`` or ``WAITING``.
    """

    last: Array
    item: Array
    expert: Array
    answer: Array
    previous: Array


class State:
    """What was asked and answered about a number of items; everything else follows from it.

    A question takes 16 bytes and an item 21, so a million items with 30 questions each take half a gigabyte.
    """

    def __init__(self, items: int, experts: int, classes: int) -> None:
        self.log = Log(
            np.full(items, -1, dtype=np.int64),
            np.empty(0, dtype=np.int32),
            np.empty(0, dtype=_integers(experts)),
            np.empty(0, dtype=_integers(classes)),
            np.empty(0, dtype=np.int64),
        )
        self.used = 0
        self.status = np.full(items, OPEN, dtype=np.uint8)
        self.waiting = np.zeros(items, dtype=np.int32)
        self.spent = np.zeros(items, dtype=np.float64)
        self.questions = np.zeros(experts, dtype=np.int64)
        self.first = 0

    def __len__(self) -> int:
        return len(self.status)

    @property
    def written(self) -> Log:
        """The log without the room that is kept for more."""
        return Log(self.log.last, *(column[: self.used] for column in self.log[1:]))

    def append(self, item: Array, expert: Array, cost: Array) -> None:
        """Write down questions that are asked now: at most one per item."""
        begin, end = self.used, self.used + len(item)
        if end > len(self.log.item):
            room = max(1024, end, len(self.log.item) * 3 // 2)
            self.log = Log(self.log.last, *(_grown(column, room) for column in self.log[1:]))
        log = self.log
        log.item[begin:end] = item
        log.expert[begin:end] = expert
        log.answer[begin:end] = WAITING
        log.previous[begin:end] = log.last[item]
        log.last[item] = np.arange(begin, end)
        self.used = end
        self.waiting[item] += 1
        self.spent[item] += cost
        self.questions += np.bincount(expert, minlength=len(self.questions))

    def remove_last(self) -> tuple[int, int]:
        """Take back the question that was asked last, answered or not; return (item, expert)."""
        entry = self.used - 1
        log = self.log
        item, expert = int(log.item[entry]), int(log.expert[entry])
        log.last[item] = log.previous[entry]
        if log.answer[entry] == WAITING:
            self.waiting[item] -= 1
        self.questions[expert] -= 1
        self.used = entry
        self.first = min(self.first, item)
        return item, expert

    def arrays(self) -> dict[str, Array]:
        """Return all of it by name, for :func:`restored`."""
        return {**self.written._asdict(), **{name: getattr(self, name) for name in KEPT}}


def restored(path: str | os.PathLike[str], arrays: dict[str, Array], experts: int, classes: int) -> State:
    """Return the state that some arrays describe, if they fit together."""
    try:
        items = len(arrays["last"])
        state = State(items, experts, classes)
        state.used = len(arrays["item"])
        columns = [arrays[name].astype(kept.dtype) for name, kept in zip(Log._fields, state.log, strict=True)]
        state.log = Log(*columns)
        for name in KEPT:
            getattr(state, name)[:] = arrays[name]
        log = state.log
        consistent = (
            all(len(column) == state.used for column in log[1:])
            and _within(log.last, -1, state.used)
            and _within(log.item, 0, items)
            and _within(log.expert, 0, experts)
            and _within(log.answer, WAITING, classes)
            and bool((log.previous < np.arange(state.used)).all() and (log.previous >= -1).all())
        )
        if not consistent:
            raise ValueError("numbers out of range")
    except (KeyError, ValueError, TypeError) as error:
        raise FileError(f"{path} holds a damaged state of an Asker; load an earlier copy") from error
    return state


def _within(values: Array, low: int, high: int) -> bool:
    return bool(((values >= low) & (values < high)).all())


def _integers(count: int) -> Any:
    return np.int16 if count < 2**15 else np.int32


def _grown(column: Array, room: int) -> Array:
    grown = np.empty(room, dtype=column.dtype)
    grown[: len(column)] = column
    return grown
