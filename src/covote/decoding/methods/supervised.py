"""Supervised: a few labelled items make the confidence honest, more of them the labels better.

theory.md section 9: from 5 labelled items per class, a temperature for the confidence; from 20, a learned
combination of all answers. Two things the theory does not have: after the temperature, the confidence is
shifted and stretched to fit the labelled items, which lowers the calibration error; and votes with
probabilities get a correction of the default (:mod:`supervised_fits`). Both are measured in
benchmarks/accuracy.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_choice
from covote.decoding import answering, linear, scoring
from covote.decoding.fusion import log_given
from covote.decoding.gold import Gold, gold_rows
from covote.decoding.linear import Best, softmax
from covote.decoding.loop import Decoder
from covote.decoding.methods.learned import LearnedVote, Lessons, total_scores
from covote.decoding.methods.soft import Coupling
from covote.decoding.methods.supervised_fits import (
    LONGEST,
    USUAL_SHIFT,
    Combination,
    Correction,
    combined,
    corrected,
    fitted_temperature,
    fitted_trust,
    own_share,
    trusted,
)
from covote.decoding.statistics import Statistics
from covote.errors import InputError, TooLargeError
from covote.labels import Labels, joined
from covote.panel import Name, Panel
from covote.votes import Votes
from covote.votes.rows import each_row, row_parts

Array = NDArray[Any]
Keys = NDArray[np.uint64]

FEWEST = 20
"""Labelled items that a temperature needs at least, over all classes; 5 per class make it good."""

COMBINATION, EACH = 20, 5
"""Labelled items per class that a learned combination needs: on average, and of every class."""

LARGEST = 1 << 25
"""The most numbers (labelled items x classes) to learn from at once."""

WIDEST = 1 << 27
"""The most numbers (labelled items x possible answers) to learn labels from, half a gigabyte."""


@dataclass(frozen=True)
class Examples:
    """What the votes say about labelled items; the examples of two parts add up to those of both."""

    score: Array  # items x classes
    default: Array  # items x classes: the default's scores of votes with probabilities, else no columns
    features: Array  # items x features
    label: Array
    confidence: Array
    truth: Array
    key: Array

    @property
    def soft(self) -> bool:
        """Whether the votes have probabilities."""
        return bool(self.default.shape[1])

    def __add__(self, other: Examples) -> Examples:
        return Examples(
            *(np.concatenate([getattr(self, f.name), getattr(other, f.name)]) for f in fields(self))
        )

    def in_order(self) -> Examples:
        """Return them in the order of their keys, whatever order the items came in."""
        order = np.argsort(self.key, kind="stable")
        return Examples(*(getattr(self, f.name)[order] for f in fields(self)))


@dataclass(frozen=True, eq=False)
class Judgement:
    """Weights of the default, and then how far to trust them; or what labels better than they do."""

    authority: Lessons
    temperature: float = 1.0
    trust: tuple[float, float] = (0.0, 1.0)
    better: Combination | Correction | None = None
    settled: bool = False

    @property
    def ready(self) -> bool:
        """Whether the default has learned what it learns."""
        return self.authority.statistics is not None and self.authority.settled

    @property
    def statistics(self) -> Statistics | None:
        """The counts behind the weights."""
        return self.authority.statistics


@dataclass(frozen=True)
class Supervised(Decoder):
    """The authority vote with a confidence, or a combination of the votes, learned from labelled items.

    Parameters
    ----------
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known). They must
        be among the votes; 5 per class are good, 20 in all are needed.
    learn_by
        ``"temperature"`` keeps the authority labels and makes their confidence honest; ``"combination"``
        learns the labels too: a logistic regression on the answers, or on the probabilities next to the
        default's scores. ``"auto"`` does so if there are 20 labelled items per class on average and at least
        5 of every class; with probabilities, only if that labels better what it was not shown.
    past
        What was learned from earlier votes of the same panel, to continue from.
    """

    gold: Gold | None = None
    learn_by: Literal["auto", "temperature", "combination"] = "auto"
    past: Statistics | None = None

    def __post_init__(self) -> None:
        check_choice("learn_by", self.learn_by, ("auto", "temperature", "combination"))
        if self.gold is None or len(self.gold) == 0:
            raise InputError(
                "supervised needs labelled items; give them with gold={item: class} (--gold gold.csv)"
            )

    @property
    def _authority(self) -> LearnedVote:
        return LearnedVote(gold=self.gold, past=self.past)

    @property
    def passes(self) -> tuple[Supervised, ...]:
        """The passes of the default, and one to gather the labelled items."""
        return (self,) * (len(self._authority.passes) + 1)

    def start(self, panel: Panel) -> Judgement:
        """Begin as the default does."""
        return Judgement(self._authority.start(panel))

    def count(self, part: Votes, weights: Judgement) -> Any:
        """Count what the default learns from; then gather what the votes say about labelled items."""
        if not weights.ready:
            return self._authority.count(part, weights.authority)
        rows, truth = gold_rows(self.gold, part)
        if len(rows) * len(part.panel.classes) > LARGEST:
            raise TooLargeError(
                f"{len(rows)} labelled items of {len(part.panel.classes)} classes are too many to learn from "
                "at once; give fewer"
            )
        labelled = part.subset(rows)
        labels = self._authority.score(labelled, weights.authority)
        return Examples(
            agreement(labelled, weights.authority),
            _default(labelled, weights.authority),
            _features(labelled, weights.authority)
            if self._learns_labels(part.panel)
            else np.empty((len(rows), 0)),
            labels.index,
            labels.confidence,
            truth,
            item_keys(labelled),
        )

    def learn(self, panel: Panel, counts: Any, weights: Judgement) -> Judgement:
        """Return the authority weights; then, from examples, how far to trust them."""
        if not weights.ready:
            return replace(weights, authority=self._authority.learn(panel, counts, weights.authority))
        each = np.bincount(counts.truth, minlength=len(panel.classes))[panel.knows.any(axis=0)]
        if len(counts.truth) < FEWEST:
            raise InputError(
                f"{len(counts.truth)} labelled items among these votes; supervised needs {FEWEST} or more, "
                "better 5 of every class"
            )
        counts = counts.in_order()
        better = self._better(counts, each, len(panel.classes))
        if better is not None:
            return replace(weights, better=better, settled=True)
        temperature = fitted_temperature(counts.score, counts.truth)
        there = counts.label >= 0  # an item without a label has no confidence to be learned from
        mean = counts.confidence[there] if counts.soft else None
        before = own_share(counts.score[there] / temperature, counts.label[there], mean)
        right = counts.label[there] == counts.truth[there]
        trust = fitted_trust(before, right, USUAL_SHIFT if mean is None else 0.0)
        return replace(weights, temperature=temperature, trust=trust, settled=True)

    def _better(self, found: Examples, each: Array, classes: int) -> Combination | Correction | None:
        """Learn to label, if there are enough labelled items of each class; else None."""
        needed = self.learn_by == "combination"
        enough = self.learn_by == "auto" and each.mean() >= COMBINATION and each.min() >= EACH
        if not (needed or enough):
            return None
        if found.features.shape[1] and not found.soft:
            return combined(found.features, found.truth, classes)
        work = len(found.truth) * min(found.features.shape) * classes
        if 0 < work <= LONGEST:
            return corrected(found.default, found.score, found.features, found.truth, needed=needed)
        if needed:
            raise TooLargeError(
                f"{len(found.truth)} labelled items of {classes} classes are too many to learn labels from; "
                'give fewer, or learn_by="temperature" for the confidence alone'
            )
        return None

    def _learns_labels(self, panel: Panel) -> bool:
        """Whether what labels are learned from is gathered; on every machine the same answer."""
        assert self.gold is not None
        gold = self.gold
        items = len(gold) if isinstance(gold, Mapping) else int(np.count_nonzero(np.asarray(gold) >= 0))
        return self.learn_by != "temperature" and items * len(panel.layout.cells.label) <= WIDEST

    def score(self, votes: Votes, weights: Judgement, evidence: bool = True) -> Labels:
        """Return the labels."""
        if weights.better is not None:
            return _labelled_better(votes, weights.authority, weights.better, evidence)
        labels = self._authority.score(votes, weights.authority, evidence)
        if not evidence:
            return labels
        confidence = np.zeros(len(votes), dtype=np.float32)
        for piece, span in _pieces(votes):
            index, mean = labels.index[span], labels.confidence[span] if votes.soft else None
            share = own_share(agreement(piece, weights.authority) / weights.temperature, index, mean)
            confidence[span] = np.where(index >= 0, trusted(share, weights.trust), 0)
        return labels.with_confidence(confidence)

    def proba(self, votes: Votes, weights: Judgement) -> NDArray[np.float64]:
        """Return how likely every class is, as labelled items tell."""
        found = np.zeros((len(votes), len(votes.panel.classes)))
        for piece, span in _pieces(votes):
            if weights.better is not None:
                chance = _chances(piece, weights.authority, weights.better)
                found[span] = chance / np.maximum(chance.sum(axis=1, keepdims=True), 1)
            else:
                found[span] = softmax(agreement(piece, weights.authority) / weights.temperature)
        return found


def agreement(part: Votes, weights: Lessons) -> Array:
    """Return the scores (items x classes) that make a confidence: I + O / 2, or log q of probabilities."""
    if part.soft:
        q = Coupling().table(part)
        return np.where(np.isfinite(q), np.log(np.maximum(q, 1e-9)), -np.inf)
    assert weights.statistics is not None
    return _log_scores(part, weights.statistics, 0.5)


def _log_scores(part: Votes, counts: Statistics, outside: float) -> Array:
    """Return I + outside x O (items x classes), -inf for a class that was not heard."""
    weights = _answer_weights(counts, outside)
    return scoring.scores(part, lambda rows: linear.scores(rows, weights))


@lru_cache(maxsize=4)
def _answer_weights(counts: Statistics, outside: float) -> linear.Weights:
    return linear.whole(counts.panel, partial(answering.fit(counts).block, outside=outside))


def _default(part: Votes, weights: Lessons) -> Array:
    """Return the default's scores of votes with probabilities (items x classes), else no columns."""
    return total_scores(part, weights) if part.soft else np.empty((len(part), 0))


