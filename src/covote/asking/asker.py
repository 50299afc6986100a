"""Asker: ask about many items at once, each of no more experts than needed."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_count, per_name
from covote.asking import saved
from covote.asking.answers import NO_ANSWER, WAITING, Flags, Ints, Log, count_votes
from covote.asking.choosing import FREE, PanelRule, Rule, TieOrder, choose, spread_evenly
from covote.asking.posterior import Posterior
from covote.asking.questions import ItemIds, Question, Questions
from covote.asking.rules import rule_of
from covote.decoding.gold import Gold
from covote.errors import CoverError, InputError
from covote.labels import INCOMPLETE, Evidence, Labels, Ties, find_statuses, joined
from covote.panel import Name, Panel
from covote.votes import NONE_OF_MINE, Votes

Array = NDArray[Any]

NONE_TEXT = "none of mine"
SPARE = 3
"""How many times as many items as questions are compared, since questions are spread over the experts."""
PIECE = 1 << 18
"""Cells (items x classes, items x experts) to process at once."""


class Asker:
    """Choose which expert to ask about which item, and stop when the item is settled.

    Parameters
    ----------
    panel
        Who knows what, and what an answer costs.
    items
        The number of items, or their ids.
    rule
        ``"elimination"``, ``"repair"``, ``"vote"``, or a rule with options such as
        ``Repair(wrong=2)`` or ``Posterior.learned(votes, truth, error=0.01)``.
    cost
        The cost of an answer from each expert (default: as in the panel).
    budget
        The most that an item may cost.
    total
        The most that all items together may cost.
    away
        Experts who cannot be asked; see also :meth:`leave`.
    partial
        Whether to start with a panel that cannot support the guarantee of the rule. Items that it cannot
        settle are then :attr:`stuck`.
    seed
        Decides among equally good experts. The same seed and answers give the same questions.

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], ["ann", "bob", "eve"])
    >>> asker = Asker(panel, ["photo"])
    >>> (question,) = asker.next()
    >>> asker.tell("photo", question.expert, question.classes[0])
    >>> bool(asker.done[0]), asker.answers
    (False, 1)
    """

    def __init__(
        self,
        panel: Panel,
        items: int | Sequence[Any] | Array,
        rule: str | Rule = "elimination",
        *,
        cost: Any = None,
        budget: float | None = None,
        total: float | None = None,
        away: Name | Iterable[Name] = (),
        partial: bool = False,
        seed: int = 0,
    ) -> None:
        self.panel = panel
        self.rule = rule_of(rule)
        self._ids = ItemIds(items)
        size = len(self._ids)
        self._cost = _costs(panel, cost)
        self._away = panel.left.copy()
        self._away[[panel.expert_index(name) for name in _names(away)]] = True
        self._budget = _money(budget, "budget", self._cost[~self._away])
        self._total = _money(total, "total", self._cost[~self._away])
        self._seed = check_count(seed, "seed", 0)
        if not partial:
            _check_redundancy(panel, self.rule, self._away)
        self._panel_rule: PanelRule = self.rule.for_panel(panel)
        self._order = TieOrder(panel)
        self._log = Log(size)
        self._settled = np.full(size, len(panel.classes) == 1)
        self._stuck = np.zeros(size, dtype=np.bool_)
        self._waiting = np.zeros(size, dtype=np.int32)
        self._spent = np.zeros(size)

    @classmethod
    def from_votes(
        cls, votes: Votes, rule: str | Rule | None = None, *, gold: Gold | None = None, **terms: Any
    ) -> Asker:
        """Return an Asker that has these answers already, to ask for more; see :meth:`best`.

        Parameters
        ----------
        votes
            The answers so far.
        rule
            As for an Asker. By default ``Posterior.estimated(votes)``, which learns from the answers
            themselves how the experts answer, and promises nothing.
        gold
            For the default rule: items whose class is known (``{item id: class}``).
        **terms
            `cost`, `budget`, `total`, `away`, `partial` and `seed`, as for an Asker.

        >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], ["ann", "bob", "eve"])
        >>> votes = Votes.from_dense([[0, -1, -1], [1, 1, 2]], panel, items=["photo", "film"])
        >>> Asker.from_votes(votes, "elimination").next().item.tolist()
        [0]
        """
        made = Posterior.estimated(votes, gold=gold) if rule is None else rule
        asker = cls(votes.panel, len(votes) if votes.ids is None else votes.items, made, **terms)
        ragged = votes.ragged
        item = np.repeat(np.arange(len(votes)), np.diff(ragged.indptr))
        part = slice(ragged.indptr[0], ragged.indptr[-1])
        asker._restore(item, ragged.expert[part].astype(np.int64), ragged.label[part].astype(np.int64))
        return asker

    def _pieces(self, rows: Array) -> Iterator[Array]:
        step = max(1, PIECE // max(len(self.panel), len(self.panel.classes)))
        for begin in range(0, len(rows), step):
            yield rows[begin : begin + step]

    def _state(self, rows: Array) -> Any:
        """Return the rule's view of the answers about some items."""
        return self._panel_rule.state(self._log.about(rows), ~self._away)

    # Asking

    def next(self, which: int | Sequence[Any] | Array | None = None) -> Questions:
        """Return the next questions about items that are not waiting for an answer.

        Parameters
        ----------
        which
            The largest number of items to ask about, in their order, or the ids of the items (default: all).

        An empty result means that there is nothing left to ask, at least until the next answer.
        """
        item, expert = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for rows in self._pieces(self._rows(which)):
            found = self._chosen(rows)
            asked = self._ask(rows[found >= 0], found[found >= 0])
            item.append(asked.item)
            expert.append(asked.expert)
        return self._questions(np.concatenate(item), np.concatenate(expert))

    def _ask(self, rows: Array, experts: Array) -> Questions:
        """Note one question about each of some items."""
        self._log.append(rows, experts)
        self._waiting[rows] += 1
        self._spent[rows] += self._cost[experts]
        return self._questions(rows, experts)

    def _rows(self, which: int | Sequence[Any] | Array | None) -> Ints:
        """Return the items to ask about, which are open and not waiting for an answer."""
        free = ~self._settled & ~self._stuck & (self._waiting == 0)
        if which is None or isinstance(which, int | np.integer):
            count = len(self) if which is None else check_count(int(which), "the number of items", 0)
            return np.flatnonzero(free)[:count]
        named = self._ids.positions(which)
        first = np.sort(np.unique(named, return_index=True)[1])  # an item that is named twice is asked once
        chosen: Ints = named[first]
        open_: Ints = chosen[free[chosen]]
        return open_

    def _chosen(self, rows: Array) -> Ints:
        """Return the expert to ask about each item, -1 for none; items without one are settled or stuck."""
        answers = self._log.about(rows)
        state = self._panel_rule.state(answers, ~self._away)
        free = ~answers.asked(len(self.panel)) & ~self._away
        money = self._budget - self._spent[rows]
        order = self._order.of(rows, self._seed)
        found = self._affordable(choose(self._panel_rule, state, free, self._cost, money, order))
        none = found < 0
        if none.any():
            settled = self._panel_rule.settled(state)
            self._settled[rows[none & settled]] = True
            self._stuck[rows[none & ~settled]] = True
        return found

    def _affordable(self, chosen: Ints) -> Ints:
        """Return the questions that the total budget pays for, in their order; -1 for the others."""
        if math.isinf(self._total):
            return chosen
        price = np.where(chosen >= 0, self._cost[chosen], 0.0)
        spent = np.cumsum(price) + self._spent.sum()
        return np.where(spent <= self._total * (1 + 1e-12), chosen, -1)

    def best(self, count: int) -> Questions:
        """Return the questions whose answers are worth most for their cost, at most one about each item.

        They are spread evenly: an expert gets a second share only when the others have theirs, or cannot
        help. Items are searched from the most doubtful one, until no other can be worth as much.
        """
        count = check_count(count, "the number of questions", 1)
        rows = self._rows(None)
        doubt = np.empty(len(rows))
        for at in self._pieces(np.arange(len(rows))):
            doubt[at] = self._panel_rule.doubt(self._state(rows[at]))
        first = np.argsort(-doubt, kind="stable")
        rows, doubt = rows[first], doubt[first]
        price = np.maximum(self._cost, FREE)
        values, best = [np.empty((0, len(self.panel)))], np.empty(0)
        for some in self._pieces(rows):
            begin = sum(map(len, values))
            if len(best) >= SPARE * count and doubt[begin] / price.min() < best[SPARE * count - 1]:
                break
            answers = self._log.about(some)
            free = ~answers.asked(len(self.panel)) & ~self._away
            free &= self._cost <= (self._budget - self._spent[some])[:, None]
            state = self._panel_rule.state(answers, ~self._away)
            values.append(np.where(free, self._panel_rule.value(state, free), 0.0) / price)
            best = -np.sort(-np.concatenate([best, values[-1].max(axis=1, initial=0.0)]))
        value = np.concatenate(values)
        item, expert = spread_evenly(value, self._order.of(rows[: len(value)], self._seed), count)
        expert = self._affordable(expert)
        return self._ask(rows[item[expert >= 0]], expert[expert >= 0])

    def _questions(self, item: Array, expert: Array) -> Questions:
        return Questions(self.panel, item.astype(np.int64), expert.astype(np.int64), self._ids)

    def waiting(self) -> Questions:
        """Return the questions without an answer yet, to ask again after an interruption."""
        entries = np.flatnonzero(self._log.answer == WAITING)
        return self._questions(self._log.item[entries], self._log.expert[entries])

    # Answers

    def tell(self, item: Any, expert: Name, answer: Name | None) -> None:
        """Record the answer of an expert about an item, all by name.

        `answer` is a class, ``"none of mine"``, or None if the expert did not answer.
        """
        rows = self._ids.positions([item])
        i = self.panel.expert_index(expert)
        if answer is None:
            code = NO_ANSWER
        elif isinstance(answer, str) and answer == NONE_TEXT and NONE_TEXT not in self.panel.classes:
            code = NONE_OF_MINE
        else:
            code = self.panel.class_index(answer)
        self._take(rows, np.array([i]), np.array([code]))

    def tell_all(self, questions: Questions, answers: ArrayLike) -> None:
        """Record the answers to some questions: class indices, -1 for no answer, -2 for "none of mine"."""
        codes = np.asarray(answers)
        if codes.shape != questions.item.shape or codes.dtype.kind not in "iu":
            raise InputError(
                f"{codes.dtype} answers of shape {codes.shape} to {len(questions)} questions; give one class "
                "index per question, -1 for no answer, -2 for 'none of mine'"
            )
        if questions.panel != self.panel:
            raise InputError("the questions are about another panel; tell the asker that asked them")
        self._take(np.asarray(questions.item), np.asarray(questions.expert), codes.astype(np.int64))

    def _take(self, rows: Array, experts: Array, codes: Array) -> None:
        if not len(rows):
            return
        self._check_places(rows, experts)
        where = self._log.find(rows, experts)
        self._check_answers(rows, experts, codes, where)
        self._log.answer[where] = codes
        touched = rows if (rows[1:] > rows[:-1]).all() else np.unique(rows)
        if touched is rows:
            self._waiting[rows] -= 1
        else:
            np.subtract.at(self._waiting, rows, 1)
        silent = codes == NO_ANSWER
        if silent.any():
            np.subtract.at(self._spent, rows[silent], self._cost[experts[silent]])
        self._settle(touched)

    def _check_places(self, rows: Array, experts: Array) -> None:
        """Reject questions about items and experts that do not exist."""
        for what, values, size in (("item", rows, len(self)), ("expert", experts, len(self.panel))):
            wrong = (values < 0) | (values >= size)
            if values.dtype.kind not in "iu" or wrong.any():
                raise InputError(
                    f"a question is about {what} number {values[np.argmax(wrong)]}, and this Asker has "
                    f"{size}; tell the answers to the Asker that asked"
                )

    def _check_answers(self, rows: Array, experts: Array, codes: Array, where: Array) -> None:
        """Reject invalid answers and answers without a question, before anything is changed."""
        panel = self.panel
        refused = where < 0
        if refused.any():
            n, i = self._first(refused, rows, experts)
            raise InputError(f"expert {i!r} was not asked about item {n!r}; answer the questions of next()")
        refused = self._log.answer[where] != WAITING
        if refused.any():
            n, i = self._first(refused, rows, experts)
            raise InputError(f"expert {i!r} already answered about item {n!r}; undo() takes answers back")
        order = np.sort(where)
        if (order[1:] == order[:-1]).any():
            twice = where == order[:-1][order[1:] == order[:-1]][0]
            n, i = self._first(twice, rows, experts)
            raise InputError(f"two answers from expert {i!r} about item {n!r}; give one")
        refused = (codes < NONE_OF_MINE) | (codes >= len(panel.classes))
        if refused.any():
            raise InputError(
                f"{codes[np.argmax(refused)]} is not the index of a class; there are {len(panel.classes)}"
            )
        refused = (codes >= 0) & ~panel.knows[experts, np.maximum(codes, 0)]
        if refused.any():
            row = int(np.argmax(refused))
            known = ", ".join(map(str, panel.blocks()[experts[row]]))
            raise InputError(
                f"expert {panel.names[experts[row]]!r} answered {panel.classes[codes[row]]!r}, which is not "
                f"one of their classes ({known}); ask for one of these"
            )

    def _first(self, which: Array, rows: Array, experts: Array) -> tuple[Any, Name]:
        row = int(np.argmax(which))
        return self._ids.name(int(rows[row])), self.panel.names[int(experts[row])]

    def _settle(self, rows: Array) -> None:
        """Update which items are settled; the others are open."""
        for some in self._pieces(rows if len(self.panel.classes) > 1 else rows[:0]):
            self._settled[some] = self._panel_rule.settled(self._state(some))
            self._stuck[some] = False

    def undo(self) -> Question:
        """Remove the last question, with its answer, and return it."""
        if not self._log.size:
            raise InputError("nothing was asked yet, so there is nothing to undo")
        n, i, answer = self._log.remove_last()
        self._waiting[n] -= answer == WAITING
        if answer != NO_ANSWER:
            self._spent[n] -= self._cost[i]
        self._settle(np.array([n]))
        return next(iter(self._questions(np.array([n]), np.array([i]))))

    # Availability of experts

    def leave(self, *experts: Name) -> None:
        """Stop asking these experts; they may still answer earlier questions."""
        self._away[[self.panel.expert_index(name) for name in experts]] = True

    # Results

    def __len__(self) -> int:
        return len(self._settled)

    @property
    def items(self) -> Array:
        """The id of every item."""
        return np.arange(len(self)) if self._ids.array is None else self._ids.array

    @property
    def done(self) -> Flags:
        """Which items are settled."""
        return self._settled.copy()

    @property
    def stuck(self) -> Flags:
        """Which items cannot be settled: no available, affordable expert can tell the rest apart."""
        return self._stuck.copy()

    @property
    def answers(self) -> int:
        """The number of answers, "none of mine" included."""
        answer = self._log.answer
        return int(((answer >= 0) | (answer == NONE_OF_MINE)).sum())

    @property
    def spent(self) -> float:
        """The cost of the questions so far; an expert who does not answer costs nothing."""
        return float(self._spent.sum())

    def possible(self, item: Any) -> tuple[Name, ...]:
        """Return the classes of an item that are not ruled out."""
        found = self._panel_rule.possible(self._state(self._ids.positions([item])))[0]
        return tuple(self.panel.classes[k] for k in np.flatnonzero(found))

    def labels(self) -> Labels:
        """Return the labels of the items that are settled, or that cannot be settled.

        An open item has no label and the status ``incomplete``. A stuck item has the leading class, if there
        is one. The statuses are those of :func:`covote.decode` for the same answers and labels.
        """
        found = [self._labels(rows) for rows in self._pieces(np.arange(len(self)))]
        return joined(found or [self._labels(np.arange(0))], self._ids.array)

    def _labels(self, rows: Array) -> Labels:
        """Return the labels of some items."""
        answers = self._log.about(rows)
        state = self._panel_rule.state(answers, ~self._away)
        label, unsettled, confidence = self._panel_rule.decision(state)
        still_open, tied = ~self._settled[rows] & ~self._stuck[rows], self._stuck[rows] & unsettled
        index = np.where(still_open, -1, label)
        votes_for, authorities = count_votes(self.panel, answers)
        number = np.bincount(answers.item[answers.answered], minlength=len(rows))
        status = find_statuses(votes_for, authorities, number, index, tied)
        status[still_open] = INCOMPLETE
        known = self.panel.knows.any(axis=0)
        violations = (authorities - votes_for)[:, known].min(axis=1, initial=len(self.panel))
        nothing, no_class = np.full(len(rows), np.nan, dtype=np.float32), np.full(len(rows), -1)
        evidence = Evidence(confidence, nothing, no_class, violations.astype(np.int32), status)
        possible = self._panel_rule.possible(state)[tied]
        bounds = np.concatenate([[0], np.cumsum(possible.sum(axis=1))])
        return Labels(self.panel, index, tied, Ties(bounds, np.nonzero(possible)[1]), evidence)

    def votes(self) -> Votes:
        """Return the answers so far as votes."""
        log = self._log
        answered = np.flatnonzero((log.answer >= 0) | (log.answer == NONE_OF_MINE))
        order = answered[np.lexsort((log.expert[answered], log.item[answered]))]
        bounds = np.searchsorted(log.item[order], np.arange(len(self) + 1))
        return Votes.from_ragged(
            bounds, log.expert[order], log.answer[order], self.panel, items=self._ids.array
        )

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the whole state atomically to an ``.npz`` file."""
        saved.save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Asker:
        """Read a state that :meth:`save` wrote, to continue from it."""
        return saved.load(path, cls)

    def _restore(self, item: Array, expert: Array, answer: Array) -> None:
        """Take questions and answers in the order in which they were asked."""
        self._log.append_all(item, expert, answer)
        paid = answer != NO_ANSWER
        np.add.at(self._waiting, item, answer == WAITING)
        np.add.at(self._spent, item[paid], self._cost[expert[paid]])
        self._settle(np.arange(len(self)))

    def __repr__(self) -> str:
        settled, stuck = int(self._settled.sum()), int(self._stuck.sum())
        counts = f"{len(self)} items, {settled} settled, {stuck} stuck, {self.answers} answers"
        return f"Asker({counts}, {self.rule.name})"


def _names(away: Name | Iterable[Name]) -> list[Name]:
    return [away] if isinstance(away, str | int) else list(away)


def _costs(panel: Panel, cost: Any) -> NDArray[np.float64]:
    """Return the cost of an answer from each expert (default: as in the panel)."""
    if cost is None:
        return panel.cost
    costs = per_name(cost, panel.names, panel.expert_index, "cost", "expert")
    for name, value in zip(panel.names, costs, strict=True):
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"cost {value} of expert {name!r} must be a finite number, 0 or more")
    return costs


def _money(amount: float | None, what: str, cost: Array) -> float:
    """Return a budget that pays for at least one answer (default: infinite)."""
    if amount is None:
        return math.inf
    if isinstance(amount, bool) or not isinstance(amount, int | float | np.number) or math.isnan(amount):
        raise InputError(f"{what} must be a number, not {amount!r}")
    if not len(cost) or amount < cost.min():
        cheapest = f"the cheapest expert costs {cost.min():g}" if len(cost) else "all experts are away"
        raise InputError(f"{what} {amount:g} buys no answer: {cheapest}; raise it, or leave it out")
    return float(amount)


def _check_redundancy(panel: Panel, rule: Rule, away: NDArray[np.bool_]) -> None:
    """Reject a rule whose guarantee needs more experts than there are."""
    if not rule.redundancy:
        return
    if away.all():
        raise CoverError("all experts are away, so nothing can be asked; leave one on the panel")
    left = panel.without(*(panel.names[i] for i in np.flatnonzero(away))) if away.any() else panel
    if left.covers(rule.redundancy):
        return
    pairs = left.uncovered(rule.redundancy)
    shown = ", ".join(f"{a!r} and {b!r}" for a, b in pairs[:3]) + (" ..." if len(pairs) > 3 else "")
    need = "a common expert" if rule.redundancy == 1 else f"{rule.redundancy} common experts"
    raise CoverError(
        f"the rule {rule.name!r} needs {need} for every pair of classes, and {len(pairs)} "
        f"pair{'s' * (len(pairs) > 1)} {'have' if len(pairs) > 1 else 'has'} fewer: {shown}; add experts "
        "(complete() lists them), or pass partial=True to settle what can be settled"
    )
