"""Which classes experts take for each other: how often two of them were named for one item."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covote.panel import Name
from covote.votes.votes import Votes


class Confusion(NamedTuple):
    """Two classes, how many items got answers with both, and how many experts know both."""

    first: Name
    second: Name
    items: int
    experts: int


def confused_pairs(votes: Votes, below: int = 1, most: int | None = None) -> list[Confusion]:
    """List the pairs that fewer than `below` experts know and that answers confuse, the most frequent first.

    >>> from covote import Panel
    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1]], ["ann", "bob"])
    >>> votes = Votes.from_dense([[0, 2], [0, 2], [1, 2]], panel)
    >>> confused_pairs(votes)
    [Confusion(first='cat', second='fox', items=2, experts=0)]
    """
    from scipy.sparse import coo_array, triu

    panel, ragged = votes.panel, votes.ragged
    label = ragged.label[ragged.indptr[0] : ragged.indptr[-1]].astype(np.int64)
    item = np.repeat(np.arange(len(votes)), np.diff(ragged.indptr))
    named = np.unique(item[label >= 0] * len(panel.classes) + label[label >= 0])
    place = np.divmod(named, len(panel.classes))
    said = coo_array((np.ones(len(named), np.int64), place), shape=(len(votes), len(panel.classes))).tocsr()
    together = triu(said.T @ said, 1).tocoo()
    first, second = together.coords
    known = (panel.knows[:, first] & panel.knows[:, second]).sum(axis=0)
    order = np.argsort(-together.data, kind="stable")
    order = order[known[order] < below][:most]
    return [
        Confusion(panel.classes[first[n]], panel.classes[second[n]], int(together.data[n]), int(known[n]))
        for n in order.tolist()
    ]
