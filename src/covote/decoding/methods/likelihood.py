"""Maximum likelihood under uniform noise.

Paper: the ML decoder of the statistical model; theory: section 8 for experts that may say "none of mine".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_accuracy, per_name
from covote.compiled import helper, kernel
from covote.decoding.linear import UNIT, Best, softmax
from covote.decoding.scoring import label_rows, scores
from covote.decoding.shares import grown, insert
from covote.errors import InputError
from covote.labels import Labels
from covote.panel import Name, Panel
from covote.panel.layout import Lists
from covote.votes import Ragged, Votes
from covote.votes.rows import Rows

Array = NDArray[Any]


class LogWeights(NamedTuple):
    """Log-likelihood ratios in whole numbers of 1 / scale, so that their sums do not depend on an order.

    An answer of expert i adds to every class it knows: `hit` to the class it named, `miss` to the others,
    `none` to all if it named none. `certain` stands for an infinite ratio: it outweighs all finite ones.
    """

    hit: NDArray[np.int64]
    miss: NDArray[np.int64]
    none: NDArray[np.int64]
    prior: NDArray[np.int64]
    possible: NDArray[np.bool_]
    certain: int
    scale: float


@dataclass(frozen=True)
class Likelihood:
    """The most likely class if experts answer uniformly at random outside what they know.

    Parameters
    ----------
    accuracy
        How often an expert that knows the class names it: one number, one per expert, or a mapping by name.
        At 1, the paper's model, the class with fewest violations wins and likelihood decides among equals.
    prior
        How frequent the classes are: one weight per class, or a mapping by name. Equal unless given.
    false_none
        How often an expert says "none of mine" although it knows the class (alpha).
    false_alarm
        How often an expert that does not know the class names one all the same (beta); 1 is forced choice.

    The confidence is the posterior probability of the label.
    """

    accuracy: float | ArrayLike | Mapping[Name, float] = 1.0
    prior: ArrayLike | Mapping[Name, float] | None = None
    false_none: float = 0.0
    false_alarm: float = 1.0
    rounds: ClassVar[int] = 0
    needs_probabilities: ClassVar[bool] = False
    has_proba: ClassVar[bool] = True

    def start(self, panel: Panel) -> LogWeights:
        """Return the log-likelihood ratios of every expert's answers."""
        accuracy = check_accuracy(self.accuracy, panel)
        prior = checked_prior(self.prior, panel)
        if not 0 <= self.false_none < 1:
            raise InputError(f"false_none={self.false_none} must be at least 0 and below 1")
        if not 0 < self.false_alarm <= 1:
            raise InputError(f"false_alarm={self.false_alarm} must be above 0 and at most 1")
        return log_weights(panel, accuracy, prior, self.false_none, self.false_alarm)

    def score(self, votes: Votes, weights: LogWeights, evidence: bool = True) -> Labels:
        """Return the labels."""
        known = votes.panel.layout.known

        def find(patterns: Rows, best: Best) -> Array:
            classes: Array = _most_likely(patterns.runs, known, weights, best)
            return classes

        return label_rows(votes, find, evidence)

    def proba(self, votes: Votes, weights: LogWeights) -> NDArray[np.float64]:
        """Return the posterior probability of every class; one that was not heard keeps its prior."""
        panel, cells = votes.panel, votes.panel.layout.cells
        other = np.where(
            cells.label < len(panel.classes), weights.miss[cells.expert], weights.none[cells.expert]
        )

        def column(k: int) -> NDArray[np.int64]:
            weight = np.where(cells.label == k, weights.hit[cells.expert], other)
            return np.where(panel.knows[cells.expert, k], weight, 0)

        ratio = scores(votes, column) * (UNIT / weights.scale)
        log = np.where(np.isfinite(ratio), ratio, 0) + weights.prior / weights.scale
        log[:, ~weights.possible] = -np.inf
        # A gap beyond half of `certain` is an infinite one.
        log[log.max(axis=1, keepdims=True) - log > weights.certain / weights.scale / 2] = -np.inf
        return softmax(log)


def log_weights(
    panel: Panel, accuracy: NDArray[Any], prior: NDArray[Any], false_none: float, false_alarm: float
) -> LogWeights:
    """Return the ratios P(answer | k known) / P(answer | k not known), theory: section 8."""
    size = panel.sizes.astype(float)
    answers = math.log((1 - false_none) / false_alarm)
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = answers + np.log(np.where(size > 1, accuracy, 1) * size)
        # A wrong answer of a perfect expert: the finite part that is left of log(error) + ... as error -> 0.
        wrong = np.where(accuracy < 1, 1 - accuracy, 1) * size / np.maximum(size - 1, 1)
        miss = answers + np.log(wrong)
    none = math.log(false_none / (1 - false_alarm)) if false_none > 0 and false_alarm < 1 else 0.0
    impossible_none = false_none == 0
    log_prior = np.log(np.where(prior > 0, prior, 1))
    finite = np.abs(hit) + np.abs(miss) + abs(none)
    most = float((panel.knows * finite[:, None]).sum(axis=0).max()) + float(np.abs(log_prior).max())
    certain = 2 * most + 1
    authorities = int(panel.knows.sum(axis=0).max())
    scale = 2.0 ** math.floor(math.log2(2.0**61 / (certain * (authorities + 1))))
    scale = min(scale, 2.0**40)
    miss = miss - np.where((accuracy >= 1) & (size > 1), certain, 0)
    nones = np.full(len(panel), none - (certain if impossible_none else 0))

    def whole(values: NDArray[Any]) -> NDArray[np.int64]:
        return np.rint(values * scale).astype(np.int64)

    return LogWeights(
        whole(hit), whole(miss), whole(nones), whole(log_prior), prior > 0, round(certain * scale), scale
    )


