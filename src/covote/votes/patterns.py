"""Answer rows: each distinct row once, with the number of items that have it.

With few experts many items get the same answers, and a decoder treats such items alike. So decoders learn
from the distinct rows and label each of them once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from covote.panel import Panel
from covote.tables.arrow_names import arrow_array
from covote.votes.arrays import Ragged, frozen, smallest_int

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from covote.votes.votes import Votes

Array = NDArray[Any]


class Taken(Protocol):
    """Something with an entry per item."""

    def take(self: T, rows: Array) -> T:
        """Return the entries at some positions."""


T = TypeVar("T", bound=Taken)

TABLE = 1 << 22
"""The most entries of a table with the place of every answer; larger panels search sorted lists."""
SLICE = 1 << 16
"""Items per slice of votes whose equal rows cannot be found."""
BLOCK = 1 << 13
"""Items whose keys are computed together, few enough to stay in the fastest cache."""
MOST = 1 << 20
"""The most distinct rows of several parts to keep together; beyond it, every part is counted by itself."""
PIECE = 1 << 16
"""Numbers (rows x classes) to compute at once, so that they stay in the processor's cache."""
WHOLE = 1 << 25
"""The most numbers (cells x classes) to keep in memory; larger panels compute weights piece by piece."""


@dataclass(frozen=True, eq=False)
class AnswerPatterns:
    """The answer rows of some items.

    Attributes
    ----------
    votes
        The rows, one item for each.
    count
        How many items have each row.
    inverse
        The row of every item; None if every item is its own row.
    """

    votes: Votes
    count: NDArray[np.int64]
    inverse: NDArray[np.int32] | None

    def __len__(self) -> int:
        return len(self.count)

    @cached_property
    def ragged(self) -> Ragged:
        """The answers."""
        return self.votes.ragged

    @cached_property
    def cell(self) -> NDArray[np.int32]:
        """The cell of each answer: the expert and the answer as one number (see `Layout.cells`)."""
        panel, (_, expert, label) = self.votes.panel, self.ragged
        cells, digits = panel.layout.cells, len(panel.classes) + 2
        votes = np.flatnonzero(cells.label < len(panel.classes))
        there = cells.expert[votes] * digits + cells.label[votes] + 2
        answers = expert.astype(np.int64)
        answers *= digits
        answers += label
        answers += 2
        none = (cells.start[1:] - 1).astype(np.int32)
        if panel.knows.size <= TABLE:
            table = np.repeat(none, digits)
            table[there] = votes
            return table.take(answers)
        place = votes.astype(np.int32).take(np.searchsorted(there, answers), mode="clip")
        return np.where(label < 0, none.take(expert), place)

    @cached_property
    def matrix(self) -> csr_array:
        """The answers as a sparse matrix (rows x cells): 1 where a row has the answer."""
        from scipy.sparse import csr_array

        entries = np.ones(len(self.cell), np.int64), self.cell, self.ragged.indptr.astype(np.int32)
        return csr_array(entries, shape=(len(self), len(self.votes.panel.layout.cells.label)))

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """Each row as one number, if it :func:`fits_key`."""
        return _keys(self.votes.to_dense())

    def places(self, among: AnswerPatterns) -> NDArray[np.int64]:
        """Return the places of these rows among those of :func:`merged`, which has all of them."""
        return np.searchsorted(among.keys, self.keys)

    def spread(self, labels: T) -> T:
        """Return the labels of the items from those of the rows."""
        return labels if self.inverse is None else labels.take(self.inverse)

    def spread_values(self, values: Array) -> Array:
        """Return one value per item from one value per row."""
        return values if self.inverse is None else values[self.inverse]

    def pieces(self) -> Iterator[tuple[AnswerPatterns, slice]]:
        """Yield (some of the rows, which rows they are), few enough for tables of rows x classes."""
        size = self._piece
        if len(self) <= size:
            yield self, slice(0, len(self))
            return
        for n, piece in enumerate(self._cut):
            yield piece, slice(n * size, n * size + len(piece))

    @property
    def _piece(self) -> int:
        panel, most = self.votes.panel, PIECE
        if len(panel.layout.cells.label) * len(panel.classes) > WHOLE:
            # Every answer needs memory for its weights, even if it occurs several times.
            most = (WHOLE >> 4) // (1 + len(self.ragged.expert) // max(len(self), 1))
        return max(most // max(len(panel.classes), 1), 16)

    @cached_property
    def _cut(self) -> tuple[AnswerPatterns, ...]:
        """The pieces; cached, because methods that learn visit the same rows several times."""
        (indptr, expert, label), cell, found = self.ragged, self.cell, []
        for first in range(0, len(self), self._piece):
            last = min(first + self._piece, len(self))
            at = slice(indptr[first], indptr[last])
            piece = AnswerPatterns(self.votes.part(first, last), self.count[first:last], None)
            ragged = Ragged(indptr[first : last + 1] - indptr[first], expert[at], label[at])
            piece.__dict__.update(ragged=ragged, cell=cell[at])  # fill the cached properties with slices
            found.append(piece)
        return tuple(found)

    def count_without(self, items: Array) -> NDArray[np.int64]:
        """Return the counts when some items are left out."""
        which = items if self.inverse is None else self.inverse[items]
        return self.count - np.bincount(which, minlength=len(self.count))


def row_parts(votes: Votes) -> Iterator[tuple[AnswerPatterns, slice]]:
    """Yield (answer rows, which items they are of).

    Votes whose equal rows cannot be found come in slices, to save memory.
    """
    if votes.multiplicity is not None or fits_key(votes.panel) or not votes.is_dense or not len(votes):
        yield votes.rows, slice(0, len(votes))
        return
    for part, span in slices(votes, SLICE):
        yield part.rows, span


def slices(votes: Votes, size: int) -> Iterator[tuple[Votes, slice]]:
    """Yield (some consecutive items, which items they are), at most `size` at a time and at least once."""
    for first in range(0, max(len(votes), 1), size):
        span = slice(first, min(first + size, len(votes)))
        yield votes.part(span.start, span.stop), span


def answer_rows(votes: Votes) -> AnswerPatterns:
    """Find the distinct answer rows, if a row fits into 64 bits; see :attr:`covote.Votes.rows`."""
    if votes.multiplicity is not None or not fits_key(votes.panel):
        # A copy, so that rows that votes cache do not keep these votes alive.
        return each_row(replace(votes))
    keys, inverse = different(_keys(votes.to_dense()))
    count = np.bincount(inverse, minlength=len(keys))
    return AnswerPatterns(_bare(votes, _unpacked(votes.panel, keys), count), count, inverse)


def different(keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the distinct keys in order of first occurrence, and the place of every key among them.

    >>> [found.tolist() for found in different(np.array([7, 3, 7]))]
    [[7, 3], [0, 1, 0]]
    """
    found = arrow_array(keys).dictionary_encode()
    return np.asarray(np.from_dlpack(found.dictionary)), np.asarray(np.from_dlpack(found.indices))


def each_row(votes: Votes) -> AnswerPatterns:
    """Return every entry of the votes as its own row."""
    return AnswerPatterns(votes, item_counts(votes), None)


def item_counts(votes: Votes) -> NDArray[np.int64]:
    """Return how many items each entry of the votes stands for."""
    if votes.multiplicity is None:
        return np.ones(len(votes), dtype=np.int64)
    return votes.multiplicity[votes.start : votes.stop]


def fits_key(panel: Panel) -> bool:
    """Whether a row of answers fits into 64 bits.

    >>> fits_key(Panel(10, [[True] * 10] * 9)), fits_key(Panel(10, [[True] * 10] * 90))
    (True, False)
    """
    return bool(_base(panel) ** len(panel) < 2**63)


def distinct_rows(votes: Votes) -> AnswerPatterns | None:
    """Return the answer rows of some votes without the items that have them; None if they are soft."""
    return None if votes.soft else replace(votes.rows, inverse=None)


def merged(parts: Iterable[AnswerPatterns | None]) -> Votes | None:
    """Return the distinct rows of several parts in the order of their keys, and how often each occurs.

    None if any part is None, or if there are more than `MOST` rows.
    """
    keys, count = np.empty(0, np.int64), np.empty(0, np.int64)
    waiting: list[tuple[Array, Array]] = []
    last_part: AnswerPatterns | None = None

    def together() -> tuple[Array, Array]:
        found, counts = (np.concatenate(arrays) for arrays in zip((keys, count), *waiting, strict=True))
        several, which = different(found)
        # Sums of floats are exact, because counts stay far below 2**53.
        return several, np.bincount(which, weights=counts, minlength=len(several)).astype(np.int64)

    for part in parts:
        if part is None:
            return None
        last_part = part
        waiting.append((part.keys, part.count))
        if sum(len(more) for more, _ in waiting) > len(keys):
            keys, count = together()
            waiting.clear()
        if len(keys) > MOST:
            return None
    if last_part is None:
        return None
    keys, count = together()
    order = np.argsort(keys)
    return _bare(last_part.votes, _unpacked(last_part.votes.panel, keys[order]), count[order])


def _bare(votes: Votes, columns: Array, count: Array) -> Votes:
    """Return rows of answers as votes, without item ids."""
    return replace(
        votes, by_expert=columns, by_item=None, start=0, stop=columns.shape[1], ids=None,
        multiplicity=frozen(count), vote_probability=None,
        class_probability=None, class_start=None,
    )  # fmt: skip


def _base(panel: Panel) -> int:
    return len(panel.classes) + 2


def _keys(dense: Votes) -> NDArray[np.int64]:
    """Encode every answer row as one number, a digit per expert; "none of mine" is 0, "not asked" 1."""
    assert dense.by_expert is not None
    base, keys = _base(dense.panel), np.zeros(len(dense), dtype=np.int64)
    for start in range(0, len(dense), BLOCK):
        part = keys[start : start + BLOCK]
        for column in dense.by_expert[:, dense.start + start : dense.start + start + len(part)]:
            part *= base
            part += column
    keys += 2 * sum(base**i for i in range(len(dense.panel)))
    return keys


def _unpacked(panel: Panel, keys: NDArray[np.int64]) -> Array:
    """Undo :func:`_keys`."""
    columns = np.empty((len(panel), len(keys)), dtype=smallest_int(len(panel.classes)))
    for i in range(len(panel) - 1, -1, -1):
        keys, digit = np.divmod(keys, _base(panel))
        columns[i] = digit - 2
    return frozen(columns)
