"""Models of how experts answer: uniform, or learned from counts and shrunk towards common answers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from covote.asking.answers import Answers, Flags, Ints, spread
from covote.compiled import kernel
from covote.errors import InputError, TooLargeError
from covote.panel import Panel
from covote.votes import NONE_OF_MINE

Array = NDArray[Any]

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
"""Candidate numbers of common answers to add to an expert's own; leave-one-out decides."""
SMALL = 1e-7
"""Classes less probable than this are ignored when a question is chosen."""
ROUNDS = 30
"""Iterations to find the common choices among classes."""
LARGEST = 1 << 28
"""Largest table (answers x classes), in cells: a gigabyte."""


def check_size(panel: Panel) -> None:
    """Reject a panel whose table of answers would not fit into memory."""
    cells = (int(panel.sizes.sum()) + len(panel)) * len(panel.classes)
    if cells > LARGEST:
        raise TooLargeError(
            f"a table of {cells:,} cells for {len(panel)} experts and {len(panel.classes)} classes is too "
            "large; use the rule 'elimination' or 'vote'"
        )


class Uniform:
    """Experts who answer uniformly at random about classes they do not know.

    `chance` (experts x 5) has the probabilities of: the right class, each wrong class and "none of mine"
    about a class that the expert knows; each class and "none of mine" about another.
    """

    def __init__(self, panel: Panel, accuracy: Array, none: tuple[float, float]) -> None:
        self._panel = panel
        right, sizes = np.clip(accuracy, 1e-6, 1 - 1e-6), panel.sizes
        inside, outside = (np.clip(rate, 1e-9, 1 - 1e-9) for rate in none)
        alone = sizes == 1  # the only wrong answer of an expert who knows one class is "none of mine"
        self._chance = np.stack(
            [
                np.where(alone, 1.0, right) * (1 - inside),
                (1 - right) / np.maximum(sizes - 1, 1) * (1 - inside),
                np.full(len(sizes), inside),
                (1 - outside) / sizes,
                np.full(len(sizes), outside),
            ],
            axis=1,
        )

    def evidence(self, answers: Answers) -> Array:
        """Return (items x classes) the logarithm of the answers' probability, up to a constant per item."""
        heard = answers.heard
        log = np.log(self._chance)[answers.expert]
        none = answers.answer == NONE_OF_MINE
        wrong = np.where(none, log[:, 2] - log[:, 4], log[:, 1] - log[:, 3])
        right = np.where(answers.answer >= 0, log[:, 0] - log[:, 1], 0.0)
        found = spread(self._panel, answers, np.where(heard, wrong, 0.0))
        named = np.flatnonzero(answers.answer >= 0)
        np.add.at(found, (answers.item[named], answers.answer[named]), right[named])
        return found

    def is_known(self, answers: Answers, best: Ints) -> Flags:
        """Return the items for which the model has enough data: all of them."""
        return np.ones(answers.size, dtype=np.bool_)

    def gains(self, share: Array, wanted: Flags) -> Array:
        """Return (items x experts) how much an answer raises the agreement of two draws of a class."""
        gain = np.zeros(wanted.shape)
        _uniform_gains(share, *self._panel.layout.known, self._chance, wanted, gain)
        return gain


class Learned:
    """Experts who answer as often as counted, shrunk towards common answers if there are few counts.

    About a class they know, an expert is expected to be right as often as about all classes they know, and to
    make all mistakes equally often; about another class, to answer like all experts who do not know it
    (:func:`_choices`). The number of such answers to add is chosen on the counts themselves, to make each
    answer most probable given all the others (leave-one-out): next to none for experts who always give the
    same answer, many for experts who answer by a common similarity.

    If an expert answered fewer than `least` items of a class they do not know, their answers say nothing
    about it. Ours.
    """

    def __init__(self, panel: Panel, counts: Array, least: int) -> None:
        check_size(panel)
        self._panel = panel
        self._first = first = panel.layout.cells.start
        if counts.shape != (first[-1], len(panel.classes)) or not (np.isfinite(counts) & (counts >= 0)).all():
            raise InputError(
                f"counts have shape {counts.shape}; give one count, 0 or more, for each of {first[-1]} "
                f"answers and {len(panel.classes)} classes, or use Posterior.learned(votes, truth)"
            )
        self._chance, total = _shrunk(panel, first, counts)
        self._seen = panel.knows | (total >= least)
        seen = np.repeat(self._seen, np.diff(first), axis=0)
        self._weight = np.where(seen, np.log(self._chance), np.float32(0))
        # (experts x classes + 1) the number of each answer, "none of mine" last
        place = np.concatenate([np.cumsum(panel.knows, axis=1) - 1, panel.sizes[:, None]], axis=1)
        self._cell = first[:-1, None] + place

    def evidence(self, answers: Answers) -> Array:
        """Return (items x classes) the logarithm of the answers' probability."""
        heard = np.flatnonzero(answers.heard)
        answer = np.where(answers.answer[heard] == NONE_OF_MINE, -1, answers.answer[heard])  # the last place
        cell = self._cell[answers.expert[heard], answer]
        found = csr_array(
            (np.ones(len(heard)), (answers.item[heard], cell)), shape=(answers.size, len(self._weight))
        )
        return np.asarray(found @ self._weight, dtype=np.float64)

    def is_known(self, answers: Answers, best: Ints) -> Flags:
        """Return the items for which every expert who answered was seen with the leading class."""
        unseen = answers.heard & ~self._seen[answers.expert, best[answers.item]]
        found: Flags = np.bincount(answers.item[unseen], minlength=answers.size) == 0
        return found

    def gains(self, share: Array, wanted: Flags) -> Array:
        """Return (items x experts) how much an answer raises the agreement of two draws of a class."""
        gain = np.zeros(wanted.shape)
        _learned_gains(share, self._first, self._chance, wanted, gain)
        return gain