def _features(part: Votes, weights: Lessons) -> Array:
    """Return what a label is learned from (items x features)."""
    if part.soft:
        return log_given(part)
    assert weights.statistics is not None
    return features(part, weights.statistics)


def _labelled_better(
    votes: Votes, authority: Lessons, better: Combination | Correction, evidence: bool
) -> Labels:
    """Return the labels that were learned; the margin is one of chances."""
    found = []
    for piece, _ in _pieces(votes):
        table = _chances(piece, authority, better)
        best = _best(table)
        tied = table[best.shared > 1]
        ties = best.ties(np.nonzero(tied == tied.max(axis=1, keepdims=True))[1])
        found.append(scoring.labels_of_rows(each_row(piece), best, ties, evidence))
    return joined(found, votes.ids, votes.start)


def _chances(part: Votes, authority: Lessons, better: Combination | Correction) -> Array:
    """Return the chances of all classes in whole millionths, so that none is ahead by rounding alone."""
    if isinstance(better, Correction):
        default, coupled = _default(part, authority), agreement(part, authority)
        score = better.scores(default, coupled, _features(part, authority))
    else:
        score = better.scores(_features(part, authority))
    found: Array = np.rint(1e6 * softmax(score))
    found[np.diff(part.ragged.indptr) == 0] = 0
    return found


