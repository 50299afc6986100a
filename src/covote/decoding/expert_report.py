"""Expert report: how good each expert seems to be, and which classes experts confuse.

The one definition of agreement: Python, the command line, reports and the studio tell the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel
from covote.decoding.gold import Z99, Gold, gold_rows, wilson
from covote.decoding.shares import Counters, counters, forget, hear, tables
from covote.decoding.statistics import Statistics
from covote.errors import InputError, TooLargeError
from covote.panel import Name, Panel
from covote.panel.layout import Lists
from covote.votes import Ragged, Votes
from covote.votes.rows import Rows, each_row, row_parts

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[Any]

LARGEST = 3000
"""The most classes for which agreement is counted for every pair."""


class Counts(NamedTuple):
    """How answers compare with labels.

    Per expert: all answers, "none of mine" among them; and of those that are compared with a label, those to
    classes that it knows, the right ones of these, and those to other classes.
    Per pair (label, other class), or empty: answers of experts who know both that are the label, and that are
    the other class.
    """

    answers: NDArray[np.int64]
    none: NDArray[np.int64]
    inside: NDArray[np.int64]
    right: NDArray[np.int64]
    outside: NDArray[np.int64]
    agree: NDArray[np.int64]
    differ: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Agreement:
    """How the experts' answers compare with the labels; the counts of two parts add up (``+``).

    The label of an item is its known class, or its authority label if that would be the same without the
    expert's own answer. Otherwise those would seem best who decide most: of three people who know
    everything, one who is right in 45% of all cases names 56% of the labels.
    """

    panel: Panel
    counts: Counts

    @classmethod
    def nothing(cls, panel: Panel, pairs: bool = True) -> Agreement:
        """Return counts of 0; without `pairs`, pairs of classes are not counted."""
        experts, classes = panel.knows.shape
        square = (classes, classes) if pairs else (0, 0)
        return cls(panel, Counts(*(np.zeros(size, np.int64) for size in [experts] * 5 + [square] * 2)))

    def __add__(self, other: Agreement) -> Agreement:
        if self.panel != other.panel:
            raise InputError("agreement in two different panels cannot be added")
        return Agreement(self.panel, Counts(*(a + b for a, b in zip(self.counts, other.counts, strict=True))))

    def add(self, votes: Votes, items: Array, truth: Array) -> None:
        """Count the answers of votes; `items` are those whose class is known, `truth` their classes."""
        panel = votes.panel

        def count(rows: Rows, times: Array, known: Array) -> None:
            _compare(rows.runs, times, known, panel.layout.known, panel.knows, self.counts)

        for rows, span in row_parts(votes):
            mine = items[(items >= span.start) & (items < span.stop)]
            count(rows, rows.count_without(mine - span.start), np.full(len(rows), -1))
        if len(items):
            rows = each_row(votes.subset(items))
            count(rows, rows.count, np.asarray(truth, np.int64))

    @property
    def experts(self) -> ExpertReport:
        """What is to be said about each expert."""
        _, none, inside, right, outside = (values.astype(np.float64) for values in self.counts[:5])
        return ExpertReport.of(self.panel, right, inside, outside, none)

    @property
    def pairs(self) -> PairAgreement:
        """What is to be said about each pair of classes."""
        agree, differ = (values + values.T for values in self.counts[5:])
        return PairAgreement(self.panel, agree, agree + differ)


@dataclass(frozen=True, eq=False)
class ExpertReport:
    """What votes tell about each expert, one entry per expert.

    Attributes
    ----------
    accuracy, low, high
        Estimated accuracy on classes that the expert knows: how often it names the label, on items whose
        label would be the same without its answer (or whose class is known). With a 95% interval (Wilson);
        NaN, 0 and 1 without such answers. The interval says how sure the count is, not how sure the labels
        are.
    inside, outside
        Answers about classes the expert knows, and about others, as far as such labels tell.
    none
        How often it answered "none of mine".
    """

    panel: Panel
    accuracy: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    inside: NDArray[np.float64]
    outside: NDArray[np.float64]
    none: NDArray[np.float64]

    @classmethod
    def of(cls, panel: Panel, right: Array, inside: Array, outside: Array, none: Array) -> ExpertReport:
        """Return the report on counts per expert."""
        share = np.divide(right, inside, out=np.full(len(panel), np.nan), where=inside > 0)
        return cls(panel, share, *wilson(right, inside), inside, outside, none)

    def doubtful(self) -> list[Name]:
        """Return the experts whose accuracy is surely (99%) below 1/2, or 10 points below the median's."""
        heard = self.inside > 0
        if not heard.any():
            return []
        bar = max(0.5, float(np.median(self.accuracy[heard])) - 0.1)
        _, high = wilson(np.nan_to_num(self.accuracy) * self.inside, self.inside, Z99)
        return [self.panel.names[i] for i in np.flatnonzero(heard & (high < bar))]

    def to_pandas(self) -> pd.DataFrame:
        """Return one row per expert, indexed by its name."""
        import pandas as pd

        fields = ("accuracy", "low", "high", "inside", "outside", "none")
        columns = {field: getattr(self, field) for field in fields}
        return pd.DataFrame(columns, index=pd.Index(self.panel.names, name="expert"))

    def __str__(self) -> str:
        width = max([6, *(len(str(name)) for name in self.panel.names)])
        lines = [f"{'expert':{width}}  accuracy  interval      inside  outside    none"]
        for i, name in enumerate(self.panel.names):
            lines.append(
                f"{name!s:{width}}  {self.accuracy[i]:8.3f}  {self.low[i]:.3f}-{self.high[i]:.3f}"
                f"  {self.inside[i]:8.0f} {self.outside[i]:8.0f} {self.none[i]:7.0f}"
            )
        return "\n".join(lines)


