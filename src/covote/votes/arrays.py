"""The arrays behind Votes: sliced, regrouped, translated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.panel import Panel
from covote.tables.names import arrow, id_array
from covote.votes.vote_checks import (
    NONE_OF_MINE,
    NOT_ASKED,
    Ragged,
    frozen,
    is_complete,
    smallest_int,
    unknown_class,
)

if TYPE_CHECKING:
    from covote.votes import Votes


def part(votes: Votes, start: int, stop: int) -> Votes:
    """Return the items start:stop of the votes."""
    if not 0 <= start <= stop <= len(votes):
        raise InputError(f"no items {start}:{stop} among {len(votes)}")
    runs = votes.runs
    if runs is not None:
        runs = runs._replace(indptr=runs.indptr[start : stop + 1])
    return replace(votes, runs=runs, start=votes.start + start, stop=votes.start + stop)


def densified(votes: Votes) -> Votes:
    """Return ragged votes as dense ones."""
    runs, panel, size = votes.ragged, votes.panel, len(votes)
    columns = np.full((len(panel), size), NOT_ASKED, dtype=runs.label.dtype)
    item = np.repeat(np.arange(size), np.diff(runs.indptr))
    columns.reshape(-1)[runs.expert * np.int64(size) + item] = runs.label
    vote = per_class = None
    if votes.soft:
        first = int(votes.runs.indptr[0]) if votes.runs is not None else 0
        last = first + len(runs.expert)
        if votes.vote_probability is not None:
            vote = np.zeros(columns.shape, dtype=np.float32)
            vote[runs.expert, item] = votes.vote_probability[first:last]
        else:
            vote, per_class = None, _dense_class_probability(votes, runs, item, first, last)
    return replace(
        votes, columns=frozen(columns), runs=None, start=0, stop=size, ids=_own_ids(votes), class_start=None,
        times=_own_times(votes), class_probability=per_class,
        vote_probability=None if vote is None else frozen(vote),
    )  # fmt: skip


def _dense_class_probability(
    votes: Votes, runs: Ragged, item: NDArray[Any], first: int, last: int
) -> NDArray[np.float32]:
    assert votes.class_probability is not None
    assert votes.class_start is not None
    sizes = votes.panel.sizes
    row = np.cumsum(sizes) - sizes
    lengths = sizes[runs.expert]
    starts = votes.class_start[first : last + 1]
    within = np.arange(starts[-1] - starts[0]) - np.repeat(starts[:-1] - starts[0], lengths)
    dense = np.zeros((int(sizes.sum()), len(votes)), dtype=np.float32)
    values = votes.class_probability[starts[0] : starts[-1]]
    dense[np.repeat(row[runs.expert], lengths) + within, np.repeat(item, lengths)] = values
    return frozen(dense)


def raggedised(votes: Votes) -> Votes:
    """Return dense votes as ragged ones."""
    assert votes.columns is not None
    start, stop = votes.start, votes.stop
    dense = np.ascontiguousarray(votes.columns[:, start:stop].T)
    asked = dense != NOT_ASKED
    counts = np.count_nonzero(asked, axis=1)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    experts = np.arange(len(votes.panel), dtype=smallest_int(len(votes.panel)))
    expert, label = np.broadcast_to(experts, dense.shape)[asked], dense[asked]
    vote = per_class = starts = None
    if votes.vote_probability is not None:
        vote = frozen(votes.vote_probability[:, start:stop].T[asked])
    if votes.class_probability is not None:
        item = np.repeat(np.arange(start, stop), counts)
        sizes = votes.panel.sizes
        lengths = sizes[expert]
        starts = frozen(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
        row = np.cumsum(sizes) - sizes
        within = np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)
        per_class = frozen(
            votes.class_probability[np.repeat(row[expert], lengths) + within, np.repeat(item, lengths)]
        )
    runs = Ragged(frozen(indptr), frozen(expert), frozen(label))
    return replace(
        votes, columns=None, runs=runs, start=0, stop=stop - start, ids=_own_ids(votes),
        times=_own_times(votes), vote_probability=vote, class_probability=per_class, class_start=starts,
    )  # fmt: skip


def _own_times(votes: Votes) -> Any:
    return None if votes.times is None else votes.times[votes.start : votes.stop]


def _own_ids(votes: Votes) -> Any:
    """Return the ids of exactly these items, for votes that no longer share the arrays of the whole."""
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
    if votes.columns is None:
        return _ragged_subset(votes, rows)
    at = votes.start + rows
    vote, per_class = votes.vote_probability, votes.class_probability
    columns = frozen(np.ascontiguousarray(votes.columns[:, at]))
    return replace(
        votes, columns=columns, start=0, stop=len(rows), ids=_taken_ids(votes, rows),
        times=None if votes.times is None else votes.times[at],
        complete=votes.complete or is_complete(columns),
        vote_probability=None if vote is None else frozen(np.ascontiguousarray(vote[:, at])),
        class_probability=None if per_class is None else frozen(np.ascontiguousarray(per_class[:, at])),
    )  # fmt: skip


def _ragged_subset(votes: Votes, rows: NDArray[np.int64]) -> Votes:
    assert votes.runs is not None
    indptr, expert, label = votes.runs
    at: NDArray[Any]
    if 2 * len(rows) > len(votes) and not votes.soft and (rows[1:] > rows[:-1]).all():
        # Most of the items, in order: a mask takes half the time (benchmarks: "authority ragged").
        there = np.zeros(len(votes), np.bool_)
        there[rows] = True
        lengths, own = np.diff(indptr), slice(indptr[0], indptr[-1])
        bounds = np.concatenate([[0], np.cumsum(lengths[rows])])
        expert, label, at = expert[own], label[own], np.repeat(there, lengths)
    else:
        bounds, at = _gather(indptr, rows)
    vote, per_class, starts = votes.vote_probability, votes.class_probability, votes.class_start
    if vote is not None:
        vote = frozen(vote[at])
    if per_class is not None and starts is not None:
        starts, inner = _gather(starts, at)
        per_class, starts = frozen(per_class[inner]), frozen(starts)
    return replace(
        votes, runs=Ragged(frozen(bounds), frozen(expert[at]), frozen(label[at])), start=0, stop=len(rows),
        times=None if votes.times is None else votes.times[votes.start + rows],
        ids=_taken_ids(votes, rows), vote_probability=vote, class_probability=per_class, class_start=starts,
    )  # fmt: skip


def _gather(
    indptr: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the boundaries of the chosen rows, and the positions of their entries."""
    lengths = indptr[rows + 1] - indptr[rows]
    bounds = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return bounds, np.arange(bounds[-1]) + np.repeat(indptr[rows] - bounds[:-1], lengths)


