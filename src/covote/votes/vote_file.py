"""The one way from a table to votes: from a file, whatever its format and shape, or from memory."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from covote.arguments import naming
from covote.errors import InputError, TooLargeError
from covote.panel import Panel
from covote.panel.panel_tables import is_panel_table, panel_sheet
from covote.progress import Progress
from covote.tables import ReadOptions
from covote.tables.column_roles import HEAD, ColumnRoles, find_columns
from covote.tables.dialect import workbook_and_sheet
from covote.votes.answered_panel import answered_panel
from covote.votes.problems import DroppedWarning
from covote.votes.reader import Reader

if TYPE_CHECKING:
    import pyarrow as pa

    from covote.tables.table_file import TableFile
    from covote.votes.votes import Votes

_SURE = 1 << 22  # bytes that the first votes take before the size of all is estimated
_DECODING = 2.0
"""How much more memory the votes of a file take until they are labelled than while they are read."""


class VoteFile:
    """Votes in a Parquet, CSV, JSON-lines or Excel file, long or wide.

    Long files have the columns ``item, expert, label`` (optionally ``probability``, or ``probabilities``, a
    list over the classes the expert knows), by these or other usual names, or recognised by content; wide
    files have an item column and one column per expert.

    Parameters
    ----------
    path
        The file; its ending says the format.
    panel
        Who could answer what: a panel or its file. None or "all": everyone knows every class that anyone
        answered. "infer": each expert knows exactly the labels that they ever gave; an expert who knows a
        class but never named it in this file is assumed not to know it, so with few votes the panel is a
        guess.
    options
        How columns, names and cells are understood.

    Attributes
    ----------
    shape
        Either "long" or "wide".
    problems
        What is wrong with the file, once it has been read.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        panel: Panel | str | os.PathLike[str] | None = None,
        options: ReadOptions | None = None,
    ) -> None:
        from covote.tables.table_file import TableFile  # which loads pyarrow

        if not isinstance(panel, Panel) and panel not in (None, "all", "infer"):
            panel = Panel.load(panel)
        self.source = source = TableFile(path, exports=True, repeats=True, choose=answers_sheet)
        options = options or ReadOptions()
        if len(source.names) == 1:
            raise InputError(f"{source.path} has no answers: its only column is {source.names[0]!r}")
        if not isinstance(panel, Panel):
            if source.kind == "xlsx":
                source.notes += _panel_note(path)
            panel = _assumed_panel(source, options, everything=panel != "infer")
        self.panel = panel
        self._reader = Reader(panel, options, f"{Path(path)}, ")
        self.columns = self._reader.columns(source.names, source.head)
        if self.columns.item is None and not self.columns.items:
            raise source.no_items()
        self.shape = "wide" if self.columns.answers is not None or self.columns.items else "long"
        source.refuse_repeated(self.columns.read)
        source.refuse_nested([name for name in self.columns.read if name != self.columns.probability])
        self.problems = self._reader.problems

    def read(self, progress: Progress | None = None) -> Votes:
        """Return the votes; reject a file with problems in one message that lists all of them."""
        votes = self.examine(progress)
        dropped = self.problems.judge(self._reader.options.unknown)
        if dropped:
            warnings.warn(f"{self.source.path}: {dropped}", DroppedWarning, stacklevel=2)
        return votes

    def examine(self, progress: Progress | None = None) -> Votes:
        """Return the votes, those of rows without problems; :attr:`problems` has the others."""
        roles, source = self.columns, self.source
        first, free = 0, free_memory()
        for batch in source.batches(roles.read, plain=(str(roles.item),)):
            self._reader.add(roles, batch, source.row_numbers(first, batch.num_rows))
            first += batch.num_rows
            share = source.done / source.total if source.done else 1.0  # a sheet is read at once
            refuse_too_large(source.path, self._reader.nbytes, share, free)
            if progress is not None:
                progress(source.done, source.total, "")
        if not first:
            raise InputError(f"{source.path} has no answers: it has no rows")
        return self._reader.votes(untyped=source.untyped)

    def notes(self) -> list[str]:
        """Describe how the file was read, where that is not obvious: columns, names, encoding."""
        return [*self.source.notes, *self.columns.notes(), *self._reader.notes()]


def answers_sheet(sheets: Mapping[str, Sequence[list[str]]]) -> str | None:
    """Return the largest sheet of a workbook that is not a panel."""
    others = {name: rows for name, rows in sheets.items() if not is_panel_table([*rows])}
    return max(others, key=lambda name: sum(map(len, others[name])), default=None)


def _panel_note(path: str | os.PathLike[str]) -> list[str]:
    """Return a note on a sheet of the workbook that says who knows what, and is not used."""
    from covote.tables.sheets import read_sheets

    place, _ = workbook_and_sheet(path)
    found = panel_sheet({name: sheet.rows for name, sheet in read_sheets(place).items()})
    return [] if found is None else [f"the sheet {found!r} says who knows what: use it with --panel {place}"]


def votes_of_table(table: pa.Table, panel: Panel | None, options: ReadOptions) -> Votes:
    """Return the votes of a table in memory; see :meth:`covote.Votes.from_table`."""
    if panel is None:
        roles = find_columns(table.column_names, options.columns, None, lambda: table.slice(0, HEAD))
        batches = [[table.column(name) for name in roles.of_answers]]
        panel = answered_panel(roles, batches, options, everything=True)
    reader = Reader(panel, options)
    roles = reader.columns(table.column_names, lambda: table.slice(0, HEAD))
    reader.add(roles, table, np.arange(1, len(table) + 1))
    votes = reader.votes()
    dropped = reader.problems.judge(options.unknown)
    if dropped:
        warnings.warn(dropped, DroppedWarning, stacklevel=3)
    return votes


def _assumed_panel(source: TableFile, options: ReadOptions, *, everything: bool) -> Panel:
    """Return the panel that follows from the votes."""
    with naming(source.path):
        roles: ColumnRoles = find_columns(source.names, options.columns, None, source.head)
        source.refuse_nested(roles.of_answers)
        batches = (batch.columns for batch in source.batches(roles.of_answers))
        return answered_panel(roles, batches, options, everything=everything)


# What fits into memory


def free_memory() -> int | None:
    """Return how many bytes this process can still take; None where the system does not say."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:  # of a container
        group = Path("/sys/fs/cgroup")
        found.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        pass
    return min(found, default=None)


def refuse_too_large(path: Path, taken: int, share: float, free: int | None) -> None:
    """Reject a file if its votes will not fit into memory, given what a share of them has taken.

    `free` are the bytes that were free before.
    """
    needed = int(_DECODING * taken / share)
    if free is None or taken < _SURE or needed <= free:
        return
    raise TooLargeError(
        f"{path} ({_gigabytes(path.stat().st_size)}) needs about {_gigabytes(needed)} of memory, and "
        f"{_gigabytes(free)} are free; label it in parts, from Parquet files: covote decode "
        f"'{path.with_suffix('')}/*.parquet' --panel ... -o labels --engine dask (pip install "
        "'covote[dask]'), or use a machine with more memory"
    )


def _gigabytes(size: int) -> str:
    """Return a size for a message.

    >>> _gigabytes(12_300_000_000), _gigabytes(90_000_000)
    ('12.3 GB', '0.09 GB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e9:.2g} GB"