def expert_report(
    votes: Votes | None = None, *, gold: Gold | None = None, statistics: Statistics | None = None
) -> ExpertReport:
    """Estimate how good each expert is, from votes or from statistics.

    Parameters
    ----------
    votes
        What the experts answered; compared with the labels of the authority vote.
    gold
        Items whose class is known: ``{item: class}``.
    statistics
        Counts of an earlier decoding, instead of votes. They compare answers with how the decoder shared the
        items out among the classes, for which it used these answers, too.

    >>> panel = Panel(["cat", "dog"], [[1, 1], [1, 1], [1, 1]], ["ann", "bob", "cyd"])
    >>> votes = Votes.from_dense([[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0]], panel)
    >>> expert_report(votes).accuracy
    array([1. , 1. , 0.5])
    """
    if (votes is None) == (statistics is None):
        raise InputError("an expert report needs votes or statistics, one of the two")
    if votes is not None:
        return _counted(votes, gold, pairs=False).experts
    assert statistics is not None
    seen = statistics.inside()
    return ExpertReport.of(statistics.panel, seen.right, seen.inside, seen.outside, seen.none)


def _counted(votes: Votes, gold: Gold | None, pairs: bool) -> Agreement:
    found = Agreement.nothing(votes.panel, pairs)
    found.add(votes, *gold_rows(gold, votes))
    return found


