"""Decoders for experts that give probabilities (theory.md section 9)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from covote.decoding import tie_score
from covote.decoding.rows import each_item
from covote.decoding.scoring import UNIT, Scored
from covote.errors import InputError
from covote.labels import Labels
from covote.panel import Panel
from covote.panel.known_lists import known_lists
from covote.votes import Votes

Array = NDArray[Any]

POWER = 0.3
"""Probabilities are raised to this power first: real experts are too sure (benchmarks/accuracy.py)."""

WEIGHT = 0.3
"""Weight of q beside the authority vote N_k / d_k: it decides ties, and near ties if it is very sure."""

TIES, SILENT = 0.1, 0.3
"""Weight of the tie score of plain votes beside log q, and where the probabilities themselves tie."""

FLOOR = 1e-3
"""Added to probabilities before their logarithm: what is less likely than that is all the same."""

ROUNDS = 60
PART = 1 << 15
MEAN, COUPLED, BOTH = 0, 1, 2


@dataclass(frozen=True)
class Soft:
    """The default for votes with probabilities: argmax N_k / d_k + 0.3 q_k.

    N_k / d_k is the authority vote; q is what the experts' probabilities say together: the solution of
    q_k = sum p_i(k) / sum 1 / q(Y_i), both over the experts i that know k. Pairwise coupling is the case
    where every expert knows two classes.

    Where classes tie in N_k / d_k, what they have of q is shared out anew among them, by q_k exp(0.1 H_k), H
    being the tie score of plain votes (:mod:`tie_score`), unless that is in doubt and matters much. Experts
    that are always certain say nothing by their probabilities: q is then an accident of who knows what. So H
    counts 0.3 times where the best two also have the same mean probability among their authorities.

    `tied` of the labels says where the authority vote alone would tie. The confidence is the mean probability
    that the authorities gave to the label.
    """

    power: float = POWER
    by: ClassVar[int] = BOTH

    def __post_init__(self) -> None:
        if not 0 < self.power <= 1:
            raise InputError(f"power must be above 0 and at most 1, not {self.power}")

    @property
    def rounds(self) -> int:
        """No pass: nothing is learned."""
        return 0

    def start(self, panel: Panel) -> None:
        """Begin without weights; none are needed."""

    def statistics(self, part: Votes, weights: None) -> int:
        """Return how many items there are; nothing is learned from them."""
        return len(part)

    def learn(self, panel: Panel, counts: int, weights: None) -> None:
        """Learn nothing."""

    def score(self, part: Votes, weights: tie_score.Weights | None) -> Labels:
        """Return the labels of a part of the votes; `weights` give the tie score, if it was learned."""
        scored = Scored.empty(part)
        bare = np.zeros(len(part), dtype=np.bool_)
        for piece, span in _pieces(part):
            best, shared, confidence, margin, runner_up, tied = self._run(piece, np.empty((0, 0)), weights)
            scored.put(span, _same, (best, shared, confidence, margin, runner_up))
            bare[span] = tied
        if self.by == BOTH:
            scored.tied[:] |= bare
        return scored.labels(part, lambda rows: self._equal(part, rows, weights))

    def _run(self, piece: Votes, table: Array, weights: tie_score.Weights | None) -> tuple[Array, ...]:
        from covote.decoding import soft_kernels

        size = len(piece)
        out = (
            np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size), np.empty(size),
            np.empty(size, np.int64), np.empty(size, np.bool_),
        )  # fmt: skip
        start, known = known_lists(piece.panel)
        soft_kernels.soft_best(
            *piece.ragged, *_probabilities(piece), start, known, len(piece.panel.classes),
            self.by, self.power, WEIGHT, ROUNDS, TIES, SILENT, *_ties(piece, weights), table, *out,
        )  # fmt: skip
        return out

    def _equal(self, part: Votes, rows: Array, weights: tie_score.Weights | None) -> list[Array]:
        """Return the classes that share the best score; where only the authority vote ties, its classes."""
        from covote.decoding.methods.authority import best_classes  # authority falls back on this file

        table = self.table(part.subset(rows), weights)
        best = table.max(axis=1, initial=-np.inf)
        found = [np.flatnonzero((row == b) & np.isfinite(row)) for row, b in zip(table, best, strict=True)]
        if self.by != BOTH:
            return found
        bare = best_classes(part, rows)
        return [own if len(own) > 1 else all_best for own, all_best in zip(found, bare, strict=True)]

    def table(self, part: Votes, weights: tie_score.Weights | None = None) -> NDArray[np.float64]:
        """Return the scores (items x classes); -inf for a class that was not heard."""
        table = np.full((len(part), len(part.panel.classes)), -np.inf)
        for piece, span in _pieces(part):
            self._run(piece, table[span], weights)
        return table


def log_coupled(part: Votes, power: float = POWER) -> NDArray[np.float64]:
    """Return log q (items x classes); -inf for a class that was not heard."""
    from covote.decoding.methods.coupling import Coupling

    q = Coupling(power).table(part)
    return np.where(np.isfinite(q), np.log(np.maximum(q, 1e-9)), -np.inf)


def log_given(part: Votes) -> NDArray[np.float32]:
    """Return the logarithms of what the experts gave to the classes they know, expert beside expert.

    Those of one answer have the mean 0, and all are 0 of an expert that was not asked.

    >>> votes = Votes.from_dense([[1, -1]], Panel(2, [[1, 1], [1, 1]]), probabilities=[[0.9, 0.5]])
    >>> log_given(votes).astype(int).tolist()
    [[-1, 1, 0, 0]]
    """
    from covote.decoding import soft_kernels

    start, known = known_lists(part.panel)
    table = np.zeros((len(part), len(known)), dtype=np.float32)
    for piece, span in _pieces(part):
        soft_kernels.log_given(*piece.ragged, *_probabilities(piece), start, known, FLOOR, table[span])
    return table


def _pieces(part: Votes) -> Iterator[tuple[Votes, slice]]:
    """Yield (ragged votes with probabilities, which items they are)."""
    if not part.soft:
        raise InputError(
            "these votes carry no probabilities; give them (Votes.from_dense(..., probabilities=...)) or "
            "choose a method for plain votes, such as 'authority'"
        )
    for first in range(0, len(part), PART):
        span = slice(first, min(first + PART, len(part)))
        yield part.part(span.start, span.stop).to_ragged(), span


def _ties(piece: Votes, weights: tie_score.Weights | None) -> tuple[Array, Array, Array]:
    """Return the classes with the best N_k / d_k (item n: from ``first[n]`` on), and how far H is behind."""
    if weights is None:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    patterns = each_item(piece.ragged, piece.panel)
    first, best = tie_score.best_classes(patterns, piece.panel)
    ahead, _, large = tie_score.compared(patterns, first, best, weights)
    return first, best, np.where(large, 0.0, ahead / UNIT)


def _probabilities(piece: Votes) -> tuple[Array, Array, Array]:
    """Return (per vote, per class, where those of a vote start) of ragged votes, as they count from 0."""
    assert piece.runs is not None
    begin, end = int(piece.runs.indptr[0]), int(piece.runs.indptr[-1])
    none = np.empty(0, dtype=np.float32)
    if piece.class_probability is not None and piece.class_start is not None:
        return none, piece.class_probability, piece.class_start[begin : end + 1]
    assert piece.vote_probability is not None
    return piece.vote_probability[begin:end], none, np.empty(0, dtype=np.int64)


def _same(values: Array) -> Array:
    return values