def _uniform_steps(share: Array, start: Array, known: Array, *_: Any) -> int:
    return len(share) * 10 * len(known)


# One compiled loop each: as whole arrays they would need items x answers cells, and take three times as long
# (benchmarks/asking.py, speed: posterior).
@kernel(steps=_uniform_steps)
def _uniform_gains(share: Any, start: Any, known: Any, chance: Any, wanted: Any, gain: Any) -> None:
    for n in range(len(share)):
        squares = 0.0
        for k in range(share.shape[1]):
            squares += share[n, k] * share[n, k]
        for i in range(len(start) - 1):
            if not wanted[n, i]:
                continue
            inside, within = 0.0, 0.0
            for place in range(start[i], start[i + 1]):
                s = share[n, known[place]]
                inside += s
                within += s * s
            base = (1.0 - inside) * chance[i, 3] + inside * chance[i, 1]
            even = (squares - within) * chance[i, 3] ** 2 + within * chance[i, 1] ** 2
            right = chance[i, 0] - chance[i, 1]
            sure = chance[i, 0] ** 2 - chance[i, 1] ** 2
            none = (1.0 - inside) * chance[i, 4] + inside * chance[i, 2]
            total = ((squares - within) * chance[i, 4] ** 2 + within * chance[i, 2] ** 2) / none - squares
            for place in range(start[i], start[i + 1]):
                s = share[n, known[place]]
                total += (even + s * s * sure) / (base + s * right)
            gain[n, i] = total


def _learned_steps(share: Array, first: Array, chance: Array, *_: Any) -> int:
    return len(share) * chance.size


@kernel(steps=_learned_steps)
def _learned_gains(share: Any, first: Any, chance: Any, wanted: Any, gain: Any) -> None:
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


def _shrunk(panel: Panel, first: Ints, counts: Array) -> tuple[NDArray[np.float32], Array]:
    """Return (answers x classes) shrunk probabilities, and (experts x classes) how many answers there are."""
    common = _choices(panel, first, counts)
    expected = np.empty(counts.shape)
    known = np.repeat(panel.knows, np.diff(first), axis=0)
    for i, row in enumerate(panel.knows):
        span = slice(first[i], first[i + 1])
        mine = np.flatnonzero(row)
        size, own = len(mine), counts[span]
        right = own[np.arange(size), mine].sum()
        accuracy = (right + 9.0) / (own[:, mine].sum() + 10.0)
        rows = common[np.append(mine, len(row))]
        rows /= rows.sum(axis=0)
        rows[:, mine] = (1 - accuracy) / size
        rows[np.arange(size), mine] = accuracy
        expected[span] = rows
    total = np.add.reduceat(counts, first[:-1], axis=0)
    heard = np.repeat(total, np.diff(first), axis=0)
    strength = np.where(
        known, _strength(counts, heard, expected, known), _strength(counts, heard, expected, ~known)
    )
    return ((counts + strength * expected) / (heard + strength)).astype(np.float32), total


def _strength(counts: Array, heard: Array, expected: Array, where: NDArray[np.bool_]) -> float:
    """Return the number of expected answers that makes each answer most probable, given the others."""
    cells = where & (counts > 0)
    said, total, likely = counts[cells], heard[cells], expected[cells]
    scores = [
        float((said * np.log((np.maximum(said - 1, 0) + s * likely) / (np.maximum(total - 1, 0) + s))).sum())
        for s in STRENGTHS
    ]
    return STRENGTHS[int(np.argmax(scores))]


def _choices(panel: Panel, first: Array, counts: Array) -> NDArray[np.float64]:
    """Return (answers x classes): how much experts who do not know a class prefer each answer.

    The answers are the classes, then "none of mine". An expert chooses among the answers they can give in
    proportion to these numbers (Luce, 1959, Individual Choice Behavior), which are found as by Hunter (2004,
    MM algorithms for generalized Bradley-Terry models). One choice, spread evenly over all answers, is added
    to those that were made, so that no number is zero.
    """
    classes = len(panel.classes)
    made, more = np.full((classes + 1, classes), 0.02), 0.02 * (classes + 1)
    answers = [np.append(np.flatnonzero(row), classes) for row in panel.knows]
    outside = [np.where(row, 0.0, counts[first[i] : first[i + 1]]) for i, row in enumerate(panel.knows)]
    for mine, own in zip(answers, outside, strict=True):
        made[mine] += own
    total = [own.sum(axis=0) for own in outside]
    liking = np.full((classes + 1, classes), 1 / (classes + 1))
    for _ in range(ROUNDS):
        offered = np.full((classes + 1, classes), more)
        for mine, number in zip(answers, total, strict=True):
            offered[mine] += number / liking[mine].sum(axis=0)
        liking = made / offered
        liking /= liking.sum(axis=0)
    return liking
