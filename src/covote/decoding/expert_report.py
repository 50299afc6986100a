"""Expert report: how good each expert seems to be, and which classes experts confuse.

Python, the command line, reports and the studio all use this definition of agreement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.decoding import linear
from covote.decoding.gold import Z99, Gold, gold_rows, pieces_without, wilson
from covote.decoding.shares import Shares, shares_of
from covote.errors import InputError, TooLargeError
from covote.panel import Name, Panel
from covote.votes import Votes
from covote.votes.frames import load_pandas
from covote.votes.patterns import PIECE, AnswerPatterns, each_row

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]

LARGEST = 3000
"""The most classes for which agreement is counted for every pair."""


class AgreementCounts(NamedTuple):
    """How answers compare with labels.

    Attributes
    ----------
    answers, none
        Per expert: all answers, and how many of them are "none of mine".
    inside, outside
        Per expert: the answers that are compared with a label, by whether the expert knows that class.
    right
        Per cell (expert and class, see `Layout.cells`): answers that equal the label.
    differ
        Per pair (label, other class): answers with the other class by experts who know both; may be empty.
    """

    answers: NDArray[np.int64]
    none: NDArray[np.int64]
    inside: NDArray[np.int64]
    outside: NDArray[np.int64]
    right: NDArray[np.int64]
    differ: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Agreement:
    """How the experts' answers compare with the labels; the counts of two parts add up (``+``).

    The label of an item is its known class, or its authority label if that would be the same without the
    expert's own answer. Otherwise the experts who decide most labels would seem best: of three people who
    know everything, one who is right in 45% of all cases names 56% of the labels.
    """

    panel: Panel
    counts: AgreementCounts

    @classmethod
    def empty(cls, panel: Panel, pairs: bool = True) -> Agreement:
        """Return counts of 0; without `pairs`, pairs of classes are not counted."""
        experts, classes = panel.knows.shape
        cells = len(panel.layout.cells.label)
        sizes = [experts] * 4 + [cells, (classes, classes) if pairs else (0, 0)]
        return cls(panel, AgreementCounts(*(np.zeros(size, np.int64) for size in sizes)))

    def __add__(self, other: Agreement) -> Agreement:
        if self.panel != other.panel:
            raise InputError("agreement in two different panels cannot be added")
        return Agreement(
            self.panel, AgreementCounts(*(a + b for a, b in zip(self.counts, other.counts, strict=True)))
        )

    def add(self, votes: Votes, items: Array, truth: Array) -> None:
        """Count the answers of votes; `items` are those whose class is known, `truth` their classes."""
        for piece, times in pieces_without(votes, items):
            self._compare(piece, times, *_robust_labels(piece))
        if len(items):
            for piece, those in each_row(votes.subset(items)).pieces():
                known = np.asarray(truth, np.int64)[those]
                self._compare(piece, piece.count, known, np.ones(len(piece.ragged.expert), np.bool_))

    def _compare(self, rows: AnswerPatterns, times: Array, label: Array, robust: Array) -> None:
        """Compare the answers that are `robust` with the label of their row; each row counts `times`."""
        _, expert, said = rows.ragged
        counts, row = self.counts, linear.row_of_answer(rows)
        own, times = label[row], times[row]

        def add(total: Array, which: Array, *place: Array) -> None:
            np.add.at(total, tuple(values[which] for values in place), times[which])

        inside = robust & self.panel.knows[expert, own]
        right = inside & (said == own)
        np.add.at(counts.answers, expert, times)
        add(counts.none, said < 0, expert)
        add(counts.inside, inside, expert)
        add(counts.outside, robust & ~inside, expert)
        add(counts.right, right, rows.cell)
        if len(counts.differ):
            add(counts.differ, inside & ~right & (said >= 0), own, said)

    @property
    def experts(self) -> ExpertReport:
        """The report on each expert."""
        right = np.add.reduceat(self.counts.right, self.panel.layout.cells.start[:-1])
        none, inside, outside = (values.astype(np.float64) for values in self.counts[1:4])
        share = np.divide(right, inside, out=np.full(len(self.panel), np.nan), where=inside > 0)
        return ExpertReport(self.panel, share, *wilson(right, inside), inside, outside, none)

    @property
    def pairs(self) -> PairAgreement:
        """The agreement on each pair of classes."""
        cells, agree = self.panel.layout.cells, np.zeros_like(self.counts.differ)
        for k in range(len(agree)):
            mine = np.flatnonzero(cells.label == k)
            agree[k] = self.counts.right[mine] @ self.panel.knows[cells.expert[mine]]
            agree[k, k] = 0
        both = agree + self.counts.differ
        return PairAgreement(self.panel, agree + agree.T, both + both.T)


@dataclass(frozen=True, eq=False)
class ExpertReport:
    """What the votes reveal about each expert, one entry per expert.

    Attributes
    ----------
    accuracy, low, high
        Estimated accuracy on classes that the expert knows: how often it names the label, on items whose
        label would be the same without its answer (or whose class is known). With a 95% interval (Wilson);
        NaN, 0 and 1 without such answers. The interval reflects the number of answers, not the uncertainty of
        the labels.
    inside, outside
        Answers about classes that the expert knows and about others, according to these labels.
    none
        How often the expert answered "none of mine".
    """

    panel: Panel
    accuracy: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    none: NDArray[np.float64]

    def unreliable(self) -> list[Name]:
        """Return the experts whose accuracy is below 1/2 or 10 points below the median, at 99% confidence."""
        heard = self.inside > 0
        if not heard.any():
            return []
        bar = max(0.5, float(np.median(self.accuracy[heard])) - 0.1)
        _, high = wilson(np.nan_to_num(self.accuracy) * self.inside, self.inside, Z99)
        return [self.panel.names[i] for i in np.flatnonzero(heard & (high < bar))]

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per expert, indexed by its name; the one that is surely the best comes first.

        Experts are sorted by the lower end of their interval, so few answers do not make anyone look good.
        """
        pd = load_pandas()
        unreliable = set(self.unreliable())
        columns = {
            "agrees_with_label": self.accuracy,
            "at_least": self.low,
            "at_most": self.high,
            "answers_in_field": self.inside.astype(np.int64),
            "answers_outside_field": self.outside.astype(np.int64),
            "none_of_mine": self.none.astype(np.int64),
            "possibly_unreliable": [name in unreliable for name in self.panel.names],
        }
        table = pd.DataFrame(columns, index=pd.Index(self.panel.names, name="expert"))
        return table.iloc[np.argsort(-self.low, kind="stable")]

    def __str__(self) -> str:
        width = max([6, *(len(str(name)) for name in self.panel.names)])
        head = f"{'expert':{width}}  agrees with label  95% interval  answers in their field  others  none"
        lines = [head]
        for i in np.argsort(-self.low, kind="stable"):
            span = f"{self.low[i]:.0%} to {self.high[i]:.0%}"
            rate = f"{self.panel.names[i]!s:{width}}  {self.accuracy[i]:17.1%}  {span:12}"
            answers = f"{self.inside[i]:22,.0f}  {self.outside[i]:6,.0f}  {self.none[i]:4,.0f}"
            lines.append(f"{rate}  {answers}")
        return "\n".join(lines)


