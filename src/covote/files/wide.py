"""Wide files: one row per item, one column per expert."""

from __future__ import annotations

import itertools
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from covote.errors import InputError, UnknownNameError
from covote.files import sorting
from covote.files.items import ascending, plain_items
from covote.files.long import no_vote
from covote.files.packed import Packed, powers
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.names import NULL, STRANGE, arrow, name_codes
from covote.votes.tables import expert_columns
from covote.votes.vote_checks import NONE_OF_MINE, NOT_ASKED, frozen, smallest_int

if TYPE_CHECKING:
    from covote.files.vote_files import VoteFile


def parts(file: VoteFile) -> Generator[Votes | Packed, None, None]:
    """Yield the votes batch by batch."""
    source, experts = file.source, _experts(file)
    text = source.kind in ("csv", "tsv")
    ascends, last = True, None
    for first, batch in file.batches([file.item, *experts]):
        ids = plain_items(batch.column(0), source.path, first, text and file.integers)
        ascends = ascends and ascending(ids) and (last is None or last < ids[0].as_py())
        last = ids[-1].as_py()
        answers = []
        refused: list[tuple[int, int, Any]] = []
        for c, i in enumerate(experts.values(), start=1):
            codes, rows, bad = _codes(file, batch.column(c), i)
            answers.append((i, codes, rows))
            if bad is not None:
                refused.append((bad[0], i, bad[1]))
        if refused:
            row, i, label = min(refused, key=lambda entry: entry[:2])
            raise no_vote(file, first + row, file.panel.names[i], label)
        yield _packed(file.panel, answers, ids) if file.packs else _votes(file.panel, answers, ids)
    if not ascends and not file.source.partial:
        # Ascending items cannot repeat; of others we must ask.
        refuse_repeated(file)


def _votes(panel: Panel, answers: list[tuple[int, Any, Any]], ids: pa.Array) -> Votes:
    columns = np.full((len(panel), len(ids)), NOT_ASKED, dtype=smallest_int(len(panel.classes)))
    for i, codes, rows in answers:
        np.take(codes.astype(columns.dtype), rows, out=columns[i], mode="clip")
    complete = not any((row == NOT_ASKED).any() for row in columns)
    return Votes(panel, frozen(columns), None, 0, len(ids), complete, _ids=ids)


def _packed(panel: Panel, answers: list[tuple[int, Any, Any]], ids: pa.Array) -> Packed:
    from covote.files import packed_kernels

    power = powers(panel)
    keys = np.full(len(ids), power.sum(), dtype=np.int64)
    for i, codes, rows in answers:
        packed_kernels.add_digit(rows, (codes - NOT_ASKED) * power[i], keys)
    return Packed(panel, keys, ids)


def refuse_repeated(file: VoteFile) -> None:
    """Refuse a file in which an item has two rows."""
    if file.items_checked:
        return
    text = file.source.kind in ("csv", "tsv")

    def batches() -> Iterator[pa.RecordBatch]:
        for first, batch in file.batches([file.item]):
            ids = plain_items(batch.column(0), file.source.path, first, text and file.integers)
            rows = arrow(np.arange(first, first + len(ids)))
            yield pa.RecordBatch.from_arrays([ids, rows], names=["item", "row"])

    stream = batches()
    one = next(stream)
    found = sorting.first_repeated(itertools.chain([one], stream), one.schema)
    if found is not None:
        item, before, row = found
        raise InputError(
            f"{file.source.path}, row {row}: item {item!r} is in row {before} already; a wide file has one "
            "row per item: keep one of them"
        )
    file.items_checked = True


def _experts(file: VoteFile) -> dict[str, int]:
    """Return which column is which expert's."""
    try:
        found = expert_columns(file.source.names, file.item, file.panel, file.unknown == "drop")
    except (InputError, UnknownNameError) as error:
        raise type(error)(f"{file.source.path}: {error}") from error
    file.source.refuse_nested(found)
    return found


def _codes(file: VoteFile, column: pa.Array, i: int) -> tuple[Any, Any, tuple[int, Any] | None]:
    """Return (class of each entry, entry of each row, first row and label that the expert cannot give)."""
    codes, labels, rows = name_codes(column, file.panel.classes)
    for e in np.flatnonzero(codes[:-1] == STRANGE):
        if labels[e] == file.none:
            codes[e] = NONE_OF_MINE
    known = file.panel.knows[i]
    wrong = np.array([code == STRANGE or (code >= 0 and not known[code]) for code in codes])
    if wrong.any() and file.unknown == "error":
        bad = np.flatnonzero(wrong[rows])  # a dictionary may hold labels that no row has
        if len(bad):
            return codes, rows, (int(bad[0]), labels[rows[bad[0]]])
    codes[wrong | (codes == NULL)] = NOT_ASKED
    return codes, rows, None
