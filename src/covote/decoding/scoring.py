"""From scores to labels: the best class of every answer row, then the labels of the items."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear, shares
from covote.decoding.linear import Best
from covote.errors import InputError
from covote.labels import Evidence, Labels, joined
from covote.votes import Votes
from covote.votes.arrays import smallest_int
from covote.votes.patterns import AnswerPatterns, each_row, row_parts

Array = NDArray[Any]
RowParts = Callable[[Votes], Iterator[tuple[AnswerPatterns, slice]]]
"""How votes are cut into answer rows: each different one once, or each item with its probabilities."""


def labels_of_rows(rows: AnswerPatterns, best: Best, tied_classes: Array, evidence: bool) -> Labels:
    """Return the labels of answer rows; a row in which several classes share the best score has none.

    `tied_classes` are the classes of all tied rows, one row after another.
    """
    panel, tied, ties = rows.votes.panel, best.shared > 1, best.ties(tied_classes)
    index = np.where(tied, -1, best.chosen).astype(smallest_int(len(panel.classes)))
    if not evidence:
        return Labels(panel, index, tied, ties)
    found = [
        shares.violations_and_statuses(piece, shares.shares_of(piece), index[span], tied[span])
        for piece, span in rows.pieces()
    ]
    violations, status = map(np.concatenate, zip(*found, strict=True))
    runner_up = np.where(tied, -1, best.runner_up).astype(index.dtype)
    margin, confidence = best.margin.astype(np.float32), best.confidence.astype(np.float32)
    return Labels(panel, index, tied, ties, Evidence(confidence, margin, runner_up, violations, status))


def labels_from_scores(votes: Votes, scores: Array, evidence: bool = True) -> Labels:
    """Return the labels with the highest scores (items x classes), for your own decoders.

    -inf marks an impossible class; equal scores tie. The confidence is NaN: scores are not probabilities.
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
    margin, runner_up = np.full(len(table), np.nan), np.full(len(table), -1)
    if table.shape[1] > 1:
        second = table[rows, order[:, 1]]
        alone = (table == second[:, None]).sum(axis=1) == 1
        heard = np.isfinite(second) & (shared > 0)
        np.subtract(best, second, out=margin, where=heard)
        runner_up = np.where(heard & alone, order[:, 1], -1)
    chosen = np.where(shared > 0, order[:, 0], -1)
    found = Best(chosen, shared, np.full(len(table), np.nan), margin, runner_up)
    labels = labels_of_rows(each_row(votes), found, np.nonzero(top[shared > 1])[1], evidence)
    return joined([labels], votes.ids, votes.start)


def label_pieces(
    votes: Votes, label: Callable[[AnswerPatterns], Labels], parts: RowParts = row_parts
) -> Labels:
    """Return the labels of votes; `label` returns the labels of one piece of their answer rows."""
    found = [rows.spread(joined([label(piece) for piece, _ in rows.pieces()])) for rows, _ in parts(votes)]
    return joined(found, votes.ids, votes.start)


def label_by(
    votes: Votes,
    score: Callable[[AnswerPatterns], NDArray[np.int64]],
    evidence: bool,
    temperature: float = 1.0,
) -> Labels:
    """Label votes by scores (rows x classes); the confidence is a softmax of score / temperature."""

    def label(rows: AnswerPatterns) -> Labels:
        found = score(rows)
        return labels_of_rows(rows, *linear.best(found, linear.posterior(found, temperature)), evidence)

    return label_pieces(votes, label)


def table_of(
    votes: Votes, find: Callable[[AnswerPatterns], NDArray[np.float64]], parts: RowParts = row_parts
) -> NDArray[np.float64]:
    """Return a table (items x classes); `find` returns that of one piece of the answer rows."""
    found = np.empty((len(votes), len(votes.panel.classes)))
    for rows, span in parts(votes):
        found[span] = rows.spread_values(np.concatenate([find(piece) for piece, _ in rows.pieces()]))
    return found