def _taken_ids(votes: Votes, rows: NDArray[np.int64]) -> Any:
    at = votes.start + rows
    if votes.ids is None:
        return at
    if isinstance(votes.ids, np.ndarray):
        return votes.ids[at]
    return votes.ids.take(arrow(at.astype(np.int64)))


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
    if votes.soft and not (old.classes == panel.classes and _same_knowledge(old, panel, experts)):
        raise InputError("votes with probabilities need the same classes known by the same experts")
    ragged = votes.to_ragged()
    runs = ragged.ragged
    who, what = experts[runs.expert], classes[runs.label]
    wrong = (what == -3) | ((what >= 0) & ~panel.knows[who, np.maximum(what, 0)])
    keep = (who >= 0) & ~wrong
    if not drop and not keep.all():
        p = int(np.argmin(keep))
        raise InputError(f"vote {p}: {unknown_class(panel, int(who[p]), old.classes[int(runs.label[p])])}")
    indptr = np.concatenate([[0], np.cumsum(keep)])[runs.indptr]
    chosen = type(votes).from_ragged(indptr, who[keep], what[keep], panel)
    per_class = starts = vote = None
    if ragged.vote_probability is not None:
        vote = frozen(ragged.vote_probability[keep])
    if ragged.class_probability is not None and ragged.class_start is not None:
        starts, inner = _gather(ragged.class_start, np.flatnonzero(keep))
        per_class, starts = frozen(ragged.class_probability[inner]), frozen(starts)
    chosen = replace(
        chosen, ids=ragged.ids, vote_probability=vote, class_probability=per_class, class_start=starts
    )
    return chosen.to_dense() if votes.is_dense else chosen


def _same_knowledge(old: Panel, new: Panel, experts: NDArray[np.int64]) -> bool:
    return all(i < 0 or np.array_equal(old.knows[j], new.knows[i]) for j, i in enumerate(experts))


def joined(parts: Sequence[Votes]) -> Votes:
    """Return consecutive parts of votes as one, dense if all of them are."""
    import pyarrow as pa

    if len(parts) == 1:
        return parts[0]
    votes, panel = type(parts[0]), parts[0].panel
    ids = pa.concat_arrays([id_array(part.ids, part.start, part.stop) for part in parts])
    size, complete = sum(len(part) for part in parts), all(part.complete for part in parts)
    if all(part.columns is not None for part in parts):
        columns = np.concatenate(
            [part.columns[:, part.start : part.stop] for part in parts if part.columns is not None], axis=1
        )
        return votes(panel, frozen(columns), None, 0, size, complete, ids=ids)
    all_runs = [part.ragged for part in parts]
    ends = np.cumsum([0] + [run.indptr[-1] for run in all_runs])
    bounds = np.concatenate([run.indptr[1:] + end for run, end in zip(all_runs, ends, strict=False)])
    indptr = np.concatenate([np.zeros(1, np.int64), bounds])
    expert = np.concatenate([run.expert for run in all_runs])
    label = np.concatenate([run.label for run in all_runs])
    if not any(part.soft for part in parts):
        runs = Ragged(frozen(indptr), frozen(expert), frozen(label))
        return votes(panel, None, runs, 0, size, complete, ids=ids)
    chances = np.concatenate(
        [
            part.class_probability if part.class_probability is not None else part.vote_probability
            for part in parts
        ]
    )
    return votes.from_ragged(indptr, expert, label, panel, items=ids, probabilities=chances)
