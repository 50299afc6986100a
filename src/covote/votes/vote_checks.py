"""Checking of what Votes are made from: indices, probabilities, ids."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import shown, some_of
from covote.errors import InputError
from covote.panel import Panel
from covote.tables.names import NONE_OF_MINE as NONE_OF_MINE
from covote.tables.names import NOT_ASKED as NOT_ASKED

SLACK = 0.005
"""How much more than 1 probabilities may add up to, for each class: people round to two digits."""


class Ragged(NamedTuple):
    """Votes item after item: those of item n are at ``indptr[n]:indptr[n + 1]``."""

    indptr: NDArray[np.int64]
    expert: NDArray[Any]
    label: NDArray[Any]


def smallest_int(count: int) -> np.dtype[Any]:
    """Return the smallest signed integer type for the indices 0..count-1 (and the negative codes).

    >>> smallest_int(128), smallest_int(129)
    (dtype('int8'), dtype('int16'))
    """
    for kind in (np.int8, np.int16, np.int32):
        if count - 1 <= np.iinfo(kind).max:
            return np.dtype(kind)
    return np.dtype(np.int64)


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view: every stored array is one, so that compiled code sees a single type."""
    view = array.view()
    view.flags.writeable = False
    return view


def checked_columns(array: ArrayLike, panel: Panel, drop: bool) -> tuple[NDArray[Any], bool, dict[int, int]]:
    """Return dense votes as (experts x items), whether nobody was left out, and whose votes were dropped."""
    votes = _index_matrix(array, panel)
    kind = smallest_int(len(panel.classes))
    _check_range(votes, panel, drop)
    owned = votes.dtype != kind or not votes.T.flags.c_contiguous
    columns = np.array(votes.T, dtype=kind, order="C") if owned else votes.T
    if columns.size == 0:
        return frozen(columns), True, {}
    known = np.pad(panel.knows, ((0, 0), (0, 2)), constant_values=True)  # the codes -1 and -2 come last
    wrong = [
        np.flatnonzero(~row.take(column, mode="wrap")) for row, column in zip(known, columns, strict=True)
    ]
    if any(map(len, wrong)):
        if not drop:
            item, expert = min((int(rows[0]), i) for i, rows in enumerate(wrong) if len(rows))
            raise InputError(
                f"item {item}: {unknown_class(panel, expert, panel.classes[columns[expert, item]])}"
            )
        columns = columns if owned else columns.copy()
        for column, rows in zip(columns, wrong, strict=True):
            column[rows] = NOT_ASKED
    dropped = {i: len(rows) for i, rows in enumerate(wrong) if len(rows)}
    return frozen(columns), is_complete(columns), dropped


def _index_matrix(array: ArrayLike, panel: Panel) -> NDArray[Any]:
    try:
        votes = np.asarray(array)
    except ValueError as error:
        raise InputError("votes must be a matrix (items x experts); its rows have unequal lengths") from error
    if votes.size == 0 and votes.ndim < 2:
        votes = votes.reshape(0, len(panel)).astype(np.int8)
    if votes.ndim != 2 or votes.shape[1] != len(panel):
        raise InputError(
            f"votes have shape {votes.shape}; they must have one row per item and {len(panel)} columns, "
            "one per expert of the panel"
        )
    if votes.dtype.kind == "f":
        whole = np.where(np.isnan(votes), NOT_ASKED, votes)
        wrong = np.argwhere((whole != np.floor(whole)) | np.isinf(whole))
        if len(wrong):
            n, i = wrong[0]
            raise InputError(f"item {n}, expert {panel.names[i]!r}: {votes[n, i]} is not a class index")
        votes = whole.astype(np.int64)
    if votes.dtype.kind not in "iu":
        raise InputError(
            f"votes of type {votes.dtype} are not class indices; for names use Votes.from_table(...)"
        )
    return votes


def _check_range(votes: NDArray[Any], panel: Panel, drop: bool) -> None:
    """Reject what is not an index at all, before a smaller integer type could wrap it."""
    classes = len(panel.classes)
    if votes.size == 0 or (votes.max() < classes and votes.min() >= NONE_OF_MINE):
        return
    n, i = np.argwhere((votes >= classes) | (votes < NONE_OF_MINE))[0]
    raise InputError(
        f"item {n}, expert {panel.names[i]!r}: {votes[n, i]} is not a class index; use 0..{classes - 1}, "
        f"{NOT_ASKED} for not asked, {NONE_OF_MINE} for none of mine"
    )


def unknown_class(panel: Panel, expert: int, name: object) -> str:
    """Say that an expert answered a class that it does not know."""
    known = some_of([panel.classes[k] for k in np.flatnonzero(panel.knows[expert])])
    return (
        f"expert {panel.names[expert]!r} answered {shown(name)}, which it does not know (it knows: {known}); "
        "fix the panel or pass unknown='drop'"
    )


