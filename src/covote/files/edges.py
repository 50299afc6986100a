"""Items that lie across the edges between parts of a long Parquet file: they belong where they begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from covote.files.vote_batches import Source
from covote.votes.names import arrow


def begun(source: Source, columns: list[str]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield the rows of the items that begin in a part of a file, with the number of the first row.

    The rows at its start that go on with an item from before are left out; rows after its end that go on with
    its last item are added. The first column has the items.
    """
    item = columns[0]
    first = source.first_row
    before = _last_before(source, item)
    last = None
    for batch in source.batches(columns, plain=(item,)):
        skipped = 0
        if before is not None:
            skipped = _equal_rows(batch.column(0), before)
            before = before if skipped == batch.num_rows else None
        if skipped < batch.num_rows:
            last = _plain(batch.column(0))[-1]
            yield first + skipped, batch.slice(skipped)
        first += batch.num_rows
    if last is None:
        return
    for batch in source.within(range(source.groups.stop, _groups(source))).batches(columns, plain=(item,)):
        size = _equal_rows(batch.column(0), last)
        if size:
            yield first, batch.slice(0, size)
        if size < batch.num_rows:
            return
        first += size


def _last_before(source: Source, item: str) -> Any:
    """Return the last item before a part, None if there is none."""
    last = None
    for group in range(source.groups.start - 1, -1, -1):
        # In a file whose items ascend, the last is the greatest; where they do not, that is found out later.
        span = source.within(range(group, group + 1)).span(item)
        if span is not None:
            return arrow(np.array([span[1]]))[0]
        for batch in source.within(range(group, group + 1)).batches([item], plain=(item,)):
            last = _plain(batch.column(0))[-1]
        if last is not None:
            break
    return last


def _groups(source: Source) -> int:
    return len(source.group_rows())


def _equal_rows(items: pa.Array, value: Any) -> int:
    """Return how many rows at the start have this item."""
    import pyarrow.compute as pc

    found = _plain(items)
    equal = pc.equal(found, value.cast(found.type))
    # In functions of Arrow only: to make a value of Python's False, it would load pandas.
    different = pc.indices_nonzero(pc.invert(pc.and_kleene(equal, pc.is_valid(equal))))
    return different[0].as_py() if len(different) else len(items)


def _plain(items: pa.Array) -> pa.Array:
    return items.cast(items.type.value_type) if pa.types.is_dictionary(items.type) else items
