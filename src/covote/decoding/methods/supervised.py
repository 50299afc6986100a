"""Supervised: a logistic regression on the answers and the default's posterior, fitted to gold items.

    features = (0.3 answers as 1 or 0, or 0.1 log of the probabilities given;  3 posterior of the default)

Gold items are scored as if their own class were unknown. The regression is used only if it labels held-out
gold items better than the default does; otherwise the default is used. In both cases the confidence is fitted
to the gold items. Stacking: D. H. Wolpert (1992), "Stacked generalization".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import fusion, linear
from covote.decoding.gold import Gold, answer_parts
from covote.decoding.lessons import Lessons
from covote.decoding.linear import UNIT, softmax
from covote.decoding.loop import Decoder, Pass
from covote.decoding.methods.learned import LearnedVote, log_likelihoods, trust_of, trusted
from covote.decoding.scoring import label_pieces, labels_of_rows, table_of
from covote.decoding.statistics import Statistics
from covote.errors import InputError
from covote.labels import Labels
from covote.panel import Panel
from covote.votes import Votes
from covote.votes.rows import Rows

Array = NDArray[Any]

FOLDS = 5
"""Folds of the gold items; each is labelled by a regression that was fitted to the others."""

LARGEST = 1 << 31
"""The largest product gold items x features x classes, which takes minutes; above it, the default is used."""

ROUND = 1 << 7
"""Log-odds are whole multiples of this many units, so that no class leads by rounding alone."""


@dataclass(frozen=True, eq=False)
class Examples:
    """The features and labels of gold items; the examples of two parts add up to those of both."""

    features: Array  # items x features
    right: Array  # whether the default labels them right
    truth: Array
    key: Array  # items x 2, equal for equal answers in any order

    def __add__(self, other: Examples) -> Examples:
        both = (np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self))
        return Examples(*both)

    def in_order(self) -> Examples:
        """Return the examples sorted by class and key, so that the order of the items does not matter."""
        order = np.lexsort((*self.key.T, self.truth))
        return Examples(*(getattr(self, f.name)[order] for f in fields(self)))


@dataclass(frozen=True, eq=False)
class Judgement:
    """The default's lessons, and the regression: weights of the features and an intercept, per class."""

    lessons: Lessons
    weights: Array
    trust: tuple[float, float]

    @property
    def statistics(self) -> Statistics:
        """The counts behind the default."""
        return self.lessons.statistics

    def scores(self, rows: Rows) -> NDArray[np.int64]:
        """Return log-odds in whole units; `UNHEARD` for classes without gold items, and without answers."""
        inputs = features(rows, self.lessons, self.lessons.scores(rows))
        found = log_odds(inputs, self.weights)
        some = (np.diff(rows.runs.indptr) > 0)[:, None] & np.isfinite(found)
        whole = np.rint(np.where(some, found, 0) * (UNIT / ROUND)).astype(np.int64) * ROUND
        return np.where(some, whole, linear.UNHEARD)


@dataclass(frozen=True)
class Supervised(Decoder):
    """The default, or a regression on the answers and the default's posterior, fitted to gold items.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known). They must
        have votes. Labels improve from about 20 items per class.
    past
        Statistics of earlier votes of the same panel, to which these votes are added.
    """

    gold: Gold | None = None
    past: Statistics | None = None

    def __post_init__(self) -> None:
        if self.gold is None or len(self.gold) == 0:
            raise InputError(
                "supervised needs gold items; give them with gold={item: class} (--gold gold.csv)"
            )

    @property
    def default(self) -> LearnedVote:
        """The default method, with the same gold items."""
        return LearnedVote(gold=self.gold, past=self.past)

    @property
    def passes(self) -> tuple[Pass, ...]:
        """The passes of the default, and one to gather the gold items."""
        return (*self.default.passes, Gather(self))

    def score(self, votes: Votes, weights: Lessons | Judgement, evidence: bool = True) -> Labels:
        """Return the labels."""
        if isinstance(weights, Lessons):
            return self.default.score(votes, weights, evidence)
        judgement = weights

        def label(rows: Rows) -> Labels:
            score = judgement.scores(rows)
            best, tied = linear.best(score, linear.posterior(score))
            best = best._replace(confidence=trusted(best.confidence, judgement.trust))
            return labels_of_rows(rows, best, tied, evidence)

        return label_pieces(votes, label, answer_parts)

    def proba(self, votes: Votes, weights: Lessons | Judgement) -> NDArray[np.float64]:
        """Return the probability of every class."""
        if isinstance(weights, Lessons):
            return self.default.proba(votes, weights)
        judgement = weights
        return table_of(votes, lambda rows: linear.posterior(judgement.scores(rows)), answer_parts)


