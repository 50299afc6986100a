"""Compare decoders on your own gold items.

Among many methods tried on the same items, one always looks best by luck. So a method replaces the default
only if its lead is significant after correction for the number of methods tried (Bonferroni). Its expected
accuracy comes from items that had no part in choosing it: the choice is repeated without each fifth of the
items and scored on that fifth.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding.gold import Gold, gold_rows, no_gold, wilson
from covote.decoding.loop import InMemory, Wanted, decode_parts
from covote.decoding.methods import DECODERS, make
from covote.errors import CovoteError, InputError
from covote.labels import joined
from covote.panel import Panel
from covote.votes import Votes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DEFAULT = "learned"
CANDIDATES = ("learned", "em", "dawid-skene", "likelihood")
"""Methods that are compared by default; `authority` is not, because it leaves items open."""
FOLDS = 5
SURELY = 0.05
"""The chance that any method is recommended although none is better than the default."""


@dataclass(frozen=True)
class Score:
    """How one method did on the gold items.

    Attributes
    ----------
    right, known, open
        Items with the right label, all gold items, and items that the method left without a label.
    low, high
        95% interval (Wilson) of the share of right labels.
    held_out
        Whether the method learned without the items; one that learns nothing from gold need not.
    chance
        The p-value of the method's lead over the default: a one-sided sign test on the items on which
        exactly one of the two is right, times the number of methods tried.
    note
        The reason why there is no score, if there is none.
    """

    method: str
    right: int
    known: int
    open: int
    low: float
    high: float
    held_out: bool
    chance: float
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
    expected: int

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
            f"Use {self.best}: {best.right:,} of {best.known:,} right, {best.right - default.right:,} more "
            f"than {DEFAULT} (p = {best.chance:.2g}). Chosen without the items it is scored on: "
            f"{self.expected:,} right, so expect {float(low):.0%} to {float(high):.0%} on other items."
        )

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per method."""
        return [asdict(score) for score in self.scores]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share of right labels with its interval, one line per method; return the axes."""
        if ax is None:
            from matplotlib.figure import Figure

            ax = Figure(figsize=(7.0, 1.2 + 0.35 * len(self.scores)), layout="constrained").add_subplot()
        shown = [score for score in self.scores if not score.note][::-1]
        for n, score in enumerate(shown):
            colour = "#1f6f8b" if score.method == self.best else "#8a94a0"
            ax.plot([100 * score.low, 100 * score.high], [n, n], color=colour, linewidth=2)
            ax.plot([100 * score.share], [n], "o", color=colour)
        ax.set_yticks(range(len(shown)), [score.method for score in shown])
        ax.set_xlabel("gold items labelled right (%), with 95% interval")
        ax.set_title(f"Use {self.best}")
        ax.grid(axis="x", alpha=0.3)
        return ax

    def __str__(self) -> str:
        width = max(len(score.method) for score in self.scores)
        lines = [f"{'method':{width}}   right   share  {'interval':16}  open"]
        for score in self.scores:
            if score.note:
                lines.append(f"{score.method:{width}}  {score.note}")
                continue
            span = f"{score.low:.1%} to {score.high:.1%}"
            lines.append(
                f"{score.method:{width}}  {score.right:>6,}  {score.share:>6.1%}  {span:16}  {score.open:>4,}"
            )
        return "\n".join([*lines, "", self.advice])


def compare(
    votes: Votes,
    gold: Gold,
    panel: Panel | None = None,
    *,
    methods: Iterable[str] | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare the methods on items whose class is known, and recommend one.

    A method that learns from gold learns from four fifths of the gold items and is scored on the remaining
    fifth, five times. Another method is recommended only if it is significantly better than the default.

    Parameters
    ----------
    votes, panel
        As for :func:`decode`.
    gold
        Items whose class is known: ``{item: class}``, or one class index per item (-1: not known).
    methods
        The methods to compare (default: those in ``CANDIDATES``).
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
    names = list(dict.fromkeys([*(CANDIDATES if methods is None else methods), DEFAULT]))
    fold = _folds(truth, seed)
    found: dict[str, NDArray[np.int64]] = {}
    notes: dict[str, str] = {}
    for name in names:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # the score shows what a method warns about
                found[name] = _labels(votes, name, rows, truth, fold)
        except CovoteError as error:
            notes[name] = str(error)
    right = {name: label == truth for name, label in found.items()}
    tried = len(names) - 1
    best = _choice(right, tried)
    expected = sum(
        int(right[_choice({name: of[fold != f] for name, of in right.items()}, tried)][fold == f].sum())
        for f in range(FOLDS)
    )
    scores = [_score(name, found[name], right[name], right[DEFAULT], tried) for name in found]
    scores.sort(key=lambda score: -score.right)
    scores += [Score(name, 0, len(rows), 0, 0.0, 1.0, False, 1.0, note) for name, note in notes.items()]
    return Comparison(tuple(scores), best, expected)


def _choice(right: Mapping[str, NDArray[np.bool_]], tried: int) -> str:
    """Return the method with the most right labels among those that are significantly better."""
    chance = {name: _chance(of, right[DEFAULT], tried) for name, of in right.items()}
    better = [name for name in right if chance[name] <= SURELY]
    return max(better, key=lambda name: int(right[name].sum()), default=DEFAULT)


def _chance(right: NDArray[np.bool_], default: NDArray[np.bool_], tried: int) -> float:
    """Return the p-value of a method's lead over the default, corrected for how many methods were tried."""
    from scipy.stats import binom

    wins, losses = int((right & ~default).sum()), int((default & ~right).sum())
    return min(1.0, tried * float(binom.sf(wins - 1, wins + losses, 0.5))) if wins + losses else 1.0


def _labels(
    votes: Votes, method: str, rows: NDArray[np.int64], truth: NDArray[np.int64], fold: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the labels of the gold items, each by weights that were learned without it."""
    if not _learns_from_gold(method):
        return _decoded(votes, method, None)[rows]
    label = np.empty(len(rows), dtype=np.int64)
    for f in np.unique(fold):
        shown = fold != f
        known = np.full(votes.stop, -1)
        known[votes.start + rows[shown]] = truth[shown]
        label[~shown] = _decoded(votes, method, known)[rows[~shown]]
    return label


def _decoded(votes: Votes, method: str, gold: NDArray[np.int64] | None) -> NDArray[np.int64]:
    parts = decode_parts(InMemory(votes), make(method, {}, gold), Wanted(evidence=False))
    return joined(list(parts)).index.astype(np.int64)


def _learns_from_gold(method: str) -> bool:
    return "gold" in DECODERS[method].__dataclass_fields__


def _folds(truth: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Deal the items of every class out to the folds in turn, in random order."""
    order = np.random.default_rng(seed).permutation(len(truth))
    order = order[np.argsort(truth[order], kind="stable")]
    fold = np.empty(len(truth), dtype=np.int64)
    fold[order] = np.arange(len(truth)) % FOLDS
    return fold


def _score(
    method: str,
    label: NDArray[np.int64],
    right: NDArray[np.bool_],
    default: NDArray[np.bool_],
    tried: int,
) -> Score:
    low, high = wilson(right.sum(), len(right))
    return Score(
        method, int(right.sum()), len(right), int((label < 0).sum()), float(low), float(high),
        _learns_from_gold(method), _chance(right, default, tried),
    )  # fmt: skip
