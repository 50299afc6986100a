"""What experts answer about classes they do not know: tables for the compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.errors import InputError, TooLargeError
from covote.panel import Panel

_MOST_CHANCES = 2**28  # cells of all confusion tables together: 2 GiB


def _no_habit() -> NDArray[np.int32]:
    return np.empty((0, 0), dtype=np.int32)


def _no_starts() -> NDArray[np.int64]:
    return np.zeros(1, dtype=np.int64)


def _no_rivals() -> NDArray[np.int32]:
    return np.empty(0, dtype=np.int32)


def _no_chances() -> NDArray[np.float64]:
    return np.empty(0, dtype=np.float64)


@dataclass(frozen=True)
class Noise:
    """How the answers outside expertise come about; nothing set means uniformly at random.

    Attributes
    ----------
    habit
        (classes x experts) the one answer an expert always gives for a class it does not know, -1 if none.
    rival_start, rivals
        Per true class, the wrong classes that all noise may back together.
    chances, chances_start, chances_inside
        Cumulative probabilities of the answers, per expert and true class; `chances_inside` says whether
        they hold inside expertise too.
    """

    habit: NDArray[np.int32] = field(default_factory=_no_habit)
    rival_start: NDArray[np.int64] = field(default_factory=_no_starts)
    rivals: NDArray[np.int32] = field(default_factory=_no_rivals)
    chances: NDArray[np.float64] = field(default_factory=_no_chances)
    chances_start: NDArray[np.int64] = field(default_factory=_no_starts)
    chances_inside: bool = False


def similar(panel: Panel, similarity: ArrayLike | None, temperature: float, seed: int) -> Noise:
    """Answers by similarity: a class an expert does not know looks to it like the nearest one it knows.

    Real classifiers do this, all in the same way for the same class, so that noise agrees with noise: the
    hard case of theory.md section 5. With a temperature, the answer v has weight
    exp(similarity / temperature).
    """
    if not temperature >= 0:
        raise InputError(f"temperature must be 0 or more, not {temperature}")
    classes = len(panel.classes)
    if similarity is None:
        # Classes as random points in the plane: neighbours confuse, and confusion is symmetric.
        points = np.random.default_rng([seed, 0x51]).normal(size=(classes, 2))
        matrix = None
    else:
        matrix = _checked_similarity(similarity, classes)
    habit = np.full((classes, len(panel)), -1, dtype=np.int32)
    rows = []
    if temperature > 0:
        _check_chances(panel)
    for i, row in enumerate(panel.knows):
        known = np.flatnonzero(row)
        if matrix is not None:
            near = matrix[:, known]
        else:
            near = -np.hypot(*(points[:, None, :] - points[None, known, :]).transpose(2, 0, 1))
        if temperature == 0:
            habit[:, i] = known[np.argmax(near, axis=1)]
        else:
            weights = np.exp((near - near.max(axis=1, keepdims=True)) / temperature)
            rows.append(weights / weights.sum(axis=1, keepdims=True))
    if temperature == 0:
        return Noise(habit=habit)
    return _from_rows(rows, inside=False)


def _checked_similarity(similarity: ArrayLike, classes: int) -> NDArray[np.float64]:
    try:
        matrix = np.asarray(similarity, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"similarity must be a {classes} x {classes} matrix of numbers") from error
    if matrix.shape != (classes, classes):
        raise InputError(
            f"similarity has shape {matrix.shape}; it must be {classes} x {classes}, one row per true class"
        )
    if not np.isfinite(matrix).all():
        k, j = np.argwhere(~np.isfinite(matrix))[0]
        raise InputError(f"similarity[{k}, {j}] is {matrix[k, j]}; it must be a finite number")
    return matrix


def confusions(panel: Panel, tables: Sequence[Any] | NDArray[Any]) -> Noise:
    """Answers by a confusion table per expert: the probability of each answer, per true class.

    A table is (classes x classes), or (classes x the classes the expert knows).
    """
    if len(tables) != len(panel):
        raise InputError(f"{len(tables)} confusion tables for {len(panel)} experts; give one per expert")
    _check_chances(panel)
    rows = [_checked_table(panel, i, table) for i, table in enumerate(tables)]
    return _from_rows(rows, inside=True)


def _checked_table(panel: Panel, i: int, table: Any) -> NDArray[np.float64]:
    expert, classes, known = panel.names[i], len(panel.classes), np.flatnonzero(panel.knows[i])
    try:
        array = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the confusions of expert {expert!r} are not a table of numbers") from error
    if array.shape == (classes, classes):
        outside = array.copy()
        outside[:, known] = 0
        if outside.any():
            k, v = np.argwhere(outside != 0)[0]
            raise InputError(
                f"the confusions of expert {expert!r} let it answer {panel.classes[v]!r} for "
                f"{panel.classes[k]!r}, a class it does not know; that probability must be 0"
            )
        array = array[:, known]
    if array.shape != (classes, len(known)):
        raise InputError(
            f"the confusions of expert {expert!r} have shape {array.shape}; they must be {classes} x "
            f"{classes} or {classes} x {len(known)} (true class x answer)"
        )
    wrong = ~((array >= 0).all(axis=1) & (np.abs(array.sum(axis=1) - 1) < 1e-6))
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InputError(
            f"the confusions of expert {expert!r} for true class {panel.classes[k]!r} are not probabilities "
            f"that sum to 1 (they sum to {array[k].sum():g})"
        )
    return array


def _check_chances(panel: Panel) -> None:
    cells = len(panel.classes) * int(panel.sizes.sum())
    if cells > _MOST_CHANCES:
        raise TooLargeError(
            f"confusion tables for {len(panel)} experts and {len(panel.classes)} classes need "
            f"{cells * 8 / 2**30:.1f} GiB; use noise='similar' with temperature=0"
        )


def _from_rows(rows: list[NDArray[np.float64]], *, inside: bool) -> Noise:
    sizes = [row.size for row in rows]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    sums = [np.cumsum(row, axis=1).ravel() for row in rows]
    flat = np.concatenate(sums) if sums else _no_chances()
    return Noise(chances=flat, chances_start=starts, chances_inside=inside)
