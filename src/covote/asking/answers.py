"""The questions and answers so far: the state from which everything about an item follows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.panel import Panel
from covote.votes import NONE_OF_MINE, NOT_ASKED
from covote.votes.arrays import gather

Array = NDArray[Any]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

NO_ANSWER = NOT_ASKED
"""The expert was asked and did not answer; they are not asked about this item again."""
WAITING = -3
"""The expert was asked, and the answer is awaited."""


class ItemAnswers(NamedTuple):
    """The questions about some items, one entry per question.

    There are `size` items, 0 to size - 1. Each question has the position of its `item` and `expert`, and an
    `answer`: a class index, ``NONE_OF_MINE``, ``NO_ANSWER`` or ``WAITING``.
    """

    size: int
    item: Ints
    expert: Ints
    answer: Ints

    @staticmethod
    def of_one(answers: Mapping[int, int]) -> ItemAnswers:
        """Return the answers about one item, ``{expert: answer}``: a batch of one.

        >>> ItemAnswers.of_one({2: 0, 5: NO_ANSWER}).expert
        array([2, 5])
        """
        expert = np.fromiter(answers.keys(), np.int64, len(answers))
        return ItemAnswers(
            1, np.zeros_like(expert), expert, np.fromiter(answers.values(), np.int64, len(answers))
        )

    @property
    def answered(self) -> Flags:
        """Which questions were answered, "none of mine" included."""
        given: Flags = (self.answer >= 0) | (self.answer == NONE_OF_MINE)
        return given

    def asked(self, experts: int) -> Flags:
        """Return which experts were asked (items x experts)."""
        found = np.zeros((self.size, experts), dtype=np.bool_)
        found[self.item, self.expert] = True
        return found


def spread(panel: Panel, answers: ItemAnswers, amount: Array) -> Array:
    """Add an amount per question to the classes that its expert knows; return (items x classes).

    Whole amounts stay whole.
    """
    classes, known = len(panel.classes), panel.layout.known
    some = amount != 0
    item, amount = answers.item[some], amount[some]
    bounds, places = gather(known.start, answers.expert[some])
    sizes = np.diff(bounds)
    cell = np.repeat(item * classes, sizes) + known.members[places]
    weights = None if (amount == 1).all() else np.repeat(amount, sizes)
    found = np.bincount(cell, weights, minlength=answers.size * classes).reshape(-1, classes)
    return found if amount.dtype.kind == "f" else found.astype(np.int64, copy=False)


def count_votes(panel: Panel, answers: ItemAnswers) -> tuple[Array, Array]:
    """Count who named each class, N_k, and who of those that answered know it, d_k (items x classes)."""
    classes = len(panel.classes)
    authorities = spread(panel, answers, answers.answered.astype(np.int64))
    named = answers.answer >= 0
    cell = answers.item[named] * classes + answers.answer[named]
    return np.bincount(cell, minlength=answers.size * classes).reshape(-1, classes), authorities


class Log:
    """All questions in the order in which they were asked; those about one item are linked backwards.

    The questions about item n are ``last[n]``, ``previous[last[n]]``, and so on until -1. A question takes 16
    bytes and an item 8, so a million items with 30 questions each take half a gigabyte.
    """

    def __init__(self, items: int) -> None:
        self.last = np.full(items, -1, dtype=np.int64)
        self.size = 0
        self._columns = [np.empty(0, dtype=kind) for kind in (np.int32, np.int32, np.int32, np.int64)]

    @property
    def item(self) -> Array:
        """The item of each question."""
        return self._columns[0][: self.size]

    @property
    def expert(self) -> Array:
        """The expert of each question."""
        return self._columns[1][: self.size]

    @property
    def answer(self) -> Array:
        """The answer to each question; it can be written."""
        return self._columns[2][: self.size]

    def append(self, item: Array, expert: Array) -> None:
        """Append questions, at most one per item."""
        begin, end = self.size, self.size + len(item)
        if end > len(self._columns[0]):
            room = max(1024, end, self.size * 3 // 2)
            self._columns = [np.resize(column, room) for column in self._columns]
        values: tuple[Any, ...] = (item, expert, WAITING, self.last[item])
        for column, value in zip(self._columns, values, strict=True):
            column[begin:end] = value
        self.last[item] = np.arange(begin, end)
        self.size = end

    def append_all(self, item: Array, expert: Array, answer: Array) -> None:
        """Append all questions in the order in which they were asked, several per item."""
        order = np.argsort(item, kind="stable")
        follows = np.diff(item[order], prepend=-1) == 0
        previous = np.full(len(item), -1, dtype=np.int64)
        previous[order[follows]] = order[np.flatnonzero(follows) - 1]
        values = (item, expert, answer, previous)
        self._columns = [
            value.astype(column.dtype) for column, value in zip(self._columns, values, strict=True)
        ]
        self.last[item[order]] = order
        self.size = len(item)

    def remove_last(self) -> tuple[int, int, int]:
        """Remove the last question; return its item, expert and answer."""
        item, expert, answer, previous = (int(column[self.size - 1]) for column in self._columns)
        self.last[item] = previous
        self.size -= 1
        return item, expert, answer

    def about(self, rows: Array) -> ItemAnswers:
        """Return the questions about some items, in the order of `rows`."""
        row, entry = self._entries(rows)
        expert, answer = self.expert[entry], self.answer[entry]
        return ItemAnswers(len(rows), row, expert.astype(np.int64), answer.astype(np.int64))

    def find(self, items: Array, experts: Array) -> Ints:
        """Return the position of the question to each expert about each item; -1 if there is none."""
        row, entry = self._entries(items)
        same = self.expert[entry] == experts[row]
        found = np.full(len(items), -1, dtype=np.int64)
        found[row[same]] = entry[same]
        return found

    def _entries(self, rows: Array) -> tuple[Ints, Ints]:
        """Return the positions of all questions about some items, and the place of each item in `rows`."""
        row, entry = np.arange(len(rows)), self.last[rows]
        found: list[tuple[Array, Array]] = []
        while len(entry):
            there = entry >= 0
            row, entry = row[there], entry[there]
            found.append((row, entry))
            entry = self._columns[3][entry].astype(np.int64)
        found.append((row, entry))
        rows, entries = (np.concatenate(column) for column in zip(*found, strict=True))
        return rows, entries