def expert_report(votes: Votes, *, gold: Gold | None = None) -> ExpertReport:
    """Estimate how good each expert is: how often they name the label of the paper's vote.

    Only items count whose label is a class that the expert knows and would be the same without this answer.

    Parameters
    ----------
    votes
        The experts' answers.
    gold
        Items whose class is known: ``{item: class}``.

    >>> panel = Panel(["cat", "dog"], [[1, 1], [1, 1], [1, 1]], ["ann", "bob", "cyd"])
    >>> votes = Votes.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]], panel)
    >>> expert_report(votes).accuracy
    array([1. , 1. , 0.5])
    """
    return _counted(votes, gold, pairs=False).experts


def _counted(votes: Votes, gold: Gold | None, pairs: bool) -> Agreement:
    found = Agreement.empty(votes.panel, pairs)
    found.add(votes, *gold_rows(gold, votes))
    return found


@dataclass(frozen=True, eq=False)
class PairAgreement:
    """How often experts who know both classes of a pair name the label, on items labelled one of the two.

    A single agreement over all classes is misleading for experts who know only some of them: three perfect
    experts seem to disagree on a class that one of them does not know. For each pair of classes that they
    know, they always agree.

    `agree` and `both` are symmetric (classes x classes): the answers that equal the label, and all answers
    that name one of the pair.
    """

    panel: Panel
    agree: NDArray[np.int64]
    both: NDArray[np.int64]

    @property
    def share(self) -> NDArray[np.float64]:
        """The share of answers that equal the label; NaN where there are no answers."""
        none: NDArray[np.float64] = np.full(self.both.shape, np.nan)
        return np.divide(self.agree, self.both, out=none, where=self.both > 0)

    def worst(self, count: int = 10) -> list[tuple[Name, Name, float]]:
        """Return the pairs of classes on which experts agree least: (class, class, share)."""
        first, second = np.triu_indices(len(self.panel.classes), 1)
        share = self.share[first, second]
        order = [p for p in np.argsort(share, kind="stable") if not np.isnan(share[p])][:count]
        names = self.panel.classes
        return [(names[first[p]], names[second[p]], float(share[p])) for p in order]


