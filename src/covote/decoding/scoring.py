"""From scores to labels: the best class of every answer row, then the labels of the items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear, shares
from covote.decoding.linear import UNHEARD, UNIT, Best
from covote.errors import InputError
from covote.labels import Evidence, Labels, Ties, joined
from covote.votes import Votes
from covote.votes.arrays import smallest_int
from covote.votes.rows import Rows, each_row, row_parts

Array = NDArray[Any]


def labels_of_rows(
    rows: Rows, best: Best, ties: Ties, evidence: bool, tied: NDArray[np.bool_] | None = None
) -> Labels:
    """Return the labels of answer rows; where several classes share the best score there is none.

    `tied` says which rows `ties` are of, if not those.
    """
    panel, undecided = rows.votes.panel, best.shared > 1
    tied = undecided if tied is None else tied
    index = np.where(undecided, -1, best.chosen).astype(smallest_int(len(panel.classes)))
    if not evidence:
        return Labels(panel, index, tied, ties)
    found = [
        shares.judged(piece, shares.shares_of(piece), index[span], tied[span])
        for piece, span in rows.pieces()
    ]
    violations, status = map(np.concatenate, zip(*found, strict=True))
    runner_up = np.where(undecided, -1, best.runner_up).astype(index.dtype)
    margin, confidence = best.margin.astype(np.float32), best.confidence.astype(np.float32)
    return Labels(panel, index, tied, ties, Evidence(confidence, margin, runner_up, violations, status))


def labels_from_scores(votes: Votes, scores: Array, evidence: bool = True) -> Labels:
    """Return the labels with the highest scores (items x classes), for your own decoders.

    -inf is for a class that cannot be; equal scores tie. The confidence is NaN: scores are not probabilities.
    """
    table = np.asarray(scores, dtype=np.float64)
    if table.shape != (len(votes), len(votes.panel.classes)) or np.isnan(table).any():
        raise InputError(
            f"scores have shape {table.shape} or hold NaN; give one number per item and class, "
            f"{(len(votes), len(votes.panel.classes))}"
        )
    order = np.argsort(-table, axis=1, kind="stable")
    rows = np.arange(len(table))
    best = table[rows, order[:, 0]]
    top = (table == best[:, None]) & np.isfinite(best)[:, None]
    shared = top.sum(axis=1)
    found = Best.empty(len(table))
    found.chosen[:], found.shared[:] = np.where(shared > 0, order[:, 0], -1), shared
    found.confidence[:] = np.nan
    if table.shape[1] > 1:
        second = table[rows, order[:, 1]]
        alone = (table == second[:, None]).sum(axis=1) == 1
        heard = np.isfinite(second) & (shared > 0)
        found.margin[heard] = (best - second)[heard]
        found.runner_up[:] = np.where(heard & alone, order[:, 1], -1)
    ties = found.ties(np.nonzero(top[shared > 1])[1])
    return joined([labels_of_rows(each_row(votes), found, ties, evidence)], votes.ids, votes.start)


def label_rows(votes: Votes, find: Callable[[Rows], tuple[Best, Array]], evidence: bool) -> Labels:
    """Return the labels of votes; `find` returns the best classes of answer rows and those of tied rows."""

    def labelled(rows: Rows) -> Labels:
        found = [find(piece) for piece, _ in rows.pieces()]
        best = Best(*(np.concatenate(values) for values in zip(*(one for one, _ in found), strict=True)))
        ties = best.ties(np.concatenate([classes for _, classes in found]))
        return rows.spread(labels_of_rows(rows, best, ties, evidence))

    return joined([labelled(rows) for rows, _ in row_parts(votes)], votes.ids, votes.start)


def label_by(
    votes: Votes, score: Callable[[Rows], NDArray[np.int64]], evidence: bool, temperature: float = 1.0
) -> Labels:
    """Label votes by scores (rows x classes); the confidence is a softmax of score / temperature."""

    def find(rows: Rows) -> tuple[Best, Array]:
        found = score(rows)
        return linear.best(found, linear.posterior(found, temperature))

    return label_rows(votes, find, evidence)


def chances_by(
    votes: Votes, score: Callable[[Rows], NDArray[np.int64]], temperature: float = 1.0
) -> NDArray[np.float64]:
    """Return the probabilities (items x classes): a softmax of what :func:`label_by` scores by."""
    return by_rows(votes, lambda rows: linear.posterior(score(rows), temperature))


def by_rows(votes: Votes, find: Callable[[Rows], NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return a table (items x classes) of what `find` returns for answer rows."""
    found = np.empty((len(votes), len(votes.panel.classes)))
    for rows, span in row_parts(votes):
        found[span] = rows.spread_values(np.concatenate([find(piece) for piece, _ in rows.pieces()]))
    return found


def scores(votes: Votes, score: Callable[[Rows], NDArray[np.int64]]) -> NDArray[np.float64]:
    """Return scores as logarithms (items x classes); -inf for a class that was not heard."""

    def logarithms(rows: Rows) -> NDArray[np.float64]:
        found = score(rows)
        return np.where(found == UNHEARD, -np.inf, found / UNIT)

    return by_rows(votes, logarithms)
