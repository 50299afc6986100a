"""Compare methods on your own gold items.

Among many methods tried on the same items, one always looks best by luck. So a method replaces the default
only if its lead is significant after correction for the number of methods tried (Bonferroni). Its expected
accuracy is cross-validated, including the choice: the choice is repeated without each fifth of the items and
scored on that fifth. An item that a method leaves open between classes counts as a fair draw.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.gold import Gold, gold_rows, no_gold, wilson
from covote.decoding.loop import DecodeOptions, Decoder, Fitted, InMemory, checked, decode_parts
from covote.decoding.methods import make
from covote.errors import CovoteError, InputError
from covote.labels import Labels, joined
from covote.panel import Panel
from covote.votes import Votes

DEFAULT = "learned"
CANDIDATES = ("learned", "majority", "authority", "em", "dawid-skene", "likelihood")
"""Methods that are compared by default."""
FOLDS = 5
SIGNIFICANT = 0.05
"""The chance that any method is recommended although none is better than the default."""

Right = NDArray[np.float64]
"""Per gold item: 1 if the label is right, 0 if not; the chance of a fair draw if it is open."""


@dataclass(frozen=True)
class Score:
    """How one method did on the gold items.

    Attributes
    ----------
    right, known, open
        How many items get the right label, an open one by a fair draw; all gold items; items left open.
    low, high
        95% interval (Wilson) of the share of right labels.
    held_out
        Whether the method learned without the items; one that learns nothing from gold need not.
    p_value
        Of the method's lead over the default: a one-sided sign test on the items on which one of the two does
        better, times the number of methods tried.
    note
        The reason why there is no score, if there is none.
    """

    method: str
    right: float
    known: int
    open: int
    low: float
    high: float
    held_out: bool
    p_value: float
    note: str = ""

    @property
    def share(self) -> float:
        """The share of right labels; NaN without a score."""
        return math.nan if self.note else self.right / self.known


@dataclass(frozen=True)
class Comparison:
    """How the methods did on the gold items, the best first, and which one to use.

    Attributes
    ----------
    scores
        One score per method.
    best
        The method to use.
    expected
        How many of the gold items get the right label if the method is chosen without them: an estimate for
        other items.
    """

    scores: tuple[Score, ...]
    best: str
    expected: float

    @property
    def advice(self) -> str:
        """The method to use and the reason, in a sentence or two."""
        found = {score.method: score for score in self.scores}
        default, best = found[DEFAULT], found[self.best]
        if self.best == DEFAULT:
            return (
                f"Use {DEFAULT}, the default: no other is significantly better on {default.known:,} gold "
                "items."
            )
        low, high = wilson(self.expected, best.known)
        return (
            f"Use {self.best}: {best.right:,.0f} of {best.known:,} right, {_lead(best, default):,} "
            f"more than {DEFAULT} (p = {best.p_value:.2g}). Cross-validated, including the choice of the "
            f"method: {self.expected:,.0f} of {best.known:,} right; expect {float(low):.0%} to "
            f"{float(high):.0%} on new items."
        )

    @property
    def finding(self) -> str:
        """What was found, in a few words."""
        found = {score.method: score for score in self.scores}
        best, known = found[self.best], f"{found[self.best].known:,} gold items"
        if self.best == DEFAULT:
            return f"no method is significantly better than {DEFAULT} on {known}"
        more = _lead(best, found[DEFAULT])
        return f"{self.best} labels {more:,} more of {known} right than {DEFAULT}"

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per method."""
        return [asdict(score) for score in self.scores]

    def __str__(self) -> str:
        width = max(len(score.method) for score in self.scores)
        lines = [f"{'method':{width}}   right   share  {'interval':16}  open"]
        for score in self.scores:
            if score.note:
                lines.append(f"{score.method:{width}}  {score.note}")
                continue
            span = f"{score.low:.1%} to {score.high:.1%}"
            lines.append(
                f"{score.method:{width}}  {score.right:>6,.0f}  {score.share:>6.1%}  {span:16}  "
                f"{score.open:>4,}"
            )
        return "\n".join([*lines, "", self.advice])


