"""Probabilities of several experts into one, where each expert speaks of the classes that it knows.

An expert's probability p_i(k) holds if the class is among those it knows, Y_i: p_i(k) = q_k / q(Y_i). The q
that fits all experts best solves q_k = sum p_i(k) / sum 1 / q(Y_i), both over the experts i that know k.
Where every expert knows two classes, this is pairwise coupling: T. Hastie and R. Tibshirani (1998),
"Classification by pairwise coupling"; T.-F. Wu, C.-J. Lin and R. C. Weng (2004), "Probability estimates for
multi-class classification by pairwise coupling". theory.md section 9 has the general case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.decoding import fusion_kernels as kernels
from covote.decoding.fusion_kernels import BOTH, COUPLED, MEAN, OWN, Given, Rivals
from covote.decoding.scoring import Best
from covote.errors import InputError
from covote.labels import NO_TIES, Ties
from covote.votes import Votes

__all__ = [
    "BOTH",
    "COUPLED",
    "MEAN",
    "OWN",
    "POWER",
    "Fused",
    "Rivals",
    "coupled",
    "fused",
    "given",
    "log_given",
    "pieces",
]

Array = NDArray[Any]

POWER = 0.3
"""Probabilities are raised to this power first: real experts are too sure (benchmarks/accuracy.py)."""

WEIGHT = 0.3
"""Weight of q beside the authority vote N_k / d_k.

Shares of authorities are at least 1 / d_k apart if all classes have d_k authorities, so a weight below 1 /
d_k (0.3 for up to three authorities) lets q decide ties, and near ties only if it is very sure. On digits
and soybean the weights 0.1, 0.3 and 1 gain +10.4, +10.4 and +10.6 points with 30% of the experts removed;
the worst of all panels is at -0.9, -0.9 and -1.2. On the half of the data sets that was not used to choose
it, the worst is at -0.1 with 0.3 and at -0.7 with 1 (docs/decoders.md).
"""

TIES, SILENT = 0.1, 0.3
"""Weight of the tie score H of plain votes beside log q, and where the probabilities themselves tie.

Both H and log q are sums of log-likelihood ratios over nearly the same answers; H adds only what experts
say about classes that they do not know, hence little weight. 0.03, 0.1 and 0.3 gain +10.0, +10.0 and +9.4
points on random panels of digits and soybean, and any weight from 0.06 to 0.15 does as well as 0.1 on other
data (docs/decoders.md). Where the probabilities tie as well they say no more than the votes, so H counts
more there; 0.3 was the weight everywhere before, and was not tried apart.
"""

FLOOR = 1e-3
"""Added to probabilities before their logarithm: what is less likely than that is all the same."""

ROUNDS = 60
PART = 1 << 15

NO_RIVALS = Rivals(NO_TIES, np.empty(0))


class Fused(NamedTuple):
    """The best class of every item, which items are tied, and between which classes."""

    best: Best
    tied: NDArray[np.bool_]
    ties: Ties


def fused(
    piece: Votes, by: int, power: float, rivals: Rivals = NO_RIVALS, table: Array | None = None
) -> Fused:
    """Score the classes of a piece of the votes by the probabilities that their authorities gave.

    Parameters
    ----------
    piece
        Ragged votes with probabilities; see :func:`pieces`.
    by
        ``MEAN``: the mean probability of the authorities. ``COUPLED``: q. ``BOTH``: N_k / d_k + 0.3 q_k.
        ``OWN``: the same with the chances of the `rivals` as q.
    power
        To which power probabilities are raised first; 1 takes them as they are.
    rivals
        For ``BOTH``: the classes with the best N_k / d_k, and how far the tie score of each is behind. For
        ``OWN``: how likely the best few are.
    table
        Gets the scores (items x classes), if given.
    """
    classes = len(piece.panel.classes)
    best, sizes = Best.empty(len(piece)), np.zeros(len(piece), np.int64)
    rule = kernels.Rule(by, float(power), ROUNDS, WEIGHT, TIES, SILENT)
    found = kernels.fuse(
        piece.ragged, given(piece), piece.panel.layout.known, rule, rivals,
        np.empty((0, classes)) if table is None else table, best, sizes,
    )  # fmt: skip
    tied = sizes > 1
    return Fused(best, tied, Ties(np.concatenate([[0], np.cumsum(sizes[tied])]), found))


def coupled(votes: Votes, power: float = POWER) -> NDArray[np.float64]:
    """Return the q (items x classes) that fit what the experts gave; 0 for a class that was not heard.

    >>> from covote import Panel
    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> votes = Votes.from_dense([[0, 1, 0]], panel, probabilities=[[0.9, 0.5, 0.9]])
    >>> coupled(votes, power=1).round(2).tolist()
    [[0.82, 0.09, 0.09]]
    """
    table = np.zeros((len(votes), len(votes.panel.classes)))
    for piece, span in pieces(votes):
        fused(piece, COUPLED, power, table=table[span])
    return table


def log_given(votes: Votes) -> NDArray[np.float32]:
    """Return the logarithms of what the experts gave to the classes they know, expert beside expert.

    Those of one answer have the mean 0, and all are 0 of an expert that was not asked.

    >>> from covote import Panel
    >>> votes = Votes.from_dense([[1, -1]], Panel(2, [[1, 1], [1, 1]]), probabilities=[[0.9, 0.5]])
    >>> log_given(votes).astype(int).tolist()
    [[-1, 1, 0, 0]]
    """
    known = votes.panel.layout.known
    table = np.zeros((len(votes), len(known.members)), dtype=np.float32)
    for piece, span in pieces(votes):
        kernels.log_given(piece.ragged, given(piece), known, FLOOR, table[span])
    return table


def pieces(votes: Votes) -> Iterator[tuple[Votes, slice]]:
    """Yield (ragged votes with probabilities, which items they are)."""
    if not votes.soft:
        raise InputError(
            "these votes carry no probabilities; give them (Votes.from_dense(..., probabilities=...)) or "
            "choose a method for plain votes, such as 'authority'"
        )
    for first in range(0, len(votes), PART):
        span = slice(first, min(first + PART, len(votes)))
        yield votes.part(span.start, span.stop).to_ragged(), span


def given(piece: Votes) -> Given:
    """Return what the experts gave in ragged votes, as it counts from 0."""
    assert piece.runs is not None
    begin, end = int(piece.runs.indptr[0]), int(piece.runs.indptr[-1])
    none = np.empty(0, dtype=np.float32)
    if piece.class_probability is not None and piece.class_start is not None:
        return Given(none, piece.class_probability, piece.class_start[begin : end + 1])
    assert piece.vote_probability is not None
    return Given(piece.vote_probability[begin:end], none, np.empty(0, dtype=np.int64))
