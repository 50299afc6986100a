"""The experts' probabilities, for their answers or for all classes that they know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.errors import InputError
from covote.panel import Panel
from covote.tables.arrow_names import NOT_ASKED
from covote.votes.arrays import frozen

if TYPE_CHECKING:
    import pyarrow as pa

SLACK = 0.005
"""By how much the sum of probabilities may exceed 1, per class: people round to two digits."""


def checked_probabilities(
    probabilities: ArrayLike | None, columns: NDArray[Any], panel: Panel
) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None]:
    """Return (per vote, per known class), of which at most one is given, in the layout of dense votes."""
    if probabilities is None:
        return None, None
    table = np.asarray(probabilities, dtype=np.float32)
    experts, size = columns.shape
    owner, member = np.nonzero(panel.knows)
    if table.shape == (size, experts, len(panel.classes)):
        table = table[:, owner, member]
    if table.shape not in ((size, experts), (size, len(owner))):
        raise InputError(
            f"probabilities have shape {table.shape}; give (items, experts) = {(size, experts)}, or (items, "
            f"experts, classes), or (items, sum of sizes) = {(size, len(owner))}"
        )
    per_vote = table.shape[1] == experts
    answers = columns if per_vote else columns[owner]
    rows = np.ascontiguousarray(table.T)
    rows[answers == NOT_ASKED] = 0
    wrong = np.argwhere(~((rows >= 0) & (rows <= 1) | np.isnan(rows)).T)
    if len(wrong):
        n, r = wrong[0]
        name = panel.names[r if per_vote else owner[r]]
        raise InputError(f"item {n}, expert {name!r}: {rows[r, n]} is not a probability between 0 and 1")
    return (frozen(rows), None) if per_vote else (None, frozen(rows))


def ragged_probabilities(
    probabilities: ArrayLike | None, expert: NDArray[Any], panel: Panel
) -> tuple[NDArray[np.float32] | None, NDArray[np.float32] | None, NDArray[np.int64] | None]:
    """Return (per vote, per known class, where each vote's classes start); NaN is no probability."""
    if probabilities is None:
        return None, None, None
    flat = np.ascontiguousarray(probabilities, dtype=np.float32)
    wrong = np.flatnonzero((flat < 0) | (flat > 1))
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
    """Return the first vote with invalid probabilities, and the reason; None if all are valid.

    Those of vote p, one for each class that its expert knows, are ``flat[starts[p]:starts[p + 1]]``. They sum
    to at most 1 (less if the expert considers other classes), and none exceeds that of the answer.
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


def _decimal_points(text: pa.Array) -> pa.Array:
    """Return numbers as people write them with a point and without a percent sign: 0,85 and 85 % are 0.85.

    >>> import pyarrow as pa
    >>> _decimal_points(pa.array(["0,85", "85 %", "0.5", None])).to_pylist()
    [0.85, 0.85, 0.5, None]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    percent = pc.ends_with(text, "%")
    plain = pc.replace_substring(pc.utf8_trim(text, " %"), ",", ".").cast(pa.float64())
    return pc.if_else(percent, pc.divide(plain, 100.0), plain)


def checked_column(
    column: Any, who: NDArray[Any], what: NDArray[Any], rows: NDArray[np.int64], panel: Panel
) -> pa.Array:
    """Return the column of probabilities of a long table as float32, or lists of them; NaN where it is empty.

    `who` and `what` are the indices of expert and class of every row, -1 if a row is not a vote; `rows` are
    the row numbers for messages.
    """
    import pyarrow as pa

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    lists = pa.types.is_nested(column.type) and not pa.types.is_struct(column.type)
    try:
        column = _decimal_points(column) if pa.types.is_string(column.type) else column
        column = column.cast(pa.large_list(pa.float32()) if lists else pa.float32())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise InputError(f"probabilities must be numbers between 0 and 1 ({error})") from error
    voted, owner, values = who >= 0, np.arange(len(who)), column
    if lists:
        sizes = panel.sizes[np.maximum(who, 0)]
        lengths = np.asarray(column.value_lengths().fill_null(0))
        empty = voted & (lengths == 0)
        lengths = np.where(empty, sizes, lengths)
        wrong = np.flatnonzero(voted & (lengths != sizes))
        if len(wrong):
            p = int(wrong[0])
            raise InputError(
                f"row {rows[p]}: {lengths[p]} probabilities of expert {panel.names[int(who[p])]!r}, which "
                f"knows {sizes[p]} classes; give one for each class it knows, in the order of the panel"
            )
        owner, starts = np.repeat(owner, lengths), np.append(0, np.cumsum(lengths))
        values = np.full(starts[-1], np.nan, dtype=np.float32)
        values[~empty[owner]] = column.flatten()
        column = pa.LargeListArray.from_arrays(starts, values)
    numbers = np.asarray(values, dtype=np.float32)
    wrong = np.flatnonzero(((numbers < 0) | (numbers > 1)) & voted[owner])
    if len(wrong):
        more = f" ({len(wrong):,} such)" if len(wrong) > 1 else ""
        raise InputError(
            f"row {rows[int(owner[wrong[0]])]}: {numbers[wrong[0]]} is not a probability between 0 and 1; "
            f"correct it or remove the row{more}"
        )
    if lists:
        found = contradiction(numbers, starts, who, what, panel)
        if found is not None:
            raise InputError(f"row {rows[found[0]]}: {found[1]}")
    return column
