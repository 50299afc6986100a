"""Inquiry: who to ask next about an item and when to stop, by the rules of :mod:`covote.asking`."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, select

from covote.asking import RULES, ItemAnswers, Posterior, Rule, TieOrder, Vote, choose
from covote.errors import InputError, TooLargeError
from covote.votes import NONE_OF_MINE
from covote_studio.answers.results import shown_lists, votes_of
from covote_studio.people.roster import Roster
from covote_studio.storage.schema import CHOICE, NONE, answer, item

LEARNED_SECONDS = 600.0
"""Seconds after which the rule ``posterior`` learns again how people answer gold items."""
LEARNED_FROM = 50_000
"""Most answers to gold items from which it learns: the last ones."""
UNSUPPORTED = Vote()
"""The rule while the gold items do not support the promise that at most 1% of the labels are wrong."""


def inquiry_of(connection: Connection, roster: Roster, rule: str) -> Inquiry:
    """Return a rule for the people of a roster; it is made once, or again when it learns."""
    inquiry = roster.inquiries.get(rule)
    if inquiry is None or (rule == "posterior" and time.monotonic() > inquiry.made + LEARNED_SECONDS):
        made = learned(connection, roster) if rule == "posterior" else RULES[rule]()
        inquiry = roster.inquiries[rule] = Inquiry(roster, made)
    return inquiry


def gold_answers(connection: Connection) -> NDArray[np.int64]:
    """Return the last answers to gold items: (id, item, person, class, options, class that is right)."""
    columns = (answer.c.id, answer.c.item_id, answer.c.person_id, CHOICE, answer.c.options_id)
    rows = connection.execute(
        select(*columns, item.c.gold)
        .join(item, item.c.id == answer.c.item_id)
        .where(item.c.gold.is_not(None), item.c.retired.is_(False))
        .order_by(answer.c.id.desc())
        .limit(LEARNED_FROM)
    ).all()
    return np.array([tuple(row) for row in rows], dtype=np.int64).reshape(len(rows), 6)


def learned(connection: Connection, roster: Roster) -> Rule:
    """Return the rule ``posterior``, learned from the answers to gold items, if these support its promise."""
    rows = gold_answers(connection)
    column = [roster.column.get(roster.canonical_class[gold], -1) for gold in rows[:, 5].tolist()]
    right = {item_id: k for item_id, k in zip(rows[:, 1].tolist(), column, strict=True) if k >= 0}
    rows = rows[np.isin(rows[:, 1], list(right))]
    votes = votes_of(rows[:, :5], roster, shown_lists(connection, roster))
    if votes is None:
        return UNSUPPORTED
    try:
        return Posterior.learned(votes, np.array([right[int(one)] for one in votes.items]))
    except (InputError, TooLargeError):  # too few gold items, or too many people and classes
        return UNSUPPORTED


class Inquiry:
    """A rule for the people of a roster.

    The rule decides from the answers that count, which are in the database; nothing is kept here. Answers
    are mappings from a person's id to a class id or NONE.
    """

    def __init__(self, roster: Roster, rule: Rule) -> None:
        panel = roster.panel
        assert panel is not None  # there are classes and people before anyone is asked
        self._roster, self._panel = roster, panel
        self.made = time.monotonic()
        self._panel_rule, self._order = rule.for_panel(panel), TieOrder(panel)
        asked = {one.id for one in roster.active if one.role != "model"}
        self._people = np.array([one.id in asked for one in roster.voters], dtype=np.bool_)

    def settled(self, answers: Mapping[int, int]) -> bool:
        """Whether no one needs to be asked: the rule has settled on a class, and someone has named it.

        "None of mine" from the others is not a vote for the class that is left.
        """
        return self._unnamed(self._state(answers), answers) == ()

    def next_person(
        self, answers: Mapping[int, int], asked: Collection[int], item_id: int, only: int | None = None
    ) -> int | None:
        """Return the person to ask next, or None if no one can help.

        `asked` need not be asked again; with `only`, just this person is considered. Of people who help
        equally, different ones are chosen for different items.
        """
        among = self._people.copy()
        if only is not None:
            among[:] = False
            among[self._roster.row[only]] = self._people[self._roster.row[only]]
        among[[self._roster.row[who] for who in {*asked, *answers} if who in self._roster.row]] = False
        if not among.any():
            return None
        state = self._state(answers)
        unnamed = self._unnamed(state, answers)
        if unnamed is None:
            money, order = np.array([np.inf]), self._order.of(np.zeros(1, dtype=np.int64), item_id)
            row = int(choose(self._panel_rule, state, among[None], self._panel.cost, money, order)[0])
        else:
            row = self._cheapest(among & self._panel.knows[:, list(unnamed)].any(axis=1), item_id)
        return None if row < 0 else self._roster.voters[row].id

    def _state(self, answers: Mapping[int, int]) -> Any:
        """Return the state of the rule after the answers about one item."""
        row, column = self._roster.row, self._roster.column
        votes = {
            row[who]: NONE_OF_MINE if choice == NONE else column[choice]
            for who, choice in answers.items()
            if who in row
        }
        return self._panel_rule.state(ItemAnswers.of_one(votes), self._people)

    def _unnamed(self, state: Any, answers: Mapping[int, int]) -> tuple[int, ...] | None:
        """Return the class that the rule settled on if no one has named it; None if it has not settled."""
        if not self._panel_rule.settled(state)[0]:
            return None
        best = int(self._panel_rule.decision(state).label[0])
        named = {self._roster.column[choice] for choice in answers.values() if choice != NONE}
        return () if best in named else (best,)

    def _cheapest(self, among: NDArray[np.bool_], item_id: int) -> int:
        rows = np.flatnonzero(among)
        if not len(rows):
            return -1
        cost = self._panel.cost[rows]
        best = rows[cost == cost.min()]
        return int(best[item_id % len(best)])