def is_complete(columns: NDArray[Any]) -> bool:
    """Whether every expert was asked about every item."""
    return not any((row == NOT_ASKED).any() for row in columns)


def checked_runs(
    indptr: ArrayLike, expert: ArrayLike, label: ArrayLike, panel: Panel
) -> tuple[NDArray[np.int64], NDArray[Any], NDArray[Any]]:
    """Check ragged votes; return them in the smallest types."""
    bounds, who, what = (np.asarray(a) for a in (indptr, expert, label))
    if bounds.ndim != 1 or len(bounds) == 0 or bounds[0] != 0 or (np.diff(bounds) < 0).any():
        raise InputError("indptr must start at 0 and never fall: item n has the votes indptr[n]:indptr[n+1]")
    if not len(who) == len(what) == bounds[-1]:
        raise InputError(
            f"indptr ends at {bounds[-1]}, but there are {len(who)} experts and {len(what)} labels"
        )
    if len(who):
        for values, low, high, name in (
            (who, 0, len(panel), "expert"), (what, NONE_OF_MINE, len(panel.classes), "class")
        ):  # fmt: skip
            wrong = np.flatnonzero((values < low) | (values >= high) | (values == NOT_ASKED))
            if len(wrong):
                raise InputError(f"vote {wrong[0]}: {values[wrong[0]]} is not an index of a {name}")
        known = (what == NONE_OF_MINE) | panel.knows[who, np.maximum(what, 0)]
        if not known.all():
            p = int(np.argmin(known))
            raise InputError(f"vote {p}: {unknown_class(panel, int(who[p]), panel.classes[what[p]])}")
    runs = (
        frozen(np.ascontiguousarray(bounds, dtype=np.int64)),
        frozen(np.ascontiguousarray(who, dtype=smallest_int(len(panel)))),
        frozen(np.ascontiguousarray(what, dtype=smallest_int(len(panel.classes)))),
    )
    _check_once(*runs, panel)
    return runs


def _check_once(indptr: NDArray[Any], expert: NDArray[Any], label: NDArray[Any], panel: Panel) -> None:
    keep, _ = repeated(indptr, expert, label, keep_last=False)
    if not keep.all():
        p = int(np.argmin(keep))
        item = int(np.searchsorted(indptr, p, side="right")) - 1
        raise InputError(
            f"vote {p}: expert {panel.names[int(expert[p])]!r} answers item {item} again; keep one "
            "answer, or use Votes.from_table(..., duplicates='first')"
        )


def checked_probabilities(
    probabilities: ArrayLike | None, columns: NDArray[Any], panel: Panel
) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
    """Return (per vote, per known class), at most one of them, laid out like the dense votes."""
    if probabilities is None:
        return None, None
    given = np.asarray(probabilities, dtype=np.float32)
    experts, size = columns.shape
    owner, member = np.nonzero(panel.knows)
    if given.shape == (size, experts, len(panel.classes)):
        given = given[:, owner, member]
    if given.shape not in ((size, experts), (size, len(owner))):
        raise InputError(
            f"probabilities have shape {given.shape}; give (items, experts) = {(size, experts)}, or (items, "
            f"experts, classes), or (items, sum of sizes) = {(size, len(owner))}"
        )
    per_vote = given.shape[1] == experts
    asked = columns if per_vote else columns[owner]
    rows = np.ascontiguousarray(given.T)
    rows[asked == NOT_ASKED] = 0
    wrong = np.argwhere(~((rows >= 0) & (rows <= 1)).T)
    if len(wrong):
        n, r = wrong[0]
        name = panel.names[r if per_vote else owner[r]]
        raise InputError(f"item {n}, expert {name!r}: {rows[r, n]} is not a probability between 0 and 1")
    return (frozen(rows), None) if per_vote else (None, frozen(rows))


def ragged_probabilities(
    probabilities: ArrayLike | None, expert: NDArray[Any], panel: Panel
) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None, NDArray[np.int64] | None]:
    """Return (per vote, per known class, where each vote's classes start)."""
    if probabilities is None:
        return None, None, None
    flat = np.ascontiguousarray(probabilities, dtype=np.float32)
    wrong = np.flatnonzero(~((flat >= 0) & (flat <= 1)))
    if len(wrong):
        raise InputError(f"probability {wrong[0]}: {flat[wrong[0]]} is not between 0 and 1")
    if flat.shape == expert.shape:
        return frozen(flat), None, None
    starts = np.concatenate([[0], np.cumsum(panel.sizes[expert])]).astype(np.int64)
    if len(flat) != starts[-1]:
        raise InputError(
            f"{len(flat)} probabilities for {len(expert)} votes; give one per vote, or one per vote and "
            f"class its expert knows ({starts[-1]})"
        )
    return None, frozen(flat), frozen(starts)