def checked_prior(prior: Any, panel: Panel) -> NDArray[np.float64]:
    """Return one prior probability per class; they sum to 1."""
    if prior is None:
        return np.full(len(panel.classes), 1 / len(panel.classes))
    if isinstance(prior, float | int):
        raise InputError(f"prior={prior} must be one weight per class, or a mapping by name")
    values = per_name(prior, panel.classes, panel.class_index, "prior", "class")
    for name, value in zip(panel.classes, values, strict=True):
        if not (value >= 0 and math.isfinite(value)):
            raise InputError(f"prior {value} of class {name!r} must be a finite number, 0 or more")
    if values.sum() <= 0:
        raise InputError("the prior is 0 for every class; give some class a positive weight")
    shares: NDArray[np.float64] = values / values.sum()
    return shares


@helper(inline="always")
def _add_up(
    runs: Ragged, n: int, known: Lists, weights: LogWeights, score: Array, seen: Array, touched: Array
) -> int:
    """Score the classes that were heard, list them in `touched`, and return how many are possible."""
    count = 0
    for p in range(runs.indptr[n], runs.indptr[n + 1]):
        i, label = runs.expert[p], runs.label[p]
        other = weights.none[i] if label < 0 else weights.miss[i]
        for q in range(known.start[i], known.start[i + 1]):
            k = known.members[q]
            if weights.possible[k]:
                if not seen[k]:
                    seen[k] = True
                    score[k] = weights.prior[k]
                    touched[count] = k
                    count += 1
                score[k] += weights.hit[i] if k == label else other
    for c in range(count):
        seen[touched[c]] = False
    return count


@helper(inline="always")
def _posterior(score: Array, touched: Array, count: int, best: int, weights: LogWeights) -> float:
    """Return the posterior probability of a class; a class that was not heard keeps its prior.

    A gap beyond half of `certain` is an infinite one.
    """
    prior, certain, scale = weights.prior, weights.certain, weights.scale
    top = score[best]
    total, heard_prior = 0.0, 0.0
    for c in range(count):
        k = touched[c]
        if 2 * (top - score[k]) < certain:
            total += math.exp((score[k] - top) / scale)
        heard_prior += math.exp(prior[k] / scale)
    if heard_prior < 1 - 1e-9:
        if 2 * -top > certain:
            return 0.0
        total += math.exp(math.log(1 - heard_prior) - top / scale)
    return 1 / total


@kernel
def _most_likely(runs: Ragged, known: Lists, weights: LogWeights, found: Best) -> Array:
    """Find the most likely class of every row; return the classes of all tied rows.

    Each addend is rounded to a whole number, hence the slack when comparing sums.
    """
    classes, certain = len(weights.prior), weights.certain
    score, seen = np.zeros(classes, np.int64), np.zeros(classes, np.bool_)
    touched = np.empty(classes, np.int64)
    ties, at = np.empty(16, np.int64), 0
    for n in range(len(found.chosen)):
        count = _add_up(runs, n, known, weights, score, seen, touched)
        if count == 0:
            continue
        slack = runs.indptr[n + 1] - runs.indptr[n] + 1
        best = touched[0]
        for c in range(1, count):
            if score[touched[c]] > score[best]:
                best = touched[c]
        second, sharing, close = -1, 0, 0
        for c in range(count):
            k = touched[c]
            sharing += score[k] >= score[best] - slack
            if k != best and (second < 0 or score[k] > score[second]):
                second = k
        found.chosen[n], found.shared[n] = best, sharing
        found.confidence[n] = _posterior(score, touched, count, best, weights)
        if second >= 0:
            gap = score[best] - score[second]
            for c in range(count):
                close += touched[c] != best and score[touched[c]] >= score[second] - slack
            found.margin[n] = 0 if sharing > 1 else (np.inf if 2 * gap > certain else gap / weights.scale)
            found.runner_up[n] = second if close == 1 else -1
        if sharing > 1:
            ties, begin = grown(ties, at + sharing), at
            for c in range(count):
                if score[touched[c]] >= score[best] - slack:
                    at = insert(ties, begin, at, touched[c])
    return ties[:at].copy()