def compare(
    votes: Votes,
    gold: Gold,
    panel: Panel | None = None,
    *,
    methods: Iterable[str | Decoder] | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare methods on items whose class is known, and recommend one.

    A method that learns from gold learns from four fifths of the gold items and is scored on the remaining
    fifth, five times. Another method is recommended only if it is significantly better than the default.

    Parameters
    ----------
    votes, panel
        As for :func:`decode`.
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known).
    methods
        The methods to compare, by name, or decoders of your own (default: all methods).
    seed
        The seed for dividing the items into fifths.

    >>> from covote import simulate
    >>> from covote.panel import Panel
    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> truth = ["cat", "dog", "fox"] * 20
    >>> compare(simulate(panel, truth, seed=1), dict(enumerate(truth)), methods=["learned", "em"]).best
    'learned'
    """
    if panel is not None:
        votes = votes.for_panel(panel)
    rows, truth = gold_rows(gold, votes)
    if not len(rows):
        raise no_gold(gold) if len(gold) else InputError("there are no gold items to compare the methods on")
    decoders = _by_name(CANDIDATES if methods is None else methods)
    fold = _folds(truth, seed)
    right: dict[str, Right] = {}
    open_items: dict[str, int] = {}
    notes: dict[str, str] = {}
    for name, decoder in decoders.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the score shows what a method warns about
                right[name], open_items[name] = _scored(votes, decoder, rows, truth, fold)
        except CovoteError as error:
            notes[name] = str(error)
    tried = len(decoders) - 1
    expected = sum(
        float(right[_choice({name: of[fold != f] for name, of in right.items()}, tried)][fold == f].sum())
        for f in range(FOLDS)
    )
    scores = []
    for name, of in right.items():
        low, high = wilson(of.sum(), len(of))
        scores.append(
            Score(
                name, float(of.sum()), len(of), open_items[name], float(low), float(high),
                _learns_from_gold(decoders[name]), p_value(of, right[DEFAULT], tried),
            )
        )  # fmt: skip
    scores.sort(key=lambda score: -score.right)
    scores += [Score(name, 0, len(rows), 0, 0.0, 1.0, False, 1.0, note) for name, note in notes.items()]
    return Comparison(tuple(scores), _choice(right, tried), expected)


def _lead(best: Score, other: Score) -> int:
    """Return how many more labels are right, as the rounded numbers have it."""
    return round(best.right) - round(other.right)


def better_than_default(votes: Votes, gold: Gold, fitted: Fitted) -> str:
    """Say which method is significantly better on the gold items than the fitted default; "" if none is.

    Every method labels each gold item as if its class were unknown, as in :func:`compare`.
    """
    rows, truth = gold_rows(gold, votes)
    labels = fitted.decoder.score(votes, fitted.weights, evidence=False)[rows]
    held_out = fitted.held_out(votes)
    index = labels.index if held_out is None else held_out[rows]
    right = {
        DEFAULT: np.where(
            index >= 0, index == truth, np.where(labels.index < 0, labels.expected_score(truth), 0)
        )
    }
    for name in CANDIDATES:
        if name != DEFAULT:
            with warnings.catch_warnings(), suppress(CovoteError):
                warnings.simplefilter("ignore", UserWarning)
                right[name], _ = _scored(votes, make(name, {}), rows, truth, _folds(truth, seed=0))
    best = _choice(right, len(CANDIDATES) - 1)
    if best == DEFAULT:
        return ""
    more = right[best].sum() - right[DEFAULT].sum()
    p = p_value(right[best], right[DEFAULT], len(CANDIDATES) - 1)
    return (
        f"Method {best} labels {more:,.0f} more of {len(rows):,} gold items right (p = {p:.2g}): see covote "
        f"compare, or decode with --method {best}."
    )


def p_value(right: Right, default: Right, tried: int) -> float:
    """Return the p-value of a method's lead over the default, corrected for how many methods were tried."""
    from scipy.stats import binom

    wins, losses = int((right > default).sum()), int((default > right).sum())
    return min(1.0, tried * float(binom.sf(wins - 1, wins + losses, 0.5))) if wins + losses else 1.0


def _choice(right: Mapping[str, Right], tried: int) -> str:
    """Return the method with the most right labels among those that are significantly better."""
    better = [name for name, of in right.items() if p_value(of, right[DEFAULT], tried) <= SIGNIFICANT]
    return max(better, key=lambda name: float(right[name].sum()), default=DEFAULT)


def _by_name(methods: Iterable[str | Decoder]) -> dict[str, Decoder]:
    """Return the decoders by name, the default among them; one of your own is called like its class."""
    found: dict[str, Decoder] = {}
    for method in methods:
        name = method if isinstance(method, str) else type(checked(method)).__name__
        if not isinstance(method, str) and name in found:
            raise InputError(f"two of the methods are called {name}; give their classes different names")
        found[name] = make(method, {})
    return {**found, DEFAULT: found.get(DEFAULT, make(DEFAULT, {}))}


def _scored(
    votes: Votes, decoder: Decoder, rows: NDArray[np.int64], truth: NDArray[np.int64], fold: NDArray[np.int64]
) -> tuple[Right, int]:
    """Return whether the gold items get the right label, each by weights that were learned without it."""
    if not _learns_from_gold(decoder):
        labels = _decoded(votes, decoder)[rows]
        return labels.expected_score(truth), int((labels.index < 0).sum())
    right, open_items = np.zeros(len(rows)), 0
    for f in np.unique(fold):
        shown, scored = fold != f, fold == f
        known = np.full(votes.stop, -1)
        known[votes.start + rows[shown]] = truth[shown]
        options: dict[str, Any] = {"gold": known}
        labels = _decoded(votes, replace(decoder, **options))[rows[scored]]
        right[scored] = labels.expected_score(truth[scored])
        open_items += int((labels.index < 0).sum())
    return right, open_items


def _decoded(votes: Votes, decoder: Decoder) -> Labels:
    return joined(list(decode_parts(InMemory(votes), decoder, DecodeOptions(evidence=False))))


def _learns_from_gold(decoder: Decoder) -> bool:
    return "gold" in {field.name for field in fields(decoder)}


def _folds(truth: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Deal the items of every class out to the folds in turn, in random order."""
    order = np.random.default_rng(seed).permutation(len(truth))
    order = order[np.argsort(truth[order], kind="stable")]
    fold = np.empty(len(truth), dtype=np.int64)
    fold[order] = np.arange(len(truth)) % FOLDS
    return fold