@dataclass(frozen=True)
class Gather(Pass):
    """Gather the features of gold items, and fit the regression to them."""

    decoder: Supervised

    def needed(self, weights: Lessons) -> bool:
        """Whether the regression is small enough."""
        gold, panel = self.decoder.gold, weights.statistics.panel
        assert gold is not None
        items = len(gold) if isinstance(gold, Mapping) else int(np.count_nonzero(np.asarray(gold) >= 0))
        width = len(panel.layout.cells.label) + len(panel.classes)
        return items * width * len(panel.classes) <= LARGEST

    def count(self, votes: Votes, weights: Lessons) -> Examples:
        """Return the gold items of a part."""
        width = len(votes.panel.classes) + number_of_answers(votes)
        none = np.empty(0, np.int64)
        found = Examples(np.empty((0, width)), none.astype(bool), none, none.reshape(0, 2))
        for rows, _, truth, score in self.decoder.default.apart(votes, weights):
            index = self.decoder.default.labels(rows, weights, score, evidence=False).index
            key = np.stack([score[np.arange(len(truth)), truth], linear.across(np.maximum, score)], axis=1)
            found += Examples(features(rows, weights, score), index == truth, truth, key)
        return found

    def learn(self, panel: Panel, counts: Examples, weights: Lessons) -> Lessons | Judgement:
        """Return a regression if it labels held-out items significantly better, else the default."""
        some = counts.in_order()
        classes, fold = len(panel.classes), np.arange(len(some.truth)) % FOLDS
        chance = np.zeros((len(some.truth), classes))
        for shown in (fold != part for part in range(FOLDS)):
            if len(np.unique(some.truth[shown])) < 2:
                return weights
            fitted = regression(some.features[shown], some.truth[shown], classes)
            chance[~shown] = softmax(log_odds(some.features[~shown], fitted))
        label = chance.argmax(axis=1)
        right = label == some.truth
        better, worse = np.count_nonzero(right & ~some.right), np.count_nonzero(~right & some.right)
        if better - worse <= np.sqrt(better + worse):
            return weights
        trust = trust_of(log_likelihoods(chance[np.arange(len(label)), label], right))
        return Judgement(weights, regression(some.features, some.truth, classes), trust)


def features(rows: Rows, lessons: Lessons, score: Array) -> NDArray[np.float64]:
    """Return the features of the regression (rows x features), given S."""
    likely = 3 * lessons.posterior(score)
    if rows.votes.soft:
        return np.hstack([0.1 * fusion.log_given(rows.votes), likely])
    said = np.zeros((len(rows), number_of_answers(rows.votes)))
    said[linear.owner(rows), rows.cell] = 0.3
    return np.hstack([said, likely])


def number_of_answers(votes: Votes) -> int:
    """Return the number of possible answers, or of probabilities if the votes have them."""
    return len(votes.panel.layout.known.members if votes.soft else votes.panel.layout.cells.label)


def regression(inputs: Array, truth: Array, classes: int) -> NDArray[np.float64]:
    """Return the weights of features and of 1 (features + 1 x classes); -inf for a class without gold."""
    from sklearn.linear_model import LogisticRegression

    # Enough steps that the order of items, experts and classes does not matter.
    model = LogisticRegression(C=1.0, max_iter=2000, tol=1e-7).fit(inputs, truth)
    slopes, bias = model.coef_, model.intercept_
    if len(model.classes_) == 2:  # one row of log-odds stands for both
        slopes, bias = np.vstack([-slopes, slopes]) / 2, np.concatenate([-bias, bias]) / 2
    found = np.zeros((inputs.shape[1] + 1, classes))
    found[-1] = -np.inf
    found[:-1, model.classes_], found[-1, model.classes_] = slopes.T, bias
    return found


def log_odds(inputs: Array, weights: Array) -> NDArray[np.float64]:
    """Return the scores of all classes (rows x classes)."""
    found: NDArray[np.float64] = inputs @ weights[:-1] + weights[-1]
    return found
