"""A sample of items of fixed size: the same one in any order, in any parts and on any engine.

Items with the same answers are alike, so the sample is of answer rows, drawn with a probability proportional
to the number c of items that have them: a row is in the sample of s of n items if its lot, a number between
0 and 1, is below c s / n, and counts for max(1, c s / n) items. The lot is a hash of the answers, in which
experts are numbered by how often they are right, and classes by size: neither names nor any order matter. A
row that is in the sample of the whole is also in that of at least one part, because its share of the items is
nowhere below its share of the whole everywhere; so :class:`DrawSample` collects the samples of the parts, and
:class:`CountSample` counts these rows in all parts.

E. Cohen and H. Kaplan (2007), "Summarizing data using bottom-k sketches", PODC, doi:10.1145/1281100.1281133.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.loop import Pass
from covote.decoding.statistics import Statistics
from covote.panel import Panel
from covote.votes import Ragged, Votes
from covote.votes.arrays import gather
from covote.votes.patterns import row_parts

if TYPE_CHECKING:
    from covote.decoding.learned_weights import LearnedWeights

Array = NDArray[Any]

MOST = 1536
"""Items in a sample at most, enough to tell habits apart."""
LEAST = 256
"""Items in a sample at least."""
NUMBERS = 1 << 22
"""Numbers (answers x classes) to compute for a sample, if that leaves LEAST items."""


def sample_size(items: int, answers: int, classes: int) -> int:
    """Return how many items a sample has; the number of items does not matter.

    >>> sample_size(20, 100, 10), sample_size(10**7, 5 * 10**7, 10), sample_size(10**7, 5 * 10**7, 1000)
    (20, 1536, 838)
    """
    per_item = max(answers // max(items, 1), 1) * classes
    return min(items, max(min(NUMBERS // per_item, MOST), LEAST))


@dataclass(frozen=True)
class RowSample:
    """Answer rows: the key that tells them apart, their lots, and how many items have each.

    `parts` is the number of parts that they are from.
    """

    key: NDArray[np.uint64]
    lot: NDArray[np.uint64]
    count: NDArray[np.int64]
    rows: Ragged
    parts: int = 1

    def __add__(self, other: RowSample) -> RowSample:
        indptr = np.concatenate([self.rows.indptr, other.rows.indptr[1:] + self.rows.indptr[-1]])
        expert, label = (np.concatenate(two) for two in zip(self.rows[1:], other.rows[1:], strict=True))
        return RowSample(
            np.concatenate([self.key, other.key]), np.concatenate([self.lot, other.lot]),
            np.concatenate([self.count, other.count]), Ragged(indptr, expert, label),
            self.parts + other.parts,
        )  # fmt: skip

    def take(self, where: Array, count: NDArray[np.int64]) -> RowSample:
        """Return some of the rows, with their counts."""
        where = np.arange(len(self.key))[where]
        indptr, places = gather(self.rows.indptr, where)
        rows = Ragged(indptr, self.rows.expert[places], self.rows.label[places])
        return RowSample(self.key[where], self.lot[where], count, rows)

    def distinct(self) -> RowSample:
        """Return every row once, in the order of the keys."""
        _, first, which = np.unique(self.key, return_index=True, return_inverse=True)
        return self.take(first, np.bincount(which, self.count, len(first)).astype(np.int64))

    def drawn(self, share: float) -> RowSample:
        """Return the rows of a sample of this share of the items, and how many items each stands for."""
        where = np.flatnonzero(self.lot / 2.0**64 < self.count * share)
        return self.take(where, np.maximum(np.rint(self.count[where] * share), 1).astype(np.int64))

    def halves(self) -> tuple[RowSample, RowSample]:
        """Return two halves; rows that stand for several items are in both."""
        odd = (self.lot & np.uint64(1)).astype(np.int64)
        one, other = (self.count + odd) // 2, (self.count + 1 - odd) // 2
        return self.take(one > 0, one[one > 0]), self.take(other > 0, other[other > 0])

    def votes(self, panel: Panel) -> Votes:
        """Return the rows as votes."""
        return replace(Votes.from_valid_arrays(panel, by_item=self.rows), multiplicity=self.count)


@dataclass(frozen=True)
class DrawSample(Pass):
    """Draw the rows of a part that may be in the sample, and choose by them if there is one part."""

    choose: Callable[[LearnedWeights, RowSample], LearnedWeights]

    def count(self, votes: Votes, weights: LearnedWeights) -> RowSample:
        """Return rows of a part with their hashes and counts."""
        found = None
        for rows in hashed_rows(votes, weights.statistics):
            part = rows.distinct()
            share = weights.sample_share * weights.items / max(int(part.count.sum()), 1)
            where = np.flatnonzero(part.lot / 2.0**64 < part.count * share)
            more = part.take(where, part.count[where])
            found = more if found is None else found + more
        assert found is not None  # votes have at least one piece
        return found

    def learn(self, panel: Panel, counts: RowSample, weights: LearnedWeights) -> LearnedWeights:
        """Return the weights with what was chosen, or with the rows that have to be counted in all parts."""
        if counts.parts == 1:
            return self.choose(weights, counts.distinct().drawn(weights.sample_share))
        return replace(weights, candidates=counts.distinct())


@dataclass(frozen=True)
class CountSample(Pass):
    """Count the rows that may be in the sample in all parts, and choose."""

    choose: Callable[[LearnedWeights, RowSample], LearnedWeights]

    def needed(self, weights: LearnedWeights) -> bool:
        """Whether there are several parts."""
        return weights.candidates is not None

    def count(self, votes: Votes, weights: LearnedWeights) -> NDArray[np.int64]:
        """Return how many items of a part have each row."""
        assert weights.candidates is not None
        wanted = weights.candidates.key
        found = np.zeros(len(wanted), np.int64)
        for rows in hashed_rows(votes, weights.statistics):
            at = np.minimum(np.searchsorted(wanted, rows.key), len(wanted) - 1)
            there = wanted[at] == rows.key
            np.add.at(found, at[there], rows.count[there])
        return found

    def learn(self, panel: Panel, counts: NDArray[np.int64], weights: LearnedWeights) -> LearnedWeights:
        """Return the weights with what was chosen."""
        assert weights.candidates is not None
        sample = replace(weights.candidates, count=counts, parts=1).drawn(weights.sample_share)
        return self.choose(replace(weights, candidates=None), sample)


def hashed_rows(votes: Votes, statistics: Statistics) -> Iterator[RowSample]:
    """Yield the answer rows of votes, piece by piece, with their keys, lots and counts."""
    plain = replace(votes, vote_probability=None, class_probability=None, class_start=None)
    cells = votes.panel.layout.cells
    key = _mixed(np.arange(1, len(cells.label) + 1, dtype=np.uint64))
    experts, classes = (_mixed(rank) for rank in _ranks(statistics))
    lot = _mixed(experts[cells.expert] * np.uint64(3) + np.append(classes, np.uint64(7))[cells.label])
    for rows, _ in row_parts(plain):
        pieces = [piece for piece, _ in rows.pieces()]
        key_of, lot_of = (
            np.concatenate([_mixed(_sums(hashes[one.cell], one.ragged.indptr)) for one in pieces])
            for hashes in (key, lot)
        )
        yield RowSample(key_of, lot_of, rows.count, rows.ragged)


def _ranks(statistics: Statistics) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the rank of experts by how many of their answers are right, and of classes by size."""
    keys, values = statistics.listed()
    cells, (cell, k) = statistics.panel.layout.cells, np.divmod(keys, len(statistics.panel.classes))
    right = np.zeros(len(statistics.panel), np.int64)
    np.add.at(right, cells.expert[cell], np.where(cells.label[cell] == k, values, 0))
    experts, classes = (np.unique(n, return_inverse=True)[1] for n in (right, statistics.share))
    return experts.astype(np.uint64), classes.astype(np.uint64)


def _sums(values: NDArray[np.uint64], indptr: Array) -> NDArray[np.uint64]:
    """Return the sum of each row's hashes; whole numbers wrap around, so their order does not matter."""
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    found: NDArray[np.uint64] = before[indptr[1:]] - before[indptr[:-1]]
    return found


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits: the finaliser of SplitMix64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: NDArray[np.uint64] = numbers ^ (numbers >> np.uint64(31))
    return found
