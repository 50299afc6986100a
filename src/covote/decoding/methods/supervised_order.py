"""A number for each item made of its votes alone: the same in any order of items, experts and classes.

What is learned from labelled items is learned from them in the order of these numbers, because sums of
rounded numbers, and the parts that items are dealt into, depend on the order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.panel import Name
from covote.votes import Votes

Keys = NDArray[np.uint64]


def item_keys(votes: Votes) -> Keys:
    """Return a number for each item; equal for items with the same votes, and hardly ever for others.

    >>> from covote import Panel
    >>> panel = Panel.from_blocks(["a", "b"], [["a", "b"], ["b", "a"]])
    >>> keys = item_keys(Votes.from_dense([[0, 1], [1, 0], [0, 1]], panel))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    ragged = votes.to_ragged()
    runs = ragged.runs
    assert runs is not None
    first, last = runs.indptr[ragged.start], runs.indptr[ragged.stop]
    bounds = runs.indptr[ragged.start : ragged.stop + 1] - first
    expert, label = runs.expert[first:last].astype(np.int64), runs.label[first:last].astype(np.int64)
    experts = _hashes(votes.panel.names)
    classes = np.append(_hashes(votes.panel.classes), _hashes(["none of mine", "not asked"]))
    said = _mixed(experts[expert] + _mixed(classes[label]))
    if ragged.vote_probability is not None:
        said = _mixed(said + _bits(ragged.vote_probability[first:last]))
    found = _sums(said, bounds)
    if ragged.class_probability is not None and ragged.class_start is not None:
        starts = ragged.class_start[first : last + 1]
        chances = ragged.class_probability[starts[0] : starts[-1]]
        starts = starts - starts[0]
        owner = np.repeat(np.arange(len(expert)), np.diff(starts))
        member = np.concatenate([[0], np.cumsum(votes.panel.sizes)])[expert[owner]]
        member = np.nonzero(votes.panel.knows)[1][member + np.arange(len(owner)) - starts[owner]]
        given = _mixed(_mixed(experts[expert[owner]] + classes[member]) + _bits(chances))
        found = _mixed(found) + _sums(given, starts[bounds])
    return found


def _hashes(names: Iterable[Name]) -> Keys:
    texts = (repr(name).encode("utf-8", "surrogatepass") for name in names)
    return np.array(
        [int.from_bytes(hashlib.sha256(text).digest()[:8], "little") for text in texts], dtype=np.uint64
    )


def _bits(chances: NDArray[np.float32]) -> Keys:
    return np.ascontiguousarray(chances, dtype=np.float32).view(np.uint32).astype(np.uint64)


def _mixed(values: Keys) -> Keys:
    """Return numbers all of whose bits depend on all bits (the finalizer of Appleby, 2011, MurmurHash3)."""
    found = values.copy()
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        found ^= found >> np.uint64(33)
        found *= np.uint64(factor)
    found ^= found >> np.uint64(33)
    return found


def _sums(values: Keys, bounds: NDArray[Any]) -> Keys:
    """Return sums of runs; they wrap around, so their order does not matter."""
    total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    found: Keys = total[bounds[1:]] - total[bounds[:-1]]
    return found
