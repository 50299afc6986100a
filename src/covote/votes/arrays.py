"""The arrays behind Votes: check, slice, convert and translate them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.errors import InputError
from covote.panel import Panel
from covote.tables.arrow_names import NONE_OF_MINE, NOT_ASKED, arrow_array
from covote.votes.problems import unknown_class

if TYPE_CHECKING:
    from covote.votes import Votes


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
    """Return a read-only view; all stored arrays are read-only, so that compiled code sees one type."""
    view = array.view()
    view.flags.writeable = False
    return view


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
    """Return which votes to keep so that an expert answers an item once, and whether any answers differ.

    >>> keep, differ = repeated(np.array([0, 3]), np.array([5, 2, 5]), np.array([1, 1, 0]), keep_last=False)
    >>> keep.tolist(), differ
    ([True, True, False], True)
    """
    keep = np.ones(len(expert), dtype=np.bool_)
    item = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    if ((expert[1:] > expert[:-1]) | (item[1:] > item[:-1])).all():
        return keep, False  # the order in which nearly all votes are written
    order = np.lexsort((expert, item))
    again = (expert[order[1:]] == expert[order[:-1]]) & (item[order[1:]] == item[order[:-1]])
    before, after = order[:-1][again], order[1:][again]
    keep[before if keep_last else after] = False
    return keep, bool((label[before] != label[after]).any())


# Checks of the arrays that users give


def checked_columns(array: ArrayLike, panel: Panel) -> NDArray[Any]:
    """Return dense votes as (experts x items); reject those for classes that their experts do not know."""
    votes = _index_matrix(array, panel)
    kind = smallest_int(len(panel.classes))
    _check_range(votes, panel)
    columns = np.asarray(votes.T, dtype=kind, order="C")
    known = np.pad(panel.knows, ((0, 0), (0, 2)), constant_values=True)  # the codes -1 and -2 come last
    wrong = [
        np.flatnonzero(~row.take(column, mode="wrap")) for row, column in zip(known, columns, strict=True)
    ]
    if any(map(len, wrong)):
        item, expert = min((int(rows[0]), i) for i, rows in enumerate(wrong) if len(rows))
        raise InputError(f"item {item}: {unknown_class(panel, expert, panel.classes[columns[expert, item]])}")
    return frozen(columns)


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
        indices = np.where(np.isnan(votes), NOT_ASKED, votes)
        wrong = np.argwhere((indices != np.floor(indices)) | np.isinf(indices))
        if len(wrong):
            n, i = wrong[0]
            raise InputError(f"item {n}, expert {panel.names[i]!r}: {votes[n, i]} is not a class index")
        votes = indices.astype(np.int64)
    if votes.dtype.kind not in "iu":
        raise InputError(
            f"votes of type {votes.dtype} are not class indices; for names use Votes.from_table(...)"
        )
    return votes


def _check_range(votes: NDArray[Any], panel: Panel) -> None:
    """Reject values out of range, before a smaller integer type could wrap them around."""
    classes = len(panel.classes)
    if votes.size == 0 or (votes.max() < classes and votes.min() >= NONE_OF_MINE):
        return
    n, i = np.argwhere((votes >= classes) | (votes < NONE_OF_MINE))[0]
    raise InputError(
        f"item {n}, expert {panel.names[i]!r}: {votes[n, i]} is not a class index; use 0..{classes - 1}, "
        f"{NOT_ASKED} for not asked, {NONE_OF_MINE} for none of mine"
    )


def checked_ragged(
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
    ragged = (
        frozen(np.ascontiguousarray(bounds, dtype=np.int64)),
        frozen(np.ascontiguousarray(who, dtype=smallest_int(len(panel)))),
        frozen(np.ascontiguousarray(what, dtype=smallest_int(len(panel.classes)))),
    )
    _check_once(*ragged, panel)
    return ragged


def _check_once(indptr: NDArray[Any], expert: NDArray[Any], label: NDArray[Any], panel: Panel) -> None:
    keep, _ = repeated(indptr, expert, label, keep_last=False)
    if not keep.all():
        p = int(np.argmin(keep))
        item = int(np.searchsorted(indptr, p, side="right")) - 1
        raise InputError(
            f"vote {p}: expert {panel.names[int(expert[p])]!r} answers item {item} again; keep one "
            "answer, or use Votes.from_table(..., duplicates='first')"
        )


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


# Other layouts and parts


def part(votes: Votes, start: int, stop: int) -> Votes:
    """Return the items start:stop of the votes."""
    if not 0 <= start <= stop <= len(votes):
        raise InputError(f"no items {start}:{stop} among {len(votes)}")
    ragged = votes.by_item
    if ragged is not None:
        ragged = ragged._replace(indptr=ragged.indptr[start : stop + 1])
    return replace(votes, by_item=ragged, start=votes.start + start, stop=votes.start + stop)


def as_dense(votes: Votes) -> Votes:
    """Return ragged votes as dense ones."""
    ragged, panel, size = votes.ragged, votes.panel, len(votes)
    columns = np.full((len(panel), size), NOT_ASKED, dtype=ragged.label.dtype)
    item = np.repeat(np.arange(size), np.diff(ragged.indptr))
    columns.reshape(-1)[ragged.expert.astype(np.int64) * size + item] = ragged.label
    vote = per_class = None
    own_vote, own_class, starts = own_probabilities(votes)
    if own_vote is not None:
        vote = np.zeros(columns.shape, dtype=np.float32)
        vote[ragged.expert, item] = own_vote
    if own_class is not None:
        _, row = gather(panel.layout.known.start, ragged.expert)
        per_class = np.zeros((len(panel.layout.known.members), size), dtype=np.float32)
        per_class[row, np.repeat(item, np.diff(starts))] = own_class
    return replace(
        votes, by_expert=frozen(columns), by_item=None, start=0, stop=size, ids=_own_ids(votes),
        multiplicity=_own_multiplicity(votes), vote_probability=vote if vote is None else frozen(vote),
        class_probability=per_class if per_class is None else frozen(per_class), class_start=None,
    )  # fmt: skip


def as_ragged(votes: Votes) -> Votes:
    """Return dense votes as ragged ones."""
    assert votes.by_expert is not None
    start, stop = votes.start, votes.stop
    dense = np.ascontiguousarray(votes.by_expert[:, start:stop].T)
    has_answer = dense != NOT_ASKED
    counts = np.count_nonzero(has_answer, axis=1)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    experts = np.arange(len(votes.panel), dtype=smallest_int(len(votes.panel)))
    expert, label = np.broadcast_to(experts, dense.shape)[has_answer], dense[has_answer]
    vote = per_class = starts = None
    if votes.vote_probability is not None:
        vote = frozen(votes.vote_probability[:, start:stop].T[has_answer])
    if votes.class_probability is not None:
        starts, row = gather(votes.panel.layout.known.start, expert)
        item = np.repeat(np.arange(start, stop), counts)
        per_class = frozen(votes.class_probability[row, np.repeat(item, np.diff(starts))])
        starts = frozen(starts)
    ragged = Ragged(frozen(indptr), frozen(expert), frozen(label))
    return replace(
        votes, by_expert=None, by_item=ragged, start=0, stop=stop - start, ids=_own_ids(votes),
        multiplicity=_own_multiplicity(votes), vote_probability=vote, class_probability=per_class,
        class_start=starts,
    )  # fmt: skip


def _own_multiplicity(votes: Votes) -> Any:
    return None if votes.multiplicity is None else votes.multiplicity[votes.start : votes.stop]


def _own_ids(votes: Votes) -> Any:
    """Return the ids of these items only, for votes that no longer share the arrays of the whole."""
    if votes.ids is None:
        return None if votes.start == 0 else np.arange(votes.start, votes.stop)
    return votes.ids[votes.start : votes.stop]


def subset(votes: Votes, rows: NDArray[Any]) -> Votes:
    """Return the votes on some items."""
    if rows.dtype == bool:
        if rows.shape != (len(votes),):
            raise InputError(f"a mask of shape {rows.shape} for {len(votes)} items")
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or (rows.size and rows.dtype.kind not in "iu"):
        raise InputError("rows must be positions or a boolean mask")
    rows = rows.astype(np.int64)
    wrong = rows[(rows < 0) | (rows >= len(votes))]
    if len(wrong):
        raise InputError(f"no item at position {wrong[0]}; there are {len(votes)}")
    if votes.by_expert is None:
        return _ragged_subset(votes, rows)
    at = votes.start + rows
    vote, per_class = votes.vote_probability, votes.class_probability
    columns = frozen(np.ascontiguousarray(votes.by_expert[:, at]))
    return replace(
        votes, by_expert=columns, start=0, stop=len(rows), ids=_taken_ids(votes, rows),
        multiplicity=None if votes.multiplicity is None else votes.multiplicity[at],
        vote_probability=None if vote is None else frozen(np.ascontiguousarray(vote[:, at])),
        class_probability=None if per_class is None else frozen(np.ascontiguousarray(per_class[:, at])),
    )  # fmt: skip


def _ragged_subset(votes: Votes, rows: NDArray[np.int64]) -> Votes:
    assert votes.by_item is not None
    indptr, expert, label = votes.by_item
    bounds, at = gather(indptr, rows)
    vote, per_class, starts = _probabilities_at(votes, at)
    return replace(
        votes, by_item=Ragged(frozen(bounds), frozen(expert[at]), frozen(label[at])), start=0, stop=len(rows),
        multiplicity=None if votes.multiplicity is None else votes.multiplicity[votes.start + rows],
        ids=_taken_ids(votes, rows), vote_probability=vote, class_probability=per_class, class_start=starts,
    )  # fmt: skip


def gather(start: NDArray[Any], rows: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the boundaries of some of the lists ``start[n]:start[n + 1]``, and the places of their entries.

    >>> bounds, places = gather(np.array([0, 2, 5]), np.array([1, 0, 1]))
    >>> bounds.tolist(), places.tolist()
    ([0, 3, 5, 8], [2, 3, 4, 0, 1, 2, 3, 4])
    """
    lengths = np.diff(start)[rows]
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return bounds, np.arange(bounds[-1]) + np.repeat(start[:-1][rows] - bounds[:-1], lengths)


