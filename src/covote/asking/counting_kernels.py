"""Loops over items for rules that count contradictions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.asking.state import Log
from covote.compiled import helper, kernel

Array = NDArray[Any]

_ELIMINATION, _REPAIR, _VOTE = range(3)
MODES = {"elimination": _ELIMINATION, "repair": _REPAIR, "vote": _VOTE}
_NO_ANSWER, _NONE, _WAITING = -1, -2, -3
_PRIME = 2147483647


class Lists(NamedTuple):
    """Who knows what: expert i knows ``known[start[i]:start[i + 1]]``, class k is known by the experts at
    ``authority[first[k]:first[k + 1]]``.

    Experts stand in groups that have no class in common: expert i is at `place[i]` of `group[i]`. There are
    `groups` of them, `full` of which are as large as any, with `largest` experts.
    """

    start: NDArray[np.int64]
    known: NDArray[np.int64]
    first: NDArray[np.int64]
    authority: NDArray[np.int64]
    group: NDArray[np.int64]
    place: NDArray[np.int64]
    groups: int
    full: int
    largest: int


class Terms(NamedTuple):
    """On what terms experts can be asked: their cost, who can be asked now, how often, for how much an item.

    `reachable` counts the authorities of each class that can be asked.
    """

    cost: NDArray[np.float64]
    available: NDArray[np.bool_]
    left: NDArray[np.int64]
    reachable: NDArray[np.int64]
    budget: float
    seed: int


class Tally(NamedTuple):
    """Counts for one item and every class, and what a choice needs per expert: scratch space of the loops.

    `against` counts the authorities that named another class, `votes` those that named it, `unheard` those
    that may still answer. `alive` is a class that is not ruled out; `weight` what telling it apart is worth;
    `asked` the experts that were asked, `score` the weights that an expert knows.
    """

    against: NDArray[np.int64]
    votes: NDArray[np.int64]
    unheard: NDArray[np.int64]
    alive: NDArray[np.bool_]
    weight: NDArray[np.float64]
    asked: NDArray[np.bool_]
    score: NDArray[np.float64]


def scratch(lists: Lists) -> Tally:
    """Return space for counting."""
    classes, experts = len(lists.first) - 1, len(lists.start) - 1
    return Tally(
        np.zeros(classes, dtype=np.int64),
        np.zeros(classes, dtype=np.int64),
        np.zeros(classes, dtype=np.int64),
        np.zeros(classes, dtype=np.bool_),
        np.zeros(classes),
        np.zeros(experts, dtype=np.bool_),
        np.zeros(experts),
    )


@helper
def mixed(seed: Any, item: Any) -> Any:
    """Return a number that looks random: who of equally good experts is asked depends on seed and item."""
    x = (seed % _PRIME * 16807 + item % _PRIME * 69621 + 1) % _PRIME
    x = (x ^ (x >> 13)) * 48271 % _PRIME
    x = (x ^ (x >> 15)) * 69621 % _PRIME
    return (x ^ (x >> 13)) * 16807 % _PRIME


@helper
def turn(lists: Any, first: Any, shift: Any, expert: Any) -> Any:
    """Return when it is the turn of an expert among equally good ones: group by group, each in its order.

    Experts of one group have no class in common, so that whoever is asked next is still as good as before.
    `first` is the group that begins, `shift` how far its order is turned; see `draw`.
    """
    group = lists.group[expert] - first
    place = lists.place[expert] + shift
    if group < 0:
        group += lists.groups
    if place >= lists.largest:
        place -= lists.largest
    return group * len(lists.group) + place


@helper
def draw(lists: Any, seed: Any, item: Any) -> Any:
    """Return which of the largest groups begins, and who in it: a matter of chance for every item."""
    drawn = mixed(seed, item)
    return drawn % lists.full, drawn // lists.full % lists.largest


@helper
def count(log: Any, lists: Any, terms: Any, mode: Any, n: Any, tally: Any) -> None:
    """Count the answers about item n."""
    tally.against[:] = 0
    tally.votes[:] = 0
    full = mode == _VOTE  # only the full vote looks at those who were not heard
    if full:
        tally.unheard[:] = terms.reachable
    entry = log.last[n]
    while entry >= 0:
        expert, answer = log.expert[entry], log.answer[entry]
        begin, end = lists.start[expert], lists.start[expert + 1]
        if answer >= _NONE and answer != _NO_ANSWER:
            for place in range(begin, end):
                k = lists.known[place]
                if answer == k:
                    tally.votes[k] += 1
                else:
                    tally.against[k] += 1
        if full and terms.available[expert] == (answer != _WAITING):
            # Heard, and no longer among those who can be asked; or awaited from somebody who is not either.
            change = 1 if answer == _WAITING else -1
            for place in range(begin, end):
                tally.unheard[lists.known[place]] += change
        entry = log.previous[entry]


@helper
def best_class(tally: Any, mode: Any) -> Any:
    """Return (the class that leads, whether another is as good).

    Fewest contradictions lead, then most votes. For the full vote it is the largest share of authorities
    that the class can still reach, then the share that it has.
    """
    against, votes, unheard = tally.against, tally.votes, tally.unheard
    best, shared = 0, False
    for k in range(1, len(against)):
        if mode == _VOTE:
            mine, other = against[k] + votes[k] + unheard[k], against[best] + votes[best] + unheard[best]
            first = (votes[k] + unheard[k]) * other - (votes[best] + unheard[best]) * mine
            second = votes[k] * other - votes[best] * mine
        else:
            first = against[best] - against[k]
            second = votes[k] - votes[best]
        if first > 0 or (first == 0 and second > 0):
            best, shared = k, False
        elif first == 0 and second == 0:
            shared = True
    return best, shared


@helper
def rivals(tally: Any, mode: Any, wrong: Any, best: Any) -> Any:
    """Mark the classes that are not ruled out, and return how many there are beside the best."""
    against, votes, unheard = tally.against, tally.votes, tally.unheard
    total = against[best] + votes[best] + unheard[best]
    left = 0
    for k in range(len(against)):
        mine = against[k] + votes[k] + unheard[k]
        if mode == _ELIMINATION:
            alive = against[k] <= against[best]
        elif mode == _REPAIR:
            alive = against[k] <= max(wrong, against[best])
        else:
            alive = (votes[k] + unheard[k]) * total >= votes[best] * mine and mine > 0
        tally.alive[k] = alive or k == best
        if alive and k != best:
            left += 1
    return left


@helper
def fold(lists: Any, tally: Any, mode: Any, wrong: Any, best: Any, expert: Any) -> None:
    """Act as if an expert that is being asked had named any of the classes it knows with equal chance.

    A class that one more contradiction would rule out is then alive with probability one over their number.
    """
    limit = max(wrong, tally.against[best]) if mode == _REPAIR else tally.against[best]
    total = 0.0
    for place in range(lists.start[expert], lists.start[expert + 1]):
        total += tally.weight[lists.known[place]]
    if total <= 1:
        return
    for place in range(lists.start[expert], lists.start[expert + 1]):
        k = lists.known[place]
        tally.against[k] += 1
        if tally.against[k] > limit:
            tally.weight[k] /= total


@helper
def choice(lists: Any, terms: Any, tally: Any, mode: Any, best: Any, n: Any, money: Any) -> Any:
    """Return the expert that tells most classes apart per unit of cost; -1 if nobody left tells any."""
    tally.score[:] = 0.0
    for k in range(len(tally.weight)):
        weight = tally.weight[k]
        if weight > 0:
            # The full vote is settled by the leader's own authorities.
            if mode == _VOTE and k == best:
                weight = float(len(tally.weight))
            for place in range(lists.first[k], lists.first[k + 1]):
                tally.score[lists.authority[place]] += weight
    least = 0.0 if mode == _VOTE else 1.0 + 1e-9
    first, shift = draw(lists, terms.seed, n)
    chosen, most, soonest = -1, 0.0, 0
    for i in range(len(tally.score)):
        if tally.score[i] > least and not tally.asked[i] and terms.available[i] and terms.left[i] > 0:
            if terms.cost[i] > money:
                continue
            gain = (tally.score[i] - min(least, 1.0)) / max(terms.cost[i], 1e-12)
            if gain >= most:
                mine = turn(lists, first, shift, i)
                if gain > most or mine < soonest:
                    chosen, most, soonest = i, gain, mine
    return chosen


def _steps(log: Log, lists: Lists, terms: Terms, mode: int, wrong: int, rows: Array, *_: Any) -> int:
    return 1 + len(rows) * (len(lists.known) + 10 * len(lists.first))


@kernel(steps=_steps)
def settle(
    log: Any, lists: Any, terms: Any, mode: Any, wrong: Any, rows: Any, tally: Any, status: Any
) -> None:
    """Mark the items whose class is settled; the others are open."""
    for n in rows:
        count(log, lists, terms, mode, n, tally)
        best, _ = best_class(tally, mode)
        status[n] = 0 if rivals(tally, mode, wrong, best) > 0 else 1


@kernel(steps=_steps)
def choose(
    log: Any,
    lists: Any,
    terms: Any,
    mode: Any,
    wrong: Any,
    rows: Any,
    tally: Any,
    spent: Any,
    chosen: Any,
) -> None:
    """Choose the next questions about each item, one per column of `chosen`; -1 where there are no more."""
    for row in range(len(rows)):
        n = rows[row]
        count(log, lists, terms, mode, n, tally)
        best, _ = best_class(tally, mode)
        if rivals(tally, mode, wrong, best) == 0:
            continue
        tally.asked[:] = False
        for k in range(len(tally.weight)):
            tally.weight[k] = 1.0 if tally.alive[k] else 0.0
        entry = log.last[n]
        while entry >= 0:
            tally.asked[log.expert[entry]] = True
            entry = log.previous[entry]
        money = terms.budget - spent[n]
        for column in range(chosen.shape[1]):
            expert = choice(lists, terms, tally, mode, best, n, money)
            if expert < 0:
                break
            chosen[row, column] = expert
            terms.left[expert] -= 1
            money -= terms.cost[expert]
            tally.asked[expert] = True
            fold(lists, tally, mode, wrong, best, expert)


@kernel(steps=_steps)
def judge(
    log: Any,
    lists: Any,
    terms: Any,
    mode: Any,
    wrong: Any,
    rows: Any,
    tally: Any,
    index: Any,
    shared: Any,
    against: Any,
) -> None:
    """Give the leading class of each item (-1 if several lead), and the answers that contradict it."""
    for row in range(len(rows)):
        count(log, lists, terms, mode, rows[row], tally)
        best, even = best_class(tally, mode)
        index[row] = -1 if even else best
        shared[row] = rivals(tally, mode, wrong, best) > 0
        against[row] = tally.against[best]


@kernel(steps=_steps)
def alive(
    log: Any, lists: Any, terms: Any, mode: Any, wrong: Any, rows: Any, tally: Any, possible: Any
) -> None:
    """Mark the classes of each item that are not ruled out."""
    for row in range(len(rows)):
        count(log, lists, terms, mode, rows[row], tally)
        best, _ = best_class(tally, mode)
        rivals(tally, mode, wrong, best)
        possible[row] = tally.alive


@kernel
def find(log: Any, items: Any, experts: Any, where: Any) -> None:
    """Find the question to each expert about each item; -1 where there was none."""
    for row in range(len(items)):
        entry = log.last[items[row]]
        while entry >= 0 and log.expert[entry] != experts[row]:
            entry = log.previous[entry]
        where[row] = entry
