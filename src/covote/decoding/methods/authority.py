"""The authority vote: a class is as good as the share of its authorities that voted for it.

Paper: Eq. (2)-(4), argmax_k N_k / d_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from covote.decoding import tie_score
from covote.decoding.evidence import evidence, narrow_columns, ragged_parts
from covote.decoding.gold import Gold
from covote.decoding.protocol import over_parts
from covote.decoding.soft import Soft
from covote.decoding.statistics import Statistics
from covote.labels import Evidence, Labels
from covote.panel import Panel
from covote.panel.known_lists import AuthorityWeights, authority_bits, authority_weights, known_lists
from covote.votes import Votes
from covote.votes.vote_checks import check_choice, smallest_int


@dataclass(frozen=True)
class Learned:
    """What a vote for each class weighs, what decides ties, whether there was enough to learn that from."""

    votes: AuthorityWeights
    ties: tie_score.Weights | None = None
    statistics: Statistics | None = None
    enough: bool = True


@dataclass(frozen=True)
class Authority:
    """The paper's decoder. It needs no data to find its weights: a vote for k weighs 1 / d_k.

    Scores are compared in whole numbers, so the same votes tie on every machine. Where an item was not
    answered by everybody, d_k counts the authorities of k that answered it.

    Parameters
    ----------
    ties
        ``"report"``: classes that share the best score stay tied. ``"default"``: votes with probabilities are
        decided by :class:`Soft`; other ties by how the experts answer (:mod:`tie_score`), which is learned
        from the votes if there are enough of them, where it says so clearly; what is left goes to the class
        with most authorities: with perfect experts of equal size this is the most likely class (theory:
        section 4). What still ties is reported.
    gold
        Items whose class is known, to learn from: ``{item: class}``.
    past
        What was learned from earlier votes of the same panel, to go on from.
    """

    ties: Literal["default", "report"] = "default"
    gold: Gold | None = None
    past: Statistics | None = None

    def __post_init__(self) -> None:
        check_choice("ties", self.ties, ("default", "report"))

    @property
    def rounds(self) -> int:
        """One pass, to learn what decides ties."""
        return 1 if self.ties == "default" else 0

    def start(self, panel: Panel) -> Learned:
        """Return what a vote for each class weighs, as whole numbers."""
        return Learned(authority_weights(panel))

    def statistics(self, part: Votes, weights: Learned) -> Statistics:
        """Count answers by authority label."""
        return tie_score.statistics(part, self.gold)

    def learn(self, panel: Panel, counts: Statistics, weights: Learned) -> Learned:
        """Return what decides ties."""
        if self.past is not None:
            counts = self.past + counts
        enough = counts.items >= tie_score.ENOUGH * len(panel.classes)
        return Learned(weights.votes, tie_score.learn(counts), counts, enough)

    def score(self, part: Votes, weights: Learned, workers: int = 1) -> Labels:
        """Return the labels of a part; several threads write into one array of labels."""
        if self.ties == "default" and part.soft:
            return Soft().score(part, weights.ties)
        index, tied = best_class(part, weights.votes, workers)
        if self.ties == "default" and tied.any():
            if weights.ties is not None and weights.enough:
                index = tie_score.decided(part, index, tied, weights.ties)
            else:
                rows = np.flatnonzero(tied)
                index[rows] = most_authorities(part.subset(rows))
        return Labels(
            part.panel, index, tied, lambda: authority_evidence(part, index, tied),
            lambda rows: best_classes(part, rows), part._ids, part.start,
        )  # fmt: skip


def best_class(
    part: Votes, weights: AuthorityWeights, workers: int = 1
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return (class or -1, whether the best score is shared) for every item."""
    index = np.empty(len(part), dtype=smallest_int(len(part.panel.classes)))
    if part.complete and weights.common < 255 and narrow_columns(part) is not None:

        def label_complete(piece: Votes) -> int:
            from covote.decoding.methods import authority_kernels

            mine = index[piece.start - part.start : piece.stop - part.start]
            authority_kernels.authority_columns(
                piece.columns, piece.start, weights.first, weights.experts, weights.weight, mine
            )
            return int(mine.min(initial=0))

        ties = min(over_parts(label_complete, part, workers)) < 0
        # Pages of zeros cost nothing until they are read: votes without ties stay fast.
        return index, index < 0 if ties else np.zeros(len(part), dtype=np.bool_)
    tied = np.empty(len(part), dtype=np.bool_)

    def label(piece: Votes) -> None:
        span = slice(piece.start - part.start, piece.stop - part.start)
        _label(piece, weights, index[span], tied[span])

    for _ in over_parts(label, part, workers):
        pass
    return index, tied


def _label(part: Votes, weights: AuthorityWeights, index: NDArray[Any], tied: NDArray[np.bool_]) -> None:
    from covote.decoding.methods import authority_kernels

    columns = narrow_columns(part)
    if columns is not None:
        authority_kernels.authority_columns_partial(*columns, index, tied)
        return
    for runs, span in ragged_parts(part):
        authority_kernels.authority_runs(*runs, authority_bits(part.panel), index[span], tied[span])


def most_authorities(part: Votes) -> NDArray[Any]:
    """Return, of the classes that share the best score, the one with most answering authorities, or -1."""
    from covote.decoding import evidence_kernels

    index = np.empty(len(part), dtype=smallest_int(len(part.panel.classes)))
    start, known = known_lists(part.panel)
    for runs, span in ragged_parts(part):
        evidence_kernels.most_authorities(*runs, start, known, len(part.panel.classes), index[span])
    return index


def authority_evidence(part: Votes, index: NDArray[Any], tied: NDArray[np.bool_]) -> Evidence:
    """Return what stands behind authority labels.

    The confidence is 1 over the number of classes that share the best score.
    """
    from covote.decoding import evidence_columns, evidence_kernels

    margin, runner_up = np.empty(len(part), np.float32), np.empty_like(index)
    shared = np.empty(len(part), np.int16)
    start, known = known_lists(part.panel)
    columns = narrow_columns(part)
    if columns is not None:
        evidence_columns.authority_margin(*columns, index, margin, runner_up, shared)
    for runs, span in ragged_parts(part) if columns is None else ():
        evidence_kernels.authority_margin(
            *runs, start, known, len(part.panel.classes), index[span],
            margin[span], runner_up[span], shared[span],
        )  # fmt: skip
    confidence = np.divide(1, shared, out=np.zeros(len(part), np.float32), where=shared > 0)
    return evidence(part, index, tied, confidence, margin, runner_up)


def best_classes(part: Votes, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the classes that share the best score, for some items."""
    from covote.decoding import tie_score_kernels

    start, known = known_lists(part.panel)
    first, best = tie_score_kernels.best_classes(
        *part.subset(rows).ragged, start, known, len(part.panel.classes)
    )
    return [best[begin:end] for begin, end in pairwise(first)]
