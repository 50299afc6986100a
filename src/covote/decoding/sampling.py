"""A sample of items of fixed size: the same one in any order, in any parts and on any engine.

Items with the same answers are alike, so the sample is of answer rows, drawn with a probability proportional
to the number c of items that have them: a row is in the sample of s of n items if its hash, a number between
0 and 1, is below c s / n, and counts for max(1, c s / n) items. The hash depends on the names of the experts
and classes alone. A row that is in the sample of the whole is also in that of at least one part, because its
share of the items is nowhere below its share of the whole everywhere; so :class:`DrawSample` collects the
samples of the parts, and :class:`CountSample` counts these rows in all parts.

E. Cohen and H. Kaplan (2007), "Summarizing data using bottom-k sketches", PODC, doi:10.1145/1281100.1281133.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.loop import Pass
from covote.panel import Panel
from covote.votes import Ragged, Votes
from covote.votes.arrays import gather
from covote.votes.patterns import AnswerPatterns, row_parts

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
    """Answer rows with their hashes, how many items have each, and from how many parts they are."""

    key: NDArray[np.uint64]
    count: NDArray[np.int64]
    rows: Ragged
    parts: int = 1

    def __add__(self, other: RowSample) -> RowSample:
        indptr = np.concatenate([self.rows.indptr, other.rows.indptr[1:] + self.rows.indptr[-1]])
        expert, label = (np.concatenate(two) for two in zip(self.rows[1:], other.rows[1:], strict=True))
        key, count = np.concatenate([self.key, other.key]), np.concatenate([self.count, other.count])
        return RowSample(key, count, Ragged(indptr, expert, label), self.parts + other.parts)

    def distinct(self) -> RowSample:
        """Return every row once, in the order of the hashes."""
        key, first, which = np.unique(self.key, return_index=True, return_inverse=True)
        return RowSample(
            key, np.bincount(which, self.count, len(key)).astype(np.int64), _rows(self.rows, first)
        )

    def drawn(self, share: float) -> RowSample:
        """Return the rows of a sample of this share of the items, and how many items each stands for."""
        expected = self.count * share
        where = np.flatnonzero(self.key / 2.0**64 < expected)
        times = np.maximum(np.rint(expected[where]), 1).astype(np.int64)
        return RowSample(self.key[where], times, _rows(self.rows, where))

    def halves(self) -> tuple[RowSample, RowSample]:
        """Return two halves; rows that stand for several items are in both."""
        odd = (self.key & np.uint64(1)).astype(np.int64)
        found = []
        for count in ((self.count + odd) // 2, (self.count + 1 - odd) // 2):
            where = np.flatnonzero(count)
            found.append(RowSample(self.key[where], count[where], _rows(self.rows, where)))
        return found[0], found[1]

    def votes(self, panel: Panel) -> Votes:
        """Return the rows as votes."""
        return replace(Votes.trusted(panel, by_item=self.rows), multiplicity=self.count)


@dataclass(frozen=True)
class DrawSample(Pass):
    """Draw the rows of a part that may be in the sample, and choose by them if there is one part."""

    choose: Callable[[LearnedWeights, RowSample], LearnedWeights]

    def count(self, votes: Votes, weights: LearnedWeights) -> RowSample:
        """Return rows of a part with their hashes and counts."""
        found = None
        for key, rows in hashed(votes):
            _, first, which = np.unique(key, return_index=True, return_inverse=True)
            count = np.bincount(which, rows.count, len(first)).astype(np.int64)
            share = weights.sample_share * weights.items / max(int(rows.count.sum()), 1)
            at = np.flatnonzero(key[first] / 2.0**64 < count * share)
            more = RowSample(key[first[at]], count[at], _rows(rows.ragged, first[at]))
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
        for key, rows in hashed(votes):
            at = np.minimum(np.searchsorted(wanted, key), len(wanted) - 1)
            there = wanted[at] == key
            np.add.at(found, at[there], rows.count[there])
        return found

    def learn(self, panel: Panel, counts: NDArray[np.int64], weights: LearnedWeights) -> LearnedWeights:
        """Return the weights with what was chosen."""
        assert weights.candidates is not None
        sample = replace(weights.candidates, count=counts, parts=1).drawn(weights.sample_share)
        return self.choose(replace(weights, candidates=None), sample)


def hashed(votes: Votes) -> Iterator[tuple[NDArray[np.uint64], AnswerPatterns]]:
    """Yield (hash of each answer row, the rows)."""
    plain = replace(votes, vote_probability=None, class_probability=None, class_start=None)
    panel, cells = votes.panel, votes.panel.layout.cells
    experts, classes = _hashes(panel.names), np.append(_hashes(panel.classes), np.uint64(7))
    cell = _mixed(experts[cells.expert] * np.uint64(3) + classes[cells.label])
    for rows, _ in row_parts(plain):
        yield (
            np.concatenate([_mixed(_sums(cell[one.cell], one.ragged.indptr)) for one, _ in rows.pieces()]),
            rows,
        )


def _sums(values: NDArray[np.uint64], indptr: Array) -> NDArray[np.uint64]:
    """Return the sum of each row's hashes; whole numbers wrap around, so their order does not matter."""
    before = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])
    found: NDArray[np.uint64] = before[indptr[1:]] - before[indptr[:-1]]
    return found


def _hashes(names: Any) -> NDArray[np.uint64]:
    """Return a hash of each name."""
    return np.array(
        [int.from_bytes(blake2b(str(n).encode(), digest_size=8).digest()) for n in names], np.uint64
    )


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble 64 bits: the finaliser of SplitMix64."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    found: NDArray[np.uint64] = numbers ^ (numbers >> np.uint64(31))
    return found


def _rows(rows: Ragged, which: Array) -> Ragged:
    """Return some of the answer rows."""
    indptr, places = gather(rows.indptr, which)
    return Ragged(indptr, rows.expert[places], rows.label[places])
