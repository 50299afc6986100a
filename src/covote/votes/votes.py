"""Votes: what each expert answered about each item."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_choice
from covote.errors import InputError
from covote.panel import Name, Panel
from covote.tables import ReadOptions
from covote.tables.arrow_names import NONE_OF_MINE, NOT_ASKED, arrow_table
from covote.votes import arrays, frames
from covote.votes.arrays import Ragged, frozen
from covote.votes.patterns import AnswerPatterns, answer_rows
from covote.votes.probabilities import checked_probabilities, ragged_probabilities

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["NONE_OF_MINE", "NOT_ASKED", "Ragged", "Votes"]

PART = 1 << 18
"""Items per part: few enough to save memory, many enough that the loop over parts costs nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class Votes:
    """The answers of a panel's experts as arrays: one matrix (dense), or a list of answers per item (ragged).

    Build them with :meth:`from_dense` (class indices) or :meth:`from_table` (names). Two codes are not
    classes: ``NOT_ASKED`` (-1), and ``NONE_OF_MINE`` (-2) for an expert who was asked and says that the item
    belongs to none of the classes they know.

    Attributes
    ----------
    panel
        Who knows what.
    by_expert
        Dense votes as (experts x items), one contiguous row per expert; None if the votes are ragged.
    by_item
        Ragged votes, with absolute boundaries; None if the votes are dense.
    start, stop
        Which items of the whole these votes are: a part shares its arrays.
    vote_probability
        The probability that the expert gave to its answer, in the layout of the votes; None if unknown.
    class_probability
        The probabilities that the expert gave to the classes it knows; None if unknown. Dense: one row for
        each expert and each class it knows, in this order, (sum of sizes x items). Ragged: flat, those of
        vote p at ``class_start[p]:class_start[p + 1]``.
    ids
        The ids of all items of the whole, an Arrow or a numpy array; None for 0, 1, 2, ... :attr:`items` has
        the ids of these items.
    multiplicity
        How many items each entry stands for, if the votes are distinct answer rows (see :attr:`rows`); None
        if each entry is an item.

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> votes = Votes.from_dense([[0, 1, 0], [1, 1, -1]], panel)
    >>> votes
    Votes(2 items, 5 answers from 3 experts, dense)
    >>> votes.ragged.expert
    array([0, 1, 2, 0, 1], dtype=int8)
    """

    panel: Panel
    by_expert: NDArray[Any] | None
    by_item: Ragged | None
    start: int
    stop: int
    vote_probability: NDArray[np.float32] | None = None
    class_probability: NDArray[np.float32] | None = None
    class_start: NDArray[np.int64] | None = None
    ids: Any = None
    multiplicity: NDArray[np.int64] | None = None

    # Making votes

    @classmethod
    def from_dense(
        cls,
        array: ArrayLike,
        panel: Panel,
        items: Sequence[Any] | NDArray[Any] | None = None,
        probabilities: ArrayLike | None = None,
    ) -> Votes:
        """Take votes as a matrix of class indices (items x experts).

        Parameters
        ----------
        array
            Indices into ``panel.classes``; -1 where the expert was not asked, -2 where it answered "none of
            mine". An array of the smallest integer type in Fortran order is used without a copy.
        items
            One id per item (default: 0, 1, 2, ...).
        probabilities
            Optional: the probability of each vote (items x experts), of each class by each expert (items x
            experts x classes), or of the classes that each expert knows (items x sum of sizes).
        """
        columns = arrays.checked_columns(array, panel)
        size = columns.shape[1]
        vote, per_class = checked_probabilities(probabilities, columns, panel)
        ids = arrays.checked_ids(items, size)
        return cls(panel, columns, None, 0, size, vote, per_class, None, ids)

    @classmethod
    def from_ragged(
        cls,
        indptr: ArrayLike,
        expert: ArrayLike,
        label: ArrayLike,
        panel: Panel,
        items: Sequence[Any] | NDArray[Any] | None = None,
        probabilities: ArrayLike | None = None,
    ) -> Votes:
        """Take votes item after item: (expert index, class index) at ``indptr[n]:indptr[n + 1]``.

        An expert may answer an item once. `probabilities` is a flat array with one entry per vote, or one per
        vote and class that its expert knows.
        """
        ragged = Ragged(*arrays.checked_ragged(indptr, expert, label, panel))
        vote, per_class, starts = ragged_probabilities(probabilities, ragged.expert, panel)
        size = len(ragged.indptr) - 1
        ids = arrays.checked_ids(items, size)
        return cls(panel, None, ragged, 0, size, vote, per_class, starts, ids)

    @classmethod
    def from_valid_arrays(
        cls,
        panel: Panel,
        *,
        by_expert: NDArray[Any] | None = None,
        by_item: Ragged | None = None,
    ) -> Votes:
        """Build votes from arrays that are known to be valid: nothing is checked or copied.

        Give either `by_expert` (experts x items, C order) or `by_item`, in the types that the checked
        constructors choose.
        """
        if by_item is not None:
            ragged = Ragged(*(frozen(array) for array in by_item))
            return cls(panel, None, ragged, 0, len(ragged.indptr) - 1)
        assert by_expert is not None  # a mistake in the code that calls this, not in anyone's data
        return cls(panel, frozen(by_expert), None, 0, by_expert.shape[1])

    @classmethod
    def from_table(
        cls,
        table: Any,
        panel: Panel | None = None,
        *,
        reading: ReadOptions | None = None,
        **options: Any,
    ) -> Votes:
        """Take votes by name from a table: pandas, polars, pyarrow, duckdb, a dict of columns.

        Parameters
        ----------
        table
            Long (columns ``item, expert, label``, optionally ``probability``, or ``probabilities``: a list
            over the classes the expert knows) or wide (an item column and one column for each expert).
            Columns are found by these or other usual names (task, worker, ...), else by their contents;
            columns of a wide table without answers are ignored. A missing label means "not asked".
        panel
            Who knows what (default: everyone knows every class, as in a crowd).
        reading, options
            How to interpret columns, names and cells: a :class:`covote.ReadOptions`, or its fields as
            keywords (`item`, `expert`, `label`, `none`, `blank`, `unknown`, `duplicates`, `match`, `rename`).

        >>> panel = Panel(["cat", "dog"], [[1, 1], [1, 1]], ["ann", "bob"])
        >>> Votes.from_table({"item": ["x", "y", "x"], "expert": ["ann", "ann", "bob"],
        ...                   "label": ["cat", "dog", "cat"]}, panel)
        Votes(2 items, 3 answers from 2 experts, dense)
        """
        if panel is not None and not isinstance(panel, Panel):
            raise InputError(
                f"panel is {panel!r}, not a Panel; make one with Panel.load or Panel.from_blocks, or leave "
                "it out where everyone knows everything"
            )
        from covote.votes.vote_file import votes_of_table

        return votes_of_table(arrow_table(table), panel, ReadOptions.of(reading, options))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        panel: Panel | str | os.PathLike[str] | None = None,
        reading: ReadOptions | None = None,
        **options: Any,
    ) -> Votes:
        """Read votes from a Parquet, CSV, TSV, JSON-lines or Excel file into memory.

        `panel` may also be a file, "all" (everyone knows every class) or "infer" (each expert knows the
        labels they gave); the other parameters are those of :meth:`from_table`. A file that does not fit into
        memory is rejected, with the command that labels it in parts.
        """
        from covote.votes.vote_file import VoteFile

        return VoteFile(path, panel, ReadOptions.of(reading, options)).read()

    # Contents

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def is_dense(self) -> bool:
        """Whether the votes are stored as a matrix."""
        return self.by_expert is not None

    @cached_property
    def items(self) -> NDArray[Any]:
        """The id of every item."""
        return arrays.plain_ids(self.ids, self.start, self.stop)

    @cached_property
    def answers(self) -> int:
        """How many answers there are, "none of mine" included."""
        if self.by_item is not None:
            return int(self.by_item.indptr[-1] - self.by_item.indptr[0])
        return int(np.count_nonzero(self.dense != NOT_ASKED))

    @cached_property
    def rows(self) -> AnswerPatterns:
        """The distinct answer rows, and the row of each item."""
        return answer_rows(self)

    @property
    def dense(self) -> NDArray[Any]:
        """The votes as a matrix (items x experts) of class indices."""
        votes = self.to_dense()
        assert votes.by_expert is not None
        return votes.by_expert[:, votes.start : votes.stop].T

    @property
    def ragged(self) -> Ragged:
        """The votes item after item, with boundaries that start at 0."""
        ragged = self.to_ragged().by_item
        assert ragged is not None
        first, last = ragged.indptr[0], ragged.indptr[-1]
        return Ragged(ragged.indptr - first, ragged.expert[first:last], ragged.label[first:last])

    # Other layouts and parts

    def to_dense(self) -> Votes:
        """Return the same votes stored as a matrix."""
        if self.by_item is None:
            return self
        return arrays.as_dense(self)

    def to_ragged(self) -> Votes:
        """Return the same votes stored item after item."""
        if self.by_expert is None:
            return self
        return arrays.as_ragged(self)

    def part(self, start: int, stop: int) -> Votes:
        """Return the items start:stop, sharing the arrays of the whole."""
        return arrays.part(self, start, stop)

    def parts(self, size: int = PART) -> Iterator[Votes]:
        """Yield the votes in parts of at most `size` items."""
        if size < 1:
            raise InputError(f"a part must have at least one item, not {size}")
        for start in range(0, len(self), size):
            yield self.part(start, min(start + size, len(self)))

    def subset(self, rows: ArrayLike) -> Votes:
        """Return the votes on some items, by position or by a boolean mask."""
        return arrays.subset(self, np.asarray(rows))

    def for_panel(self, panel: Panel, *, unknown: Literal["error", "drop"] = "error") -> Votes:
        """Return the votes for another panel, matched by the names of experts and classes.

        ``unknown="drop"`` leaves out experts and classes that the other panel does not have:
        ``votes.for_panel(panel.without("ann"), unknown="drop")`` returns the votes without Ann's.
        """
        check_choice("unknown", unknown, ("error", "drop"))
        return self if panel == self.panel else arrays.translated(self, panel, unknown == "drop")

    # Tables and display

    def to_arrow(self, shape: Literal["long", "wide"] = "long") -> pa.Table:
        """Return a table of names: long (item, expert, label) or wide (item and one column per expert)."""
        check_choice("shape", shape, ("long", "wide"))
        return frames.votes_table(self, shape)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Let any library that supports Arrow (polars, duckdb, ...) read the long table."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_pandas(self, shape: Literal["long", "wide"] = "long") -> pd.DataFrame:
        """Return the table of :meth:`to_arrow` as a pandas DataFrame."""
        frames.load_pandas()
        return self.to_arrow(shape).to_pandas()

    def to_polars(self, shape: Literal["long", "wide"] = "long") -> Any:
        """Return the table of :meth:`to_arrow` as a polars DataFrame."""
        return frames.polars_frame(self.to_arrow(shape))

    def save(self, path: str | os.PathLike[str], shape: Literal["long", "wide"] = "long") -> None:
        """Write the table of :meth:`to_arrow` to a ``.parquet``, ``.csv``, ``.jsonl`` or ``.xlsx`` file."""
        from covote.tables.writing import write_table  # which loads pyarrow

        write_table(path, self.to_arrow(shape))

    def __getitem__(self, which: int | slice | Sequence[int] | NDArray[Any]) -> Votes:
        """Return the votes on some items: by position, slice, positions or a boolean mask."""
        return self.subset(np.atleast_1d(np.arange(len(self))[which]))

    def _repr_html_(self) -> str:
        few = self[: min(len(self), frames.SHOWN)].to_dense()
        columns: dict[str, list[Any]] = {"item": few.items.tolist()}
        for name, column in list(zip(self.panel.names, few.dense.T, strict=True))[: 2 * frames.SHOWN]:
            columns[str(name)] = [self.label_name(int(v)) for v in column]
        return frames.html_table(repr(self)[len("Votes(") : -1], columns, len(self))

    def __repr__(self) -> str:
        layout = "dense" if self.is_dense else "ragged"
        soft = ", with probabilities" if self.soft else ""
        return (
            f"Votes({len(self)} items, {self.answers} answers from {len(self.panel)} experts, {layout}{soft})"
        )

    @property
    def soft(self) -> bool:
        """Whether the votes carry probabilities."""
        return self.vote_probability is not None or self.class_probability is not None

    def label_name(self, index: int) -> Name | None:
        """Return the class name for an index; None for the two codes."""
        return self.panel.classes[index] if index >= 0 else None
