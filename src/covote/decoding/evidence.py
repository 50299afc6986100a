"""What stands behind a label, whichever method chose it: violations and status."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.labels import CONFLICT, SURE, TIED, UNHEARD, Evidence
from covote.panel.known_lists import authority_weights, known_lists
from covote.votes import Ragged, Votes


def evidence(
    votes: Votes,
    index: NDArray[Any],
    tied: NDArray[np.bool_],
    confidence: NDArray[np.float32],
    margin: NDArray[np.float32],
    runner_up: NDArray[Any],
) -> Evidence:
    """Return the evidence for labels; what the votes prove is the same for every method."""
    fewest, own, consistent, unheard = examined(votes, index)
    return Evidence(
        confidence, margin, runner_up, fewest, status(index, tied, fewest, own, consistent, unheard)
    )


def examined(votes: Votes, index: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Count, for every item, what the votes prove (theory: section 3).

    Returns the fewest violations of any class, the violations of the label, how many heard classes have none,
    and whether some class was not heard although the panel has authorities for it. A class that was not heard
    has no violations: it explains any votes.
    """
    from covote.decoding import evidence_columns, evidence_kernels

    size = len(votes)
    fewest, own, consistent = np.empty(size, np.int32), np.empty(size, np.int16), np.empty(size, np.int16)
    unheard = np.empty(size, np.bool_)
    columns = narrow_columns(votes)
    if columns is not None:
        evidence_columns.examine(*columns, index, fewest, own, consistent, unheard)
        return fewest, own, consistent, unheard
    start, known = known_lists(votes.panel)
    with_authority = int(votes.panel.knows.any(axis=0).sum())
    for runs, span in ragged_parts(votes):
        evidence_kernels.examine(
            *runs, start, known, len(votes.panel.classes), with_authority, index[span],
            fewest[span], own[span], consistent[span], unheard[span],
        )  # fmt: skip
    return fewest, own, consistent, unheard


def narrow_columns(votes: Votes) -> tuple[Any, ...] | None:
    """Return the first arguments of the loops over blocks of items, if the votes are dense and narrow."""
    weights = authority_weights(votes.panel)
    if votes.columns is None or votes.columns.dtype != np.int8 or weights.most > 181:
        return None
    return (
        votes.columns, votes.start, weights.first, weights.experts, weights.one, weights.authorities,
        votes.complete,
    )  # fmt: skip


def ragged_parts(votes: Votes) -> Iterator[tuple[Ragged, slice]]:
    """Yield (ragged votes, which items they are), one part after another."""
    if votes.runs is not None:
        yield votes.runs, slice(0, len(votes))
        return
    at = 0
    for part in votes.parts(1 << 16):
        yield part.ragged, slice(at, at + len(part))
        at += len(part)


def status(
    index: NDArray[Any],
    tied: NDArray[np.bool_],
    fewest: NDArray[Any],
    own: NDArray[Any],
    consistent: NDArray[Any],
    unheard: NDArray[np.bool_],
) -> NDArray[np.uint8]:
    """Return the status codes; see :attr:`covote.Labels.status`."""
    found = np.full(len(index), SURE, dtype=np.uint8)
    found[(fewest > 0) | (own > 0) | (index < 0)] = CONFLICT
    found[unheard] = UNHEARD
    found[tied | (consistent > 1)] = TIED
    return found