def own_probabilities(votes: Votes) -> tuple[Any, Any, Any]:
    """Return (per vote, per known class, where each vote's classes start) of ragged votes, counted from 0."""
    assert votes.by_item is not None
    first, last = int(votes.by_item.indptr[0]), int(votes.by_item.indptr[-1])
    if votes.vote_probability is not None:
        return votes.vote_probability[first:last], None, None
    if votes.class_probability is None or votes.class_start is None:
        return None, None, None
    starts = votes.class_start[first : last + 1]
    return None, votes.class_probability[starts[0] : starts[-1]], starts - starts[0]


def _probabilities_at(votes: Votes, at: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Return (per vote, per known class, where each vote's classes start) of some of the ragged votes."""
    vote, per_class, starts = votes.vote_probability, votes.class_probability, votes.class_start
    if vote is not None:
        return frozen(vote[at]), None, None
    if per_class is None or starts is None:
        return None, None, None
    starts, inner = gather(starts, at)
    return None, frozen(per_class[inner]), frozen(starts)


def _taken_ids(votes: Votes, rows: NDArray[np.int64]) -> Any:
    at = votes.start + rows
    if votes.ids is None:
        return at
    if isinstance(votes.ids, np.ndarray):
        return votes.ids[at]
    return votes.ids.take(arrow_array(at.astype(np.int64)))


def translated(votes: Votes, panel: Panel, drop: bool) -> Votes:
    """Return the votes seen with another panel, by the names of experts and classes."""
    old = votes.panel
    experts = np.array([panel._expert_index.get(name, -1) for name in old.names], dtype=np.int64)
    classes = np.array([panel._class_index.get(name, -3) for name in old.classes] + [NONE_OF_MINE, NOT_ASKED])
    if not drop and (experts < 0).any():
        name = old.names[int(np.argmin(experts))]
        raise InputError(
            f"expert {name!r} is not in the panel; add it, or leave its votes out with "
            "votes.for_panel(panel, unknown='drop')"
        )
    same = old.classes == panel.classes and all(
        i < 0 or np.array_equal(old.knows[j], panel.knows[i]) for j, i in enumerate(experts)
    )
    if votes.soft and not same:
        raise InputError("votes with probabilities need the same classes known by the same experts")
    ragged = votes.to_ragged()
    answers = ragged.ragged
    who, what = experts[answers.expert], classes[answers.label]
    wrong = (what == -3) | ((what >= 0) & ~panel.knows[who, np.maximum(what, 0)])
    keep = (who >= 0) & ~wrong
    if not drop and not keep.all():
        p = int(np.argmin(keep))
        raise InputError(f"vote {p}: {unknown_class(panel, int(who[p]), old.classes[int(answers.label[p])])}")
    indptr = np.concatenate([[0], np.cumsum(keep)])[answers.indptr]
    chosen = type(votes).from_ragged(indptr, who[keep], what[keep], panel)
    assert ragged.by_item is not None
    vote, per_class, starts = _probabilities_at(ragged, ragged.by_item.indptr[0] + np.flatnonzero(keep))
    chosen = replace(
        chosen, ids=_own_ids(ragged), vote_probability=vote, class_probability=per_class, class_start=starts
    )
    return chosen.to_dense() if votes.is_dense else chosen
