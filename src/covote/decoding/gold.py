"""Gold items: items whose class is known."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import some_of
from covote.decoding import curves
from covote.decoding.fusion import soft_parts
from covote.decoding.linear import Counts, fractional_counts, sum_counts
from covote.decoding.linear import counts as counts_of
from covote.decoding.statistics import ProbabilityCounts, Statistics
from covote.errors import InputError
from covote.labels import GoldScore, Labels
from covote.votes import Votes
from covote.votes.patterns import AnswerPatterns, each_row, item_counts, row_parts

Array = NDArray[Any]

Z95, Z99 = 1.959963984540054, 2.5758293035489004
"""Quantiles of the normal distribution for two-sided intervals of 95% and 99%."""

Gold = Mapping[Any, Any] | NDArray[Any]
"""Known classes: ``{item id: class name}``, or one class index per item, -1 where it is not known."""

_looked_up: WeakKeyDictionary[Votes, tuple[Gold, NDArray[np.int64], NDArray[np.int64]]] = WeakKeyDictionary()
"""A cache, because estimation looks up the same items in every round."""


def gold_rows(gold: Gold | None, part: Votes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (positions, class indices) of the items in a part whose class is known."""
    if gold is None or len(gold) == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if isinstance(gold, Mapping):
        before = _looked_up.get(part)
        if before is None or before[0] is not gold:
            _looked_up[part] = before = gold, *_named(gold, part)
        return before[1:]
    index = np.asarray(gold)
    if index.ndim != 1 or index.dtype.kind not in "iu" or len(index) < part.stop:
        raise InputError(
            f"gold has shape {index.shape} for {part.stop} items; give one class index per item, "
            "-1 where the class is not known, or {item: class} (the to_dict() of a pandas Series)"
        )
    index = index[part.start : part.stop]
    wrong = (index < -1) | (index >= len(part.panel.classes))
    if wrong.any():
        n = int(np.argmax(wrong))
        raise InputError(
            f"gold class {index[n]} of item {n} is out of range: there are {len(part.panel.classes)} classes"
        )
    rows = np.flatnonzero(index >= 0)
    return rows, index[rows].astype(np.int64)


def counted(
    votes: Votes,
    method: str,
    gold: Gold | None,
    chances: Callable[[AnswerPatterns], NDArray[np.float64]],
    probabilities: bool = False,
    soft: bool = False,
) -> Statistics:
    """Count every answer by the class of its item: the known one, else each by its `chances`.

    With `soft`, items are counted with the probabilities that the experts gave; with `probabilities`, these
    are counted too (:mod:`covote.decoding.curves`).
    """
    items, truth = gold_rows(gold, votes)
    share = np.zeros(len(votes.panel.classes), dtype=np.int64)
    read: ProbabilityCounts | None = None

    def shared() -> Iterator[tuple[AnswerPatterns, Array, Array]]:
        for piece, count in pieces_without(votes, items, answer_parts if soft else row_parts):
            yield piece, chances(piece), count
        if len(items):
            for piece, those in each_row(votes.subset(items)).pieces():
                known = np.zeros((len(piece), len(share)))
                known[np.arange(len(piece)), truth[those]] = 1
                yield piece, known, piece.count

    def counts() -> Iterator[Counts]:
        nonlocal read
        for rows, q, count in shared():
            part = fractional_counts(q, count)
            np.add(share, part.sum(axis=0), out=share)
            if probabilities:
                some = np.flatnonzero(count)
                piece = rows.votes if len(some) == len(rows) else rows.votes.subset(some)
                read = curves.count(piece, q[some]).plus(read)
            yield counts_of(rows, part)

    total = sum_counts(counts())
    return Statistics(votes.panel, method, int(item_counts(votes).sum()), share, total, read)


def answer_parts(votes: Votes) -> Iterator[tuple[AnswerPatterns, slice]]:
    """Yield (answer rows, which items they are of); with probabilities, every item is its own row."""
    return soft_parts(votes) if votes.soft else row_parts(votes)


def pieces_without(
    votes: Votes, items: Array, parts: Callable[[Votes], Iterator[tuple[AnswerPatterns, slice]]] = row_parts
) -> Iterator[tuple[AnswerPatterns, NDArray[np.int64]]]:
    """Yield (answer rows, how many items each stands for), leaving out some items."""
    for rows, span in parts(votes):
        mine = items[(items >= span.start) & (items < span.stop)]
        count = rows.count_without(mine - span.start)
        for piece, those in rows.pieces():
            yield piece, count[those]


def like_items(gold: Mapping[Any, Any], part: Votes) -> Mapping[Any, Any]:
    """Return gold whose ids have the type of the votes' ids: a CSV file cannot tell 7 from "7"."""
    text = isinstance(part.items[0], str)
    if text and not all(isinstance(item, str) for item in gold):
        return {str(item): label for item, label in gold.items()}
    if not text and part.items.dtype.kind in "iu" and any(isinstance(item, str) for item in gold):
        return {_integer(item): label for item, label in gold.items()}
    return gold


