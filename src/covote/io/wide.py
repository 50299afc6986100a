"""Wide files: one row per item, one column per expert."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from covote.errors import InputError, UnknownNameError
from covote.vote_checks import NONE_OF_MINE, NOT_ASKED, frozen, smallest_int
from covote.vote_names import NULL, STRANGE, name_codes
from covote.votes import Votes

from . import order
from .items import arrow, ascending, plain_items
from .long import no_vote, some

if TYPE_CHECKING:
    from .votes import VoteFile


def parts(file: VoteFile) -> Generator[Votes, None, None]:
    """Yield the votes batch by batch."""
    source, panel = file.source, file.panel
    experts = _experts(file)
    text = source.kind in ("csv", "tsv")
    first, last, in_order = 1, None, True
    for batch in source.batches([file.item, *experts], plain=(file.item,)):
        ids = plain_items(batch.column(0), source.path, first, text and file.integers)
        in_order = in_order and ascending(ids) and (last is None or last < ids[0].as_py())
        last = ids[-1].as_py()
        columns = np.full((len(panel), batch.num_rows), NOT_ASKED, dtype=smallest_int(len(panel.classes)))
        refused: list[tuple[int, int, Any]] = []
        for c, i in enumerate(experts.values(), start=1):
            bad = _fill(file, batch.column(c), i, columns[i])
            if bad is not None:
                refused.append((bad[0], i, bad[1]))
        if refused:
            row, i, label = min(refused, key=lambda entry: entry[:2])
            raise no_vote(file, first + row, panel.names[i], label)
        complete = not any((row == NOT_ASKED).any() for row in columns)
        yield Votes(panel, frozen(columns), None, 0, batch.num_rows, complete, _ids=ids)
        first += batch.num_rows
    if not in_order:
        # Ascending items cannot repeat; of others we must ask.
        _refuse_repeated(file)


def _refuse_repeated(file: VoteFile) -> None:
    if file.items_checked:
        return
    text = file.source.kind in ("csv", "tsv")

    def batches() -> Iterator[pa.RecordBatch]:
        first = 1
        for batch in file.source.batches([file.item], plain=(file.item,)):
            ids = plain_items(batch.column(0), file.source.path, first, text and file.integers)
            rows = arrow(np.arange(first, first + len(ids)))
            yield pa.RecordBatch.from_arrays([ids, rows], names=["item", "row"])
            first += len(ids)

    stream = batches()
    one = next(stream)
    found = order.first_repeated(itertools.chain([one], stream), one.schema)
    if found is not None:
        item, before, row = found
        raise InputError(
            f"{file.source.path}, row {row}: item {item!r} is in row {before} already; a wide file has one "
            "row per item: keep one of them"
        )
    file.items_checked = True


def _experts(file: VoteFile) -> dict[str, int]:
    """Return which column is which expert's."""
    index = {str(name): i for i, name in enumerate(file.panel.names)}
    found = {}
    for name in file.source.names:
        if name == file.item:
            continue
        if name in index:
            found[name] = index[name]
        elif file.unknown == "error":
            raise UnknownNameError(
                f"{file.source.path}: column {name!r} is neither the item nor an expert of the panel (it "
                f"has: {some(file.panel.names)}); add it to the panel, or leave such columns out with "
                "unknown='drop' (--unknown drop)"
            )
    return found


def _fill(file: VoteFile, column: pa.Array, i: int, out: NDArray[Any]) -> tuple[int, Any] | None:
    """Write the class indices of one expert's column; return the first (row, label) that it cannot give."""
    codes, labels, rows = name_codes(column, file.panel.classes)
    for e, name in enumerate(labels):
        if codes[e] == STRANGE and name == file.none:
            codes[e] = NONE_OF_MINE
    known = file.panel.knows[i]
    wrong = np.array([code == STRANGE or (code >= 0 and not known[code]) for code in codes])
    if wrong.any() and file.unknown == "error":
        bad = np.flatnonzero(wrong[rows])  # a dictionary may hold labels that no row has
        if len(bad):
            return int(bad[0]), labels[rows[bad[0]]]
    codes[wrong | (codes == NULL)] = NOT_ASKED
    np.take(codes.astype(out.dtype), rows, out=out, mode="clip")
    return None