@dataclass(frozen=True, eq=False)
class PairAgreement:
    """How often experts that know both classes of a pair name the label, on items labelled one of the two.

    One agreement over all classes misleads for experts that know a part of them: three perfect experts seem
    to disagree on what one of them does not know. Per pair of classes, inside expertise, they agree always.

    `agree` and `both` are (classes x classes), symmetric: answers that are the label, and all that are one of
    the pair.
    """

    panel: Panel
    agree: NDArray[np.int64]
    both: NDArray[np.int64]

    def __add__(self, other: PairAgreement) -> PairAgreement:
        if self.panel != other.panel:
            raise InputError("agreement in two different panels cannot be added")
        return PairAgreement(self.panel, self.agree + other.agree, self.both + other.both)

    @property
    def share(self) -> NDArray[np.float64]:
        """The share of answers that are the label; NaN where there are none."""
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
    """Count, for every pair of classes, how often experts that know both agree (theory.md section 9).

    An answer is compared with the label that the item has without it, or with its known class.

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


@helper(inline="always")
def _authority_label(counts: Counters, number: int) -> int:
    """Return the class with the best N_k / d_k; -1 if there are several, or no votes."""
    best, n, d = -1, 0, 1
    for c in range(number):
        k = counts.heard[c]
        left, right = counts.votes[k] * d, n * counts.asked[k]
        if left > right:
            best, n, d = k, counts.votes[k], counts.asked[k]
        elif left == right:
            best = -1
    return best


@helper(inline="always")
def _same_without(label: int, i: int, answer: int, knows: Array, counts: Counters, number: int) -> bool:
    """Whether the label is still the one with the best N_k / d_k when the answer of expert i is left out."""
    n, d = counts.votes[label] - (answer == label), counts.asked[label] - knows[i, label]
    if n == 0:
        return False
    for c in range(number):
        k = counts.heard[c]
        other = counts.votes[k] - (answer == k)
        if k != label and other > 0 and other * d >= n * (counts.asked[k] - knows[i, k]):
            return False
    return True


def _compare_at_once(
    runs: Ragged, times: Array, truth: Array, known: Lists, knows: Array, found: Counts
) -> None:
    """Do as :func:`_compare` does, all items at once, one expert after another."""
    experts, classes = knows.shape
    item = np.repeat(np.arange(len(times)), np.diff(runs.indptr))
    votes, asked, share = tables(runs, known, classes)
    top = share.max(axis=0)
    best = share == top
    label = np.where((top > 0) & (best.sum(axis=0) == 1), best.argmax(axis=0), -1)
    label = np.where(truth >= 0, truth, label)
    for i in range(experts):
        mine = np.flatnonzero(runs.expert == i)
        n, answer = item[mine], runs.label[mine].astype(np.int64)
        found.answers[i] += times[n].sum()
        found.none[i] += times[n[answer < 0]].sum()
        n, answer = n[label[n] >= 0], answer[label[n] >= 0]
        at, own, voted = np.arange(len(n)), label[n], np.flatnonzero(answer >= 0)
        # The scores without this expert's answer.
        others, rivals = votes.take(n, axis=1), asked.take(n, axis=1) - knows[i][:, None]
        others[answer[voted], voted] -= 1
        left, right = others[own, at], rivals[own, at]
        as_good = (others * right >= left * rivals) & (others > 0)
        as_good[own, at] = False
        same = (truth[n] >= 0) | ((left > 0) & ~as_good.any(axis=0))
        n, answer, own = n[same], answer[same], own[same]
        inside = knows[i, own]
        found.outside[i] += times[n[~inside]].sum()
        n, answer, own = n[inside], answer[inside], own[inside]
        found.inside[i] += times[n].sum()
        right_ones, other_ones = answer == own, (answer >= 0) & (answer != own)
        found.right[i] += times[n[right_ones]].sum()
        if len(found.agree):
            agreed = np.zeros(classes, np.int64)
            np.add.at(agreed, own[right_ones], times[n[right_ones]])
            members = known.members[known.start[i] : known.start[i + 1]]
            pairs = np.ix_(members, members)
            found.agree[pairs] += agreed[members][:, None] * (members[:, None] != members)
            np.add.at(found.differ, (own[other_ones], answer[other_ones]), times[n[other_ones]])


def _steps(runs: Ragged, times: Array, truth: Array, known: Lists, knows: Array, *_: Any) -> float:
    return 200.0 * len(knows) + len(runs.expert) * (2 + int(knows.shape[1])) / 15


@kernel(steps=_steps, plain=_compare_at_once)
def _compare(runs: Ragged, times: Array, truth: Array, known: Lists, knows: Array, found: Counts) -> None:
    """Compare every answer with the class of its item, each item `times`.

    The class is `truth`, or where that is -1 the authority label, if it is the same without the answer.
    """
    counts = counters(knows.shape[1])
    for n in range(len(times)):
        number = hear(runs, n, known, counts)
        label = truth[n] if truth[n] >= 0 else _authority_label(counts, number)
        for p in range(runs.indptr[n], runs.indptr[n + 1]):
            i, answer = np.int64(runs.expert[p]), np.int64(runs.label[p])
            found.answers[i] += times[n]
            if answer < 0:
                found.none[i] += times[n]
            if label < 0 or not (truth[n] >= 0 or _same_without(label, i, answer, knows, counts, number)):
                continue
            if not knows[i, label]:
                found.outside[i] += times[n]
                continue
            found.inside[i] += times[n]
            if answer == label:
                found.right[i] += times[n]
                for q in range(known.start[i], known.start[i + 1] if len(found.agree) else 0):
                    if known.members[q] != label:
                        found.agree[label, known.members[q]] += times[n]
            elif answer >= 0 and len(found.differ):
                found.differ[label, answer] += times[n]
        forget(counts, number)