def _best(table: Array) -> Best:
    """Return the best classes by chances in millionths."""
    rows, best = np.arange(len(table)), table.argmax(axis=1)
    top = table[rows, best]
    shared = np.where(top > 0, (table == top[:, None]).sum(axis=1), 0)
    rest = table.copy()
    rest[rows, best] = -1
    second = rest.argmax(axis=1)
    next_top = rest[rows, second]
    alone = (rest == next_top[:, None]).sum(axis=1) == 1
    runner_up = np.where(alone & (next_top > 0), second, -1)
    margin = np.where(next_top < 0, np.nan, (top - next_top) / 1e6)
    return Best(np.where(top > 0, best, -1), shared, top / 1e6, margin, runner_up)


def _pieces(part: Votes) -> Iterator[tuple[Votes, slice]]:
    """Yield (votes, which items they are), so few items at a time that all classes fit into memory."""
    size = max(1, (1 << 22) // (len(part.panel.classes) + len(part.panel.layout.cells.label)))
    for first in range(0, max(len(part), 1), size):
        last = min(first + size, len(part))
        yield part.part(first, last), slice(first, last)


def features(part: Votes, counts: Statistics) -> Array:
    """Return [0.3 one-hot answers, 3 softmax(I / 2)] (theory.md section 9)."""
    inside = _log_scores(part, counts, 0.0)
    return np.concatenate([0.3 * answers(part), 3 * softmax(0.5 * inside)], axis=1)


def answers(part: Votes) -> NDArray[np.float32]:
    """Return which answers every item got (items x possible answers), 1 or 0."""
    found = np.zeros((len(part), len(part.panel.layout.cells.label)), dtype=np.float32)
    for patterns, span in row_parts(part):
        table = np.zeros((len(patterns), found.shape[1]), dtype=np.float32)
        table[np.repeat(np.arange(len(patterns)), np.diff(patterns.runs.indptr)), patterns.cell] = 1
        found[span] = patterns.spread_values(table)
    return found


def item_keys(votes: Votes) -> Keys:
    """Return a number for each item; equal for items with the same votes, and hardly ever for others.

    It is the same in any order of items, experts and classes. Labelled items are learned from in the order of
    these numbers, because sums of rounded numbers, and the parts that items are dealt into, depend on the
    order.

    >>> from covote import Panel
    >>> panel = Panel.from_blocks(["a", "b"], [["a", "b"], ["b", "a"]])
    >>> keys = item_keys(Votes.from_dense([[0, 1], [1, 0], [0, 1]], panel))
    >>> bool(keys[0] == keys[2]), bool(keys[0] == keys[1])
    (True, False)
    """
    ragged = votes.to_ragged()
    runs = ragged.runs
    assert runs is not None
    first, last = runs.indptr[ragged.start], runs.indptr[ragged.stop]
    bounds = runs.indptr[ragged.start : ragged.stop + 1] - first
    expert, label = runs.expert[first:last].astype(np.int64), runs.label[first:last].astype(np.int64)
    experts = _hashes(votes.panel.names)
    classes = np.append(_hashes(votes.panel.classes), _hashes(["none of mine", "not asked"]))
    said = _mixed(experts[expert] + _mixed(classes[label]))
    if ragged.vote_probability is not None:
        said = _mixed(said + _bits(ragged.vote_probability[first:last]))
    found = _sums(said, bounds)
    if ragged.class_probability is not None and ragged.class_start is not None:
        starts = ragged.class_start[first : last + 1]
        chances = ragged.class_probability[starts[0] : starts[-1]]
        starts = starts - starts[0]
        owner = np.repeat(np.arange(len(expert)), np.diff(starts))
        member = np.concatenate([[0], np.cumsum(votes.panel.sizes)])[expert[owner]]
        member = np.nonzero(votes.panel.knows)[1][member + np.arange(len(owner)) - starts[owner]]
        given = _mixed(_mixed(experts[expert[owner]] + classes[member]) + _bits(chances))
        found = _mixed(found) + _sums(given, starts[bounds])
    return found


def _hashes(names: Iterable[Name]) -> Keys:
    texts = (repr(name).encode("utf-8", "surrogatepass") for name in names)
    return np.array(
        [int.from_bytes(hashlib.sha256(text).digest()[:8], "little") for text in texts], dtype=np.uint64
    )


def _bits(chances: NDArray[np.float32]) -> Keys:
    return np.ascontiguousarray(chances, dtype=np.float32).view(np.uint32).astype(np.uint64)


def _mixed(values: Keys) -> Keys:
    """Return numbers all of whose bits depend on all bits (the finalizer of Appleby, 2011, MurmurHash3)."""
    found = values.copy()
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        found ^= found >> np.uint64(33)
        found *= np.uint64(factor)
    found ^= found >> np.uint64(33)
    return found


def _sums(values: Keys, bounds: NDArray[Any]) -> Keys:
    """Return sums of runs; they wrap around, so their order does not matter."""
    total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(values, dtype=np.uint64)])
    found: Keys = total[bounds[1:]] - total[bounds[:-1]]
    return found
