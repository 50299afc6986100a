"""What each answer of each expert says about each class: the model of the default decoder."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import interpreted, kernel
from covote.decoding.answer_model import AnswerModel
from covote.decoding.linear import ONE
from covote.decoding.statistics import Statistics
from covote.errors import TooLargeError
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.patterns import each_row

Array = NDArray[Any]

SMALL = 1e-7
"""Classes less probable than this are ignored when a question is chosen."""

NEVER = np.log(1e-6)
"""The logarithm of the probability of an answer that an expert never gave, such as "none of mine"."""

LARGEST = 1 << 28
"""Largest table (answers x classes), in cells: a gigabyte."""


def answer_table(votes: Votes, truth: NDArray[np.int64]) -> NDArray[np.float32]:
    """Learn from items of a known class how probable each answer is (answers x classes, as logarithms).

    The answers are numbered as in `Layout.cells`: expert by expert, their classes, then "none of mine". Few
    answers are shrunk towards the common habit, so none is certain (:mod:`covote.decoding.answer_model`).

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> votes = Votes.from_dense([[0, 1, 0], [1, 1, 2], [0, 2, 2]] * 9, panel)
    >>> table = np.exp(answer_table(votes, np.tile([0, 1, 2], 9)))
    >>> table.shape, round(float(table[0, 0]), 1)  # the first expert says cat to a cat
    ((9, 3), 1.0)
    """
    panel, rows = votes.panel, each_row(votes)
    check_size(panel)
    classes = len(panel.classes)
    item = np.repeat(np.arange(len(votes)), np.diff(rows.ragged.indptr))
    keys = rows.cell.astype(np.int64) * classes + truth[item]
    share = np.bincount(truth, minlength=classes) * ONE
    counts = Statistics.of(panel, "gold", len(votes), share, keys, np.full(len(keys), ONE))
    return table_of(AnswerModel(counts, "own"))


def table_of(model: AnswerModel) -> NDArray[np.float32]:
    """Return how probable each answer is by a fitted model (answers x classes, as logarithms)."""
    panel, cells = model.statistics.panel, model.statistics.panel.layout.cells
    check_size(panel)
    logs = np.log(model.probability(np.arange(len(cells.label))))
    never = model.statistics.expert_totals().none == 0
    logs[(cells.label == len(panel.classes)) & never[cells.expert]] = NEVER
    return logs.astype(np.float32)


def check_size(panel: Panel) -> None:
    """Reject a panel whose table of answers would not fit into memory."""
    cells = (int(panel.sizes.sum()) + len(panel)) * len(panel.classes)
    if cells > LARGEST:
        raise TooLargeError(
            f"a table of {cells:,} cells for {len(panel)} experts and {len(panel.classes)} classes is too "
            "large; use the rule 'elimination' or 'vote'"
        )


def gains(panel: Panel, table: Array, share: Array, wanted: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return (items x experts) how much an answer raises the agreement of two draws of a class."""
    gain = np.zeros(wanted.shape)
    # A question about one item must not wait for the compiler.
    with interpreted() if len(share) == 1 else nullcontext():
        _gains(share, panel.layout.cells.start, np.exp(table), wanted, gain)
    return gain


def _steps(share: Array, first: Array, chance: Array, *_: Any) -> int:
    return len(share) * chance.size


# A compiled loop: as whole arrays it would need items x answers cells, and take three times as long
# (benchmarks/asking.py, speed: posterior).
@kernel(steps=_steps)
def _gains(share: Any, first: Any, chance: Any, wanted: Any, gain: Any) -> None:
    likely = np.zeros(share.shape[1], dtype=np.int64)
    for n in range(len(share)):
        count, squares = 0, 0.0
        for k in range(share.shape[1]):
            if share[n, k] >= SMALL:
                likely[count] = k
                count += 1
                squares += share[n, k] * share[n, k]
        for i in range(len(first) - 1):
            if not wanted[n, i]:
                continue
            total = -squares
            for cell in range(first[i], first[i + 1]):
                named, both = 0.0, 0.0
                for place in range(count):
                    joint = share[n, likely[place]] * chance[cell, likely[place]]
                    named += joint
                    both += joint * joint
                if named > 0:
                    total += both / named
            gain[n, i] = total