def contradiction(
    flat: NDArray[np.float32],
    starts: NDArray[np.int64],
    expert: NDArray[Any],
    label: NDArray[Any],
    panel: Panel,
) -> tuple[int, str] | None:
    """Return the first vote whose probabilities cannot be, and why; None if there is none.

    Those of vote p, one for each class that its expert knows, are ``flat[starts[p]:starts[p + 1]]``. They add
    up to at most 1 (less where the expert thinks of other classes), and none is above that of the answer.
    """
    some = np.flatnonzero(np.diff(starts) > 0)
    if not len(some):
        return None
    sums = np.add.reduceat(flat, starts[some], dtype=np.float64)
    best = np.maximum.reduceat(flat, starts[some])
    sizes, who, what = np.diff(starts)[some], expert[some], label[some]
    answered = what >= 0
    place = np.where(answered, np.cumsum(panel.knows, axis=1)[who, np.maximum(what, 0)] - 1, 0)
    own = np.where(answered, flat[starts[some] + place], best)
    wrong = (sums > 1 + SLACK * (2 + sizes)) | (answered & ((best <= 0) | (own < best)))
    wrong &= what != NOT_ASKED
    if not wrong.any():
        return None
    p = int(np.argmax(wrong))
    name = f"expert {panel.names[int(who[p])]!r}"
    if sums[p] > 1 + SLACK * (2 + sizes[p]):
        why = f"the probabilities of {name} add up to {sums[p]:.4g}; divide them by their sum"
    elif best[p] <= 0:
        why = f"the probabilities of {name} are all 0; leave them out where there are none"
    else:
        why = (
            f"{name} answered {panel.classes[int(what[p])]!r} and gives it the probability {own[p]:.4g}, but "
            f"another class {best[p]:.4g}; correct one of the two, or leave the probabilities out"
        )
    return int(some[p]), why


def checked_ids(items: Any, size: int) -> Any:
    """Return the ids as given (an Arrow array stays one), or None for 0, 1, 2, ..."""
    if items is None:
        return None
    ids = items if hasattr(items, "__arrow_c_array__") else np.asarray(items)
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "U" and not all(isinstance(i, str) for i in items):
        # numpy would turn [1, "1"] into two equal strings.
        ids = np.empty(len(items), dtype=object)
        ids[:] = list(items)
    if len(ids) != size or (isinstance(ids, np.ndarray) and ids.ndim != 1):
        raise InputError(f"{len(ids)} item ids for {size} items; give one per item")
    missing = _missing(ids)
    if missing.any():
        raise InputError(f"item {int(np.argmax(missing))} has no id; give every item one")
    return ids


def _missing(ids: Any) -> NDArray[np.bool_]:
    if not isinstance(ids, np.ndarray):
        return np.asarray(ids.is_null().to_pylist() if ids.null_count else [False])
    if ids.dtype == object:
        return np.array([value is None for value in ids], dtype=bool)
    return np.isnan(ids) if ids.dtype.kind == "f" else np.zeros(1, dtype=bool)


def plain_ids(ids: Any, start: int, stop: int) -> NDArray[Any]:
    """Return the ids of the items start:stop as a numpy array."""
    if ids is None:
        return np.arange(start, stop)
    if isinstance(ids, np.ndarray):
        return frozen(ids[start:stop])
    return cast("NDArray[Any]", ids[start:stop].to_numpy(zero_copy_only=False))


def repeated(
    indptr: NDArray[Any], expert: NDArray[Any], label: NDArray[Any], keep_last: bool
) -> tuple[NDArray[np.bool_], bool]:
    """Return which votes stay if an expert answers an item once, and whether some had two different answers.

    >>> keep, differ = repeated(np.array([0, 3]), np.array([5, 2, 5]), np.array([1, 1, 0]), keep_last=False)
    >>> keep.tolist(), differ
    ([True, True, False], True)
    """
    keep = np.ones(len(expert), dtype=np.bool_)
    item = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if ((expert[1:] > expert[:-1]) | (item[1:] > item[:-1])).all():
        return keep, False  # as nearly all votes are written
    order = np.lexsort((expert, item))
    again = (expert[order[1:]] == expert[order[:-1]]) & (item[order[1:]] == item[order[:-1]])
    before, after = order[:-1][again], order[1:][again]
    keep[before if keep_last else after] = False
    return keep, bool((label[before] != label[after]).any())