def pair_agreement(votes: Votes, *, gold: Gold | None = None) -> PairAgreement:
    """Count, for every pair of classes, how often experts who know both agree (theory.md section 9).

    An answer is compared with the label that the item has without it, or with the item's known class.

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 1]] * 3)
    >>> pair_agreement(Votes.from_dense([[0, 0, 0], [1, 1, 0], [2, 2, 2]], panel)).worst(1)
    [('cat', 'dog', 0.75)]
    """
    classes = len(votes.panel.classes)
    if classes > LARGEST:
        raise TooLargeError(
            f"agreement for every pair of {classes} classes needs too much memory; the limit is "
            f"{LARGEST} classes"
        )
    return _counted(votes, gold, pairs=True).pairs


def _robust_labels(rows: AnswerPatterns) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the authority label of every row (-1: none), and the answers without which it stays the same."""
    named, asked, share = vote = shares_of(rows)
    row, owner = np.arange(len(rows)), linear.row_of_answer(rows)
    alone = (share.max(axis=1) > 0) & (vote.best.sum(axis=1) == 1)
    label = np.where(alone, share.argmax(axis=1), -1)
    # Without any one answer, the label keeps at least all its votes but one, and another class at best keeps
    # its votes while it loses an authority.
    left, right = named[row, label] - 1, asked[row, label]
    close = (named > 0) & (named * right[:, None] >= left[:, None] * (asked - 1))
    close[row, label] = left == 0
    close = np.logical_or.reduce(close, axis=1)
    robust = (alone & ~close)[owner]
    unsure = np.flatnonzero((alone & close)[owner])
    for first in range(0, len(unsure), step := max(1, PIECE // named.shape[1])):
        some = unsure[first : first + step]
        robust[some] = _same_without(rows, some, owner[some], label[owner[some]], vote)
    return label, robust


def _same_without(
    rows: AnswerPatterns, some: Array, owner: Array, label: Array, vote: Shares
) -> NDArray[np.bool_]:
    """Return for some answers whether the label still has the best N_k / d_k without the answer."""
    expert, said, at = rows.ragged.expert[some], rows.ragged.label[some], np.arange(len(some))
    named, asked = vote.votes_for[owner], vote.authorities[owner] - rows.votes.panel.knows[expert]
    named[at[said >= 0], said[said >= 0]] -= 1
    left, right = named[at, label], asked[at, label]
    as_good = (named > 0) & (named * right[:, None] >= left[:, None] * asked)
    as_good[at, label] = left == 0
    return np.asarray(~as_good.any(axis=1))
