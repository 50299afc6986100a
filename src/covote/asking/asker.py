"""Asker: many items in flight, each asked of no more experts than it needs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_count
from covote.asking import counting_kernels, saved, state
from covote.asking.asker_arguments import (
    check_promise,
    checked_costs,
    checked_ids,
    checked_limits,
    checked_money,
)
from covote.asking.counting import Elimination, Repair, Vote
from covote.asking.counting_kernels import Terms
from covote.asking.judging import Judge, Rule
from covote.asking.posterior import Posterior
from covote.asking.state import NO_ANSWER, OPEN, SETTLED, STUCK, WAITING, State
from covote.errors import InputError, UnknownNameError
from covote.labels import AGREED, CONFLICT, INCOMPLETE, TIED, Evidence, Labels, Ties
from covote.panel import Name, Panel
from covote.votes import NONE_OF_MINE, Votes

Array = NDArray[Any]

RULES: dict[str, Any] = {
    "elimination": Elimination,
    "repair": Repair,
    "vote": Vote,
    "posterior": Posterior,
}
"""Every rule by name. A new rule is one new class and one line here."""

NONE_TEXT = "none of mine"
PART = 1 << 16
"""Items that are looked at together where a table of items by classes is made."""


class Question(NamedTuple):
    """One question: the item, the expert to ask, and the classes to choose from."""

    item: Any
    expert: Name
    classes: tuple[Name, ...]


@dataclass(frozen=True, eq=False)
class Questions:
    """Whom to ask about what: positions of items and of experts, one entry per question.

    Iterating gives :class:`Question` objects with names.
    """

    panel: Panel
    item: NDArray[np.int64]
    expert: NDArray[np.int64]
    _ids: Any = None

    def __len__(self) -> int:
        return len(self.item)

    def __iter__(self) -> Iterator[Question]:
        blocks = self.panel.blocks()
        for n, i in zip(self.item.tolist(), self.expert.tolist(), strict=True):
            yield Question(n if self._ids is None else _plain(self._ids[n]), self.panel.names[i], blocks[i])


class Unreachable(NamedTuple):
    """Items that cannot be settled, and between which classes.

    `items` are their ids. `pairs` lists (class, class, items in which both are possible), most items first.
    """

    items: NDArray[Any]
    pairs: list[tuple[Name, Name, int]]


class Asker:
    """Say which expert to ask about which item, take the answers, and know when an item is settled.

    Parameters
    ----------
    panel
        Who knows what, and what an answer costs.
    items
        How many items there are, or their ids.
    rule
        ``"elimination"``, ``"repair"``, ``"vote"``, ``"posterior"``, or a rule with options such as
        ``Repair(wrong=2)`` or ``Posterior.learned(votes, truth, error=0.01)``.
    cost
        What an answer of each expert costs; as the panel says unless given.
    budget
        What an item may cost at most.
    total
        What all items together may cost at most.
    batch
        How many questions about an item are asked at once: more questions, fewer rounds.
    limit
        How many answers an expert gives at most; one number, one per expert, or by name.
    away
        Experts that cannot be asked; see also :meth:`leave` and :meth:`return_`.
    partial
        Whether to begin on a panel that cannot keep the promise of the rule. Items that stay open are then
        reported by :meth:`unreachable`.
    seed
        Among equally good experts, the seed decides. Same seed and answers, same questions.

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
        batch: int = 1,
        limit: Any = None,
        away: Name | Iterable[Name] = (),
        partial: bool = False,
        seed: int = 0,
    ) -> None:
        self.panel = panel
        self.rule = _rule(rule)
        self._ids = None if isinstance(items, int | np.integer) else checked_ids(items)
        size = check_count(items, "items", 0) if self._ids is None else len(self._ids)  # type: ignore[arg-type]
        self._cost = checked_costs(panel, cost)
        self._away = np.zeros(len(panel), dtype=np.bool_)
        self._away[[panel.expert_index(name) for name in _names(away)]] = True
        self._budget = checked_money(budget, "budget", self._cost[~self._away])
        self._total = checked_money(total, "total", self._cost[~self._away])
        self._batch = check_count(batch, "batch", 1)
        self._limit = checked_limits(panel, limit)
        self._seed = check_count(seed, "seed", 0)
        if not partial:
            check_promise(panel, self.rule, self._away)
        self._judge: Judge = self.rule.judge(panel)
        self._state = State(size, len(panel), len(panel.classes))
        if len(panel.classes) == 1:
            self._state.status[:] = SETTLED

    @cached_property
    def _position(self) -> dict[Any, int]:
        assert self._ids is not None
        return {name: n for n, name in enumerate(self._ids.tolist())}

    def _terms(self) -> Terms:
        left = self._limit - self._state.questions
        available = ~self._away & (left > 0)
        reachable = self.panel.knows[available].sum(axis=0, dtype=np.int64)
        return Terms(self._cost, available, left, reachable, self._budget, self._seed)

    # Asking

    def next(self, which: int | Sequence[Any] | Array | None = None) -> Questions:
        """Return what to ask next about items that wait for no answer.

        Parameters
        ----------
        which
            About how many items to ask at most, first come first served; or the ids of the items. All
            unless given.

        An empty result means that there is nothing to ask until an answer comes, or at all.
        """
        rows = self._rows(which)
        kept = self._state
        if not len(rows):
            return self._questions(rows, rows)
        terms = self._terms()
        chosen = np.full((len(rows), self._batch), -1, dtype=np.int64)
        self._judge.choose(kept.log, terms, rows, kept.spent, chosen)
        affordable = self._affordable(chosen)
        nobody = ~affordable.any(axis=1)
        kept.status[rows[nobody]] = STUCK
        for column in range(self._batch):
            asked = affordable[:, column]
            expert = chosen[asked, column]
            kept.append(rows[asked], expert, self._cost[expert])
        row, place = np.nonzero(affordable)
        return self._questions(rows[row], chosen[row, place])

    def _rows(self, which: int | Sequence[Any] | Array | None) -> Array:
        kept = self._state
        if which is None or isinstance(which, int | np.integer):
            count = len(kept) if which is None else check_count(int(which), "the number of items", 0)
            free = (kept.status[kept.first :] == OPEN) & (kept.waiting[kept.first :] == 0)
            rows: Array = np.flatnonzero(free)[:count] + kept.first
            if len(rows):
                kept.first = int(np.argmax(kept.status[kept.first :] == OPEN)) + kept.first
            return rows
        named = self._positions(which)
        free = (kept.status[named] == OPEN) & (kept.waiting[named] == 0)
        chosen: Array = named[free]
        return chosen

    def _affordable(self, chosen: Array) -> NDArray[np.bool_]:
        """Return which of the questions the total budget buys, in their order."""
        found = chosen >= 0
        if math.isinf(self._total):
            return found
        price = np.where(found, self._cost[chosen], 0.0)
        spent = np.cumsum(price.ravel()).reshape(price.shape) + self._state.spent.sum()
        bought: NDArray[np.bool_] = found & (spent <= self._total * (1 + 1e-12))
        return bought

    def _questions(self, item: Array, expert: Array) -> Questions:
        return Questions(self.panel, item.astype(np.int64), expert.astype(np.int64), self._ids)

    def waiting(self) -> Questions:
        """Return the questions whose answers are awaited: what to ask again after an interruption."""
        log = self._state.written
        entries = np.flatnonzero(log.answer == WAITING)
        return self._questions(log.item[entries], log.expert[entries])

    # Answers

    def tell(self, item: Any, expert: Name, answer: Name | None) -> None:
        """Take the answer of an expert about an item, all by name.

        `answer` is a class, ``"none of mine"``, or None if the expert did not answer.
        """
        rows = self._positions([item])
        i = self.panel.expert_index(expert)
        if answer is None:
            code = NO_ANSWER
        elif answer == NONE_TEXT and NONE_TEXT not in self.panel.classes:
            code = NONE_OF_MINE
        else:
            code = self.panel.class_index(answer)
        self._take(rows, np.array([i]), np.array([code]))

    def tell_all(self, questions: Questions, answers: ArrayLike) -> None:
        """Take the answers to some questions: class indices, -1 for no answer, -2 for "none of mine"."""
        codes = np.asarray(answers)
        if codes.shape != questions.item.shape or codes.dtype.kind not in "iu":
            raise InputError(
                f"{codes.dtype} answers of shape {codes.shape} to {len(questions)} questions; give one class "
                "index per question, -1 for no answer, -2 for 'none of mine'"
            )
        if questions.panel != self.panel:
            raise InputError("the questions are about another panel; tell the asker that asked them")
        self._take(questions.item, questions.expert, codes)

    def _take(self, rows: Array, experts: Array, codes: Array) -> None:
        if not len(rows):
            return
        kept = self._state
        where = np.empty(len(rows), dtype=np.int64)
        counting_kernels.find(kept.log, rows, experts, where)
        self._check_answers(rows, experts, codes, where)
        kept.log.answer[where] = codes
        touched = rows if _rising(rows) else np.unique(rows)
        if touched is rows:
            kept.waiting[rows] -= 1
        else:
            np.subtract.at(kept.waiting, rows, 1)
        silent = codes == NO_ANSWER
        if silent.any():
            np.subtract.at(kept.spent, rows[silent], self._cost[experts[silent]])
            np.subtract.at(kept.questions, experts[silent], 1)
        self._settle(touched)

    def _check_answers(self, rows: Array, experts: Array, codes: Array, where: Array) -> None:
        """Refuse answers that nobody asked for, before anything is changed."""
        panel, log = self.panel, self._state.log
        refused = where < 0
        if refused.any():
            n, i = self._first(refused, rows, experts)
            raise InputError(
                f"expert {i!r} was not asked about item {n!r}; tell answers to questions of next() only"
            )
        refused = log.answer[where] != WAITING
        if refused.any():
            n, i = self._first(refused, rows, experts)
            raise InputError(f"expert {i!r} has answered about item {n!r} already; undo() takes answers back")
        if not _rising(rows) and len(np.unique(where)) < len(where):
            order = np.sort(where)
            twice = where == order[:-1][order[1:] == order[:-1]][0]
            n, i = self._first(twice, rows, experts)
            raise InputError(f"two answers of expert {i!r} about item {n!r}; tell one")
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
                f"expert {panel.names[experts[row]]!r} answered {panel.classes[codes[row]]!r}, which it does "
                f"not know (it knows: {known}); ask it for one of these"
            )

    def _first(self, which: Array, rows: Array, experts: Array) -> tuple[Any, Name]:
        row = int(np.argmax(which))
        return self._id(int(rows[row])), self.panel.names[int(experts[row])]

    def _settle(self, rows: Array) -> None:
        kept = self._state
        if len(self.panel.classes) > 1:
            self._judge.settle(kept.log, self._terms(), rows, kept.status)
        if len(rows):
            kept.first = min(kept.first, int(rows[0]))

    def undo(self) -> Question:
        """Take back the question that was asked last, with its answer, and return it."""
        kept = self._state
        if not kept.used:
            raise InputError("nothing was asked yet; there is nothing to undo")
        silent = kept.log.answer[kept.used - 1] == NO_ANSWER
        n, i = kept.remove_last()
        if silent:
            kept.questions[i] += 1
        else:
            kept.spent[n] -= self._cost[i]
        self._settle(np.array([n]))
        return next(iter(self._questions(np.array([n]), np.array([i]))))

    # Experts that come and go

    def leave(self, *experts: Name) -> None:
        """Ask these experts no more; answers that are awaited may still come."""
        self._away[[self.panel.expert_index(name) for name in experts]] = True

    def return_(self, *experts: Name) -> None:
        """Ask these experts again, also about items that could not be settled without them."""
        self._away[[self.panel.expert_index(name) for name in experts]] = False
        kept = self._state
        kept.status[kept.status == STUCK] = OPEN
        kept.first = 0

    # Results

    def __len__(self) -> int:
        return len(self._state)

    @property
    def done(self) -> NDArray[np.bool_]:
        """Which items are settled."""
        settled: NDArray[np.bool_] = self._state.status == SETTLED
        return settled

    @property
    def stuck(self) -> NDArray[np.bool_]:
        """Which items cannot be settled: nobody who is left, or can be paid, could tell the rest apart."""
        stuck: NDArray[np.bool_] = self._state.status == STUCK
        return stuck

    @property
    def answers(self) -> int:
        """How many answers were given, "none of mine" included."""
        answer = self._state.written.answer
        return int(((answer >= 0) | (answer == NONE_OF_MINE)).sum())

    @property
    def spent(self) -> float:
        """What the questions so far cost; no answer, no cost."""
        return float(self._state.spent.sum())

    def possible(self, item: Any) -> tuple[Name, ...]:
        """Return the classes of an item that are not ruled out."""
        found = self._possible(self._positions([item]))[0]
        return tuple(self.panel.classes[k] for k in np.flatnonzero(found))

    def _possible(self, rows: Array) -> NDArray[np.bool_]:
        return self._judge.possible(self._state.log, self._terms(), rows)

    def unreachable(self) -> Unreachable:
        """Return the items that cannot be settled, and the pairs of classes that nobody told apart."""
        rows = np.flatnonzero(self.stuck)
        together = np.zeros((len(self.panel.classes),) * 2, dtype=np.int64)
        for begin in range(0, len(rows), PART):
            possible = self._possible(rows[begin : begin + PART]).astype(np.float32)
            together += np.rint(possible.T @ possible).astype(np.int64)
        first, second = np.nonzero(np.triu(together, 1))
        amount = together[first, second]
        classes = self.panel.classes
        pairs = [
            (classes[first[p]], classes[second[p]], int(amount[p]))
            for p in np.argsort(-amount, kind="stable")
        ]
        ids = rows if self._ids is None else self._ids[rows]
        return Unreachable(ids, pairs)

    def labels(self) -> Labels:
        """Return the labels of the items that are settled, or cannot be settled better.

        An item that is still open has no label and the status ``incomplete``. An item that is stuck has the
        class that leads, if one does, and the status ``tied``.
        """
        kept, terms = self._state, self._terms()
        verdict = self._judge.verdict(kept.log, terms, np.arange(len(kept)))
        still_open = kept.status == OPEN
        tied = (kept.status == STUCK) & verdict.tied
        index = np.where(still_open, -1, verdict.label)
        status = np.where(verdict.violations > 0, CONFLICT, AGREED).astype(np.uint8)
        status[tied] = TIED
        status[still_open] = INCOMPLETE
        nothing = np.full(len(kept), np.nan, dtype=np.float32)
        evidence = Evidence(verdict.confidence, nothing, np.full(len(kept), -1), verdict.violations, status)
        return Labels(self.panel, index, tied, self._ties(np.flatnonzero(tied)), evidence, self._ids)

    def _ties(self, rows: Array) -> Ties:
        """Return the classes that are not ruled out for some items."""
        sizes, classes = [np.zeros(1, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        for begin in range(0, len(rows), PART):
            possible = self._possible(rows[begin : begin + PART])
            sizes.append(possible.sum(axis=1))
            classes.append(np.nonzero(possible)[1])
        return Ties(np.cumsum(np.concatenate(sizes)), np.concatenate(classes))

    def votes(self) -> Votes:
        """Return the answers so far as votes."""
        log = self._state.written
        heard = np.flatnonzero((log.answer >= 0) | (log.answer == NONE_OF_MINE))
        order = heard[np.lexsort((log.expert[heard], log.item[heard]))]
        bounds = np.searchsorted(log.item[order], np.arange(len(self) + 1))
        return Votes.from_ragged(bounds, log.expert[order], log.answer[order], self.panel, items=self._ids)

    # Files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to an ``.npz`` file, completely or not at all."""
        options, arrays = self.rule.saved()
        ids = self._ids
        listed = ids is not None and ids.dtype == object
        head = {
            "panel": self.panel.to_dict(),
            "rule": self.rule.name,
            "options": options,
            "budget": None if math.isinf(self._budget) else self._budget,
            "total": None if math.isinf(self._total) else self._total,
            "batch": self._batch,
            "seed": self._seed,
            "ids": ids.tolist() if ids is not None and listed else None,
        }
        more = {f"rule_{name}": array for name, array in arrays.items()}
        more.update(cost=self._cost, limit=self._limit, away=self._away)
        if ids is not None and not listed:
            more["ids"] = ids
        saved.write(path, "Asker", head, {**self._state.arrays(), **more})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Asker:
        """Read what :meth:`save` wrote, and go on from there."""
        head, arrays = saved.read(path, "Asker")
        try:
            panel = Panel.from_dict(head["panel"])
            own = {name[5:]: array for name, array in arrays.items() if name.startswith("rule_")}
            rule = RULES[head["rule"]](**head["options"], **own)
            ids = arrays.get("ids")
            if head["ids"] is not None:
                ids = np.empty(len(head["ids"]), dtype=object)
                ids[:] = head["ids"]
            asker = cls(
                panel, len(arrays["last"]), rule, batch=head["batch"], seed=head["seed"], partial=True
            )
            asker._ids = ids
            asker._cost = arrays["cost"]
            asker._budget, asker._total = (
                math.inf if head[name] is None else float(head[name]) for name in ("budget", "total")
            )
            asker._limit, asker._away = arrays["limit"], arrays["away"]
        except (KeyError, TypeError, ValueError) as error:
            raise saved.damaged(path, "Asker") from error
        asker._state = state.restored(path, arrays, len(panel), len(panel.classes))
        return asker

    # Names

    def _positions(self, items: Sequence[Any] | Array) -> Array:
        given = np.asarray(items)
        if self._ids is None:
            if given.dtype.kind in "iu" or not len(given):
                wrong = (given < 0) | (given >= len(self))
                if not wrong.any():
                    return given.astype(np.int64)
                given = given[wrong]
            raise UnknownNameError(f"no item {_plain(given[0])!r}; items are 0 to {len(self) - 1}")
        try:
            return np.array([self._position[_plain(item)] for item in items], dtype=np.int64)
        except KeyError as error:
            raise UnknownNameError(
                f"no item {error.args[0]!r}; use the ids that the Asker was given"
            ) from None

    def _id(self, n: int) -> Any:
        return n if self._ids is None else _plain(self._ids[n])

    def __repr__(self) -> str:
        settled, stuck = int(self.done.sum()), int(self.stuck.sum())
        counts = f"{len(self)} items, {settled} settled, {stuck} stuck, {self.answers} answers"
        return f"Asker({counts}, {self.rule.name})"


def _rule(rule: str | Rule) -> Rule:
    if not isinstance(rule, str):
        return rule
    if rule not in RULES:
        raise InputError(f"rule {rule!r} is not known; use one of {', '.join(RULES)}")
    made: Rule = RULES[rule]()
    return made


def _rising(rows: Array) -> bool:
    """Whether no item occurs twice, as seen at a glance."""
    return bool((rows[1:] > rows[:-1]).all())


def _names(away: Name | Iterable[Name]) -> list[Name]:
    return [away] if isinstance(away, str | int) else list(away)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