def _integer(item: Any) -> Any:
    """Return text as the integer that it is written as: "7" is 7, but "007" is another item."""
    return int(item) if re.fullmatch(r"0|-?[1-9][0-9]{0,18}", str(item)) else item


def with_gold(
    labels: Labels,
    votes: Votes,
    gold: Gold | None,
    held_out: NDArray[np.int64] | None = None,
    *,
    learned: bool,
) -> Labels:
    """Return labels in which gold items have their known class; `gold` scores the votes on them.

    `held_out` has the label that each gold item gets from a decoder that learned without it. Items about
    which nobody was asked are not scored: that they have no label is no mistake.
    """
    if gold is None:
        return labels
    rows, truth = gold_rows(gold, votes)
    ragged = votes.subset(rows).ragged
    of_answer = np.repeat(truth, np.diff(ragged.indptr))
    asked = votes.panel.knows[ragged.expert, of_answer]
    right = asked & (ragged.label == of_answer)
    answered = np.diff(ragged.indptr) > 0
    found = np.where(answered, (labels.index if held_out is None else held_out)[rows], -1)
    expected = variance = math.nan
    doubtful = False
    if labels.evidence_or_none is not None:
        confidence = labels.confidence[rows][found >= 0].astype(np.float64)
        expected, variance = float(confidence.sum()), float((confidence * (1 - confidence)).sum())
        doubtful = _more_doubtful(labels, rows)
    score = GoldScore(
        int(answered.sum()),
        int((found == truth).sum()),
        np.bincount(ragged.expert[asked], minlength=len(votes.panel)),
        np.bincount(ragged.expert[right], minlength=len(votes.panel)),
        learned and held_out is None,
        int((found >= 0).sum()),
        expected,
        variance,
        doubtful,
    )
    return labels.with_given(rows, truth, score)


def _more_doubtful(labels: Labels, rows: NDArray[np.int64]) -> bool:
    """Whether items are less sure than the others by more than a random choice of as many would be."""
    sure = np.where(labels.index >= 0, labels.confidence, 0.0).astype(np.float64)
    others = np.delete(sure, rows)
    if not len(others) or not len(rows):
        return False
    by_chance = others.std() / math.sqrt(len(rows))
    return bool(others.mean() - sure[rows].mean() > max(0.02, 3 * by_chance))


def wilson(right: ArrayLike, total: ArrayLike, z: float = Z95) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return Wilson's interval of a share; (0, 1) if the total is 0.

    >>> [round(float(x), 3) for x in wilson(9, 10)], [float(x) for x in wilson(0, 0)]
    ([0.596, 0.982], [0.0, 1.0])
    """
    total = np.asarray(total)
    n = np.maximum(total, 1e-12)
    share = np.asarray(right) / n
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * np.sqrt(np.maximum(share * (1 - share), 0) / n + z * z / (4 * n * n))
    empty = total <= 0
    low = np.where(empty, 0.0, np.maximum(middle - half, 0))
    return low, np.where(empty, 1.0, np.minimum(middle + half, 1))


def gold_sentence(score: GoldScore) -> str:
    """Describe how many labels are right among the items whose class is known.

    >>> none = np.zeros(1, dtype=np.int64)
    >>> gold_sentence(GoldScore(80, 71, none, none, learned=False))
    'Measured on your 80 gold items: 71 right (89%; 95% interval 80 to 94%).'
    """
    low, high = wilson(score.right, score.known)
    share = score.right / max(score.known, 1)
    items = "gold item" if score.known == 1 else f"{score.known:,} gold items"
    found = f"{score.right:,} right ({share:.0%}"
    if score.doubtful:
        text = (
            f"Of your {items}, which are more doubtful than the others, the answers alone get {found}); "
            "expect more of the others."
        )
    else:
        text = f"Measured on your {items}: {found}; 95% interval {100 * low:.0f} to {100 * high:.0f}%)."
    if score.learned:
        text += " The method learned from these very items, so others may do worse (covote compare)."
    if score.refutes:
        text += (
            f" The confidence expected {score.expected:,.0f} of {score.labelled:,} labels to be right, which "
            "these items refute; the number of wrong labels is corrected by them."
        )
    return text


def no_gold(gold: Gold) -> InputError:
    """Return the error that none of the gold items has votes."""
    return InputError(
        f"none of the {len(gold):,} items whose class is known has votes (known: "
        f"{some_of(list(map(repr, gold)))}); name them as in the answers"
    )


def _named(gold: Mapping[Any, Any], part: Votes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Look up the items of a part in ``{item: class}``."""
    keys = np.array(list(gold)) if all(isinstance(item, int | np.integer) for item in gold) else None
    if keys is not None and keys.dtype.kind in "iu" and part.items.dtype.kind in "iu":
        at = np.flatnonzero(np.isin(part.items, keys))
    else:
        at = np.flatnonzero([item in gold for item in part.items.tolist()])
    truth = [part.panel.class_index(gold[item]) for item in part.items[at].tolist()]
    return at.astype(np.int64), np.array(truth, dtype=np.int64)
