"""The authority vote: a class is as good as the share of its authorities that voted for it.

Paper: Eq. (2)-(4), argmax_k N_k / d_k.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.labels import NO_LABEL, Evidence, Labels
from covote.panel import Panel
from covote.vote_checks import smallest_int
from covote.votes import Votes

from .evidence import evidence, ragged_parts
from .tables import authority_bits, authority_lists, known_lists, vote_weights


@dataclass(frozen=True)
class Authority:
    """The paper's decoder. It needs no data to find its weights: a vote for k weighs 1 / d_k.

    Scores are compared in whole numbers, so the same votes tie on every machine. Where an item was not
    answered by everybody, d_k counts the authorities of k that answered it.
    """

    rounds: int = 0

    def start(self, panel: Panel) -> list[int]:
        """Return what a vote for each class weighs, as whole numbers."""
        return vote_weights(panel)

    def statistics(self, part: Votes, weights: list[int]) -> int:
        """Return how many items there are; the authority vote learns nothing from them."""
        return len(part)

    def learn(self, panel: Panel, counts: int, weights: list[int]) -> list[int]:
        """Return the weights unchanged."""
        return weights

    def score(self, part: Votes, weights: list[int]) -> Labels:
        """Return the labels of a part; shared best scores are reported, not broken."""
        index, tied = best_class(part, weights)
        return Labels(
            part.panel, index, tied, lambda: authority_evidence(part, index, tied),
            lambda rows: best_classes(part, rows), part._ids, part.start,
        )  # fmt: skip


def best_class(part: Votes, weights: list[int]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return (class or -1, whether the best score is shared) for every item."""
    from . import kernels

    panel = part.panel
    index = np.full(len(part), NO_LABEL, dtype=smallest_int(len(panel.classes)))
    tied = np.zeros(len(part), dtype=np.bool_)
    largest = int(panel.knows.sum(axis=0).max(initial=0))
    if part.columns is None or part.columns.dtype != np.int8 or largest > 181:
        for runs, span in ragged_parts(part):
            kernels.authority_runs(*runs, authority_bits(panel), index[span], tied[span])
    elif part.complete and _common(panel, weights) < 255:
        first, authority = authority_lists(panel)
        kernels.authority_columns(
            part.columns, part.start, first, authority, np.array(weights, np.uint8), index, tied
        )
    else:
        first, authority = authority_lists(panel)
        kernels.authority_columns_partial(
            part.columns, part.start, first, authority, part.complete, index, tied
        )
    return index, tied


def _common(panel: Panel, weights: list[int]) -> int:
    """Return lcm(d), the score of a class that all its authorities voted for."""
    return max((w * int(d) for w, d in zip(weights, panel.knows.sum(axis=0), strict=True)), default=0)


def authority_evidence(part: Votes, index: NDArray[Any], tied: NDArray[np.bool_]) -> Evidence:
    """Return what stands behind authority labels.

    The confidence is 1 over the number of classes that share the best score.
    """
    from . import evidence_kernels

    margin, runner_up = np.empty(len(part), np.float32), np.empty_like(index)
    shared = np.empty(len(part), np.int32)
    start, known = known_lists(part.panel)
    for runs, span in ragged_parts(part):
        evidence_kernels.authority_margin(
            *runs, start, known, len(part.panel.classes), index[span],
            margin[span], runner_up[span], shared[span],
        )  # fmt: skip
    confidence = np.divide(1, shared, out=np.zeros(len(part), np.float32), where=shared > 0)
    return evidence(part, index, tied, confidence, margin, runner_up)


def best_classes(part: Votes, rows: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the classes that share the best score, for some items."""
    from . import evidence_kernels

    start, known = known_lists(part.panel)
    found = []
    for row in rows:
        runs = part.part(int(row), int(row) + 1).ragged
        found.append(evidence_kernels.best_classes(*runs, start, known, len(part.panel.classes), 0))
    return found
