"""Loops over items for the rule that weighs answers by their probability."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.asking.counting_kernels import Lists, Terms, draw, turn
from covote.asking.state import Log
from covote.compiled import helper, kernel

Array = NDArray[Any]
_NO_ANSWER, _NONE, _WAITING = -1, -2, -3
SMALL = 1e-7
"""Classes that are less probable than this do not count when a question is chosen."""


class Model(NamedTuple):
    """How probable each answer is for each class.

    Expert i gives the answers of cells ``first[i]:first[i + 1]``: the classes it knows, in order, then "none
    of mine". With `tables`, `chance` and `weight` are (cells x classes): the probability of an answer, and
    the logarithm by which it counts; they differ where too little was seen (`seen` is False): there an answer
    counts as if it were certain. Without, classes outside expertise are all alike and `coins` (experts x 5)
    holds the probabilities of: the right class, each wrong one, "none of mine" for a class that is known;
    each class, "none of mine" for one that is not.
    """

    first: NDArray[np.int64]
    tables: bool
    chance: NDArray[np.float32]
    weight: NDArray[np.float32]
    seen: NDArray[np.bool_]
    coins: NDArray[np.float64]
    prior: NDArray[np.float64]
    error: float


class Belief(NamedTuple):
    """Scratch space for one item: log-probabilities and probabilities of the classes, and what an answer of
    each expert gains."""

    log: NDArray[np.float64]
    share: NDArray[np.float64]
    against: NDArray[np.int64]
    likely: NDArray[np.int64]
    asked: NDArray[np.bool_]
    gain: NDArray[np.float64]


def scratch(lists: Lists) -> Belief:
    """Return space for one item."""
    classes, experts = len(lists.first) - 1, len(lists.start) - 1
    return Belief(
        np.zeros(classes),
        np.zeros(classes),
        np.zeros(classes, dtype=np.int64),
        np.zeros(classes, dtype=np.int64),
        np.zeros(experts, dtype=np.bool_),
        np.zeros(experts),
    )


@helper
def cell_of(lists: Any, model: Any, expert: Any, answer: Any) -> Any:
    """Return the number of an answer."""
    if answer == _NONE:
        return model.first[expert + 1] - 1
    begin, end = lists.start[expert], lists.start[expert + 1]
    return model.first[expert] + np.searchsorted(lists.known[begin:end], answer)


@helper
def hear(lists: Any, model: Any, belief: Any, expert: Any, answer: Any) -> None:
    """Add the weight of an answer."""
    if model.tables:
        cell = cell_of(lists, model, expert, answer)
        for k in range(len(belief.log)):
            belief.log[k] += model.weight[cell, k]
        return
    coins = model.coins[expert]
    outside = np.log(coins[4] if answer == _NONE else coins[3])
    named = np.log(coins[0]) - outside
    other = np.log(coins[2] if answer == _NONE else coins[1]) - outside
    for place in range(lists.start[expert], lists.start[expert + 1]):
        k = lists.known[place]
        belief.log[k] += named if k == answer else other


@helper
def believe(belief: Any) -> Any:
    """Turn log-probabilities into probabilities, and return the most probable class."""
    best = np.argmax(belief.log)
    top, total = belief.log[best], 0.0
    last, power = top, 1.0
    for k in range(len(belief.log)):
        if belief.log[k] != last:  # neighbours are often alike
            last = belief.log[k]
            power = np.exp(last - top)
        belief.share[k] = power
        total += power
    for k in range(len(belief.log)):
        belief.share[k] /= total
    return best


@helper
def weigh(log: Any, lists: Any, model: Any, n: Any, belief: Any) -> Any:
    """Weigh the answers about item n; return (most probable class, whether the model has seen enough)."""
    belief.log[:] = model.prior
    belief.against[:] = 0
    entry = log.last[n]
    while entry >= 0:
        expert, answer = log.expert[entry], log.answer[entry]
        if answer != _WAITING and answer != _NO_ANSWER:
            hear(lists, model, belief, expert, answer)
            for place in range(lists.start[expert], lists.start[expert + 1]):
                if lists.known[place] != answer:
                    belief.against[lists.known[place]] += 1
        entry = log.previous[entry]
    best = believe(belief)
    enough = True
    if model.tables:
        entry = log.last[n]
        while entry >= 0:
            if log.answer[entry] != _WAITING and log.answer[entry] != _NO_ANSWER:
                enough = enough and model.seen[log.expert[entry], best]
            entry = log.previous[entry]
    return best, enough


@helper
def finished(belief: Any, model: Any, best: Any, enough: Any) -> Any:
    """Whether the error is small enough; where the model has seen too little, whether one class is left."""
    if enough:
        return 1.0 - belief.share[best] <= model.error
    left = 0
    for k in range(len(belief.against)):
        if belief.against[k] <= belief.against[best]:
            left += 1
    return left == 1


@helper
def coin_gains(lists: Any, model: Any, belief: Any) -> None:
    """Write how much an answer of each expert raises the agreement of two draws; see `choice`."""
    share, squares = belief.share, 0.0
    for k in range(len(share)):
        squares += share[k] * share[k]
    for i in range(len(belief.gain)):
        if belief.asked[i]:
            continue
        inside, within = 0.0, 0.0
        for place in range(lists.start[i], lists.start[i + 1]):
            s = share[lists.known[place]]
            inside += s
            within += s * s
        coins = model.coins[i]
        base = (1.0 - inside) * coins[3] + inside * coins[1]
        even = (squares - within) * coins[3] ** 2 + within * coins[1] ** 2
        right, sure = coins[0] - coins[1], coins[0] ** 2 - coins[1] ** 2
        none = (1.0 - inside) * coins[4] + inside * coins[2]
        gain = ((squares - within) * coins[4] ** 2 + within * coins[2] ** 2) / none - squares
        for place in range(lists.start[i], lists.start[i + 1]):
            s = share[lists.known[place]]
            gain += (even + s * s * sure) / (base + s * right)
        belief.gain[i] = gain


@helper
def table_gains(model: Any, belief: Any) -> None:
    """Do the same with learned tables."""
    likely, squares = 0, 0.0
    for k in range(len(belief.share)):
        if belief.share[k] >= SMALL:
            belief.likely[likely] = k
            likely += 1
            squares += belief.share[k] ** 2
    for i in range(len(belief.gain)):
        gain = -squares
        if not belief.asked[i]:
            for cell in range(model.first[i], model.first[i + 1]):
                named, both = 0.0, 0.0
                for place in range(likely):
                    k = belief.likely[place]
                    joint = belief.share[k] * model.chance[cell, k]
                    named += joint
                    both += joint * joint
                if named > 0:
                    gain += both / named
        belief.gain[i] = gain


@helper
def choice(lists: Any, terms: Any, model: Any, belief: Any, n: Any, money: Any) -> Any:
    """Return the expert whose answer lowers the expected error most per unit of cost; -1 if there is none.

    The error is that of a guess drawn from the posterior, 1 - sum of squares: between the error of the best
    guess and twice that, and smooth, so that an answer helps also if it does not yet change the best guess.
    """
    if model.tables:
        table_gains(model, belief)
    else:
        coin_gains(lists, model, belief)
    first, shift = draw(lists, terms.seed, n)
    chosen, most, soonest = -1, 0.0, 0
    for i in range(len(belief.gain)):
        if belief.asked[i] or not terms.available[i] or terms.left[i] <= 0 or terms.cost[i] > money:
            continue
        gain = max(belief.gain[i], 1e-12) / max(terms.cost[i], 1e-12)
        if gain >= most * (1 - 1e-9):
            mine = turn(lists, first, shift, i)
            if gain > most * (1 + 1e-9) or mine < soonest:
                chosen, most, soonest = i, gain, mine
    return chosen


@helper
def likeliest(lists: Any, model: Any, belief: Any, expert: Any) -> Any:
    """Return the answer that the expert gives most probably."""
    begin, end = lists.start[expert], lists.start[expert + 1]
    answer, most = _NONE, -1.0
    for place in range(begin, end):
        v = lists.known[place]
        if model.tables:
            chance = 0.0
            for k in range(len(belief.share)):
                chance += belief.share[k] * model.chance[model.first[expert] + place - begin, k]
        else:
            chance = belief.share[v]
        if chance > most:
            answer, most = v, chance
    return answer


def _steps(log: Log, lists: Lists, terms: Terms, model: Model, rows: Array, *_: Any) -> int:
    return 1 + len(rows) * (len(model.chance) * len(model.prior) if model.tables else 10 * len(lists.known))


@kernel(steps=_steps)
def settle(log: Any, lists: Any, terms: Any, model: Any, rows: Any, belief: Any, status: Any) -> None:
    """Mark the items whose class is settled; the others are open."""
    for n in rows:
        best, enough = weigh(log, lists, model, n, belief)
        status[n] = 1 if finished(belief, model, best, enough) else 0


@kernel(steps=_steps)
def choose(
    log: Any, lists: Any, terms: Any, model: Any, rows: Any, belief: Any, spent: Any, chosen: Any
) -> None:
    """Choose the next questions about each item, one per column of `chosen`; -1 where there are no more.

    A further question is chosen as if the ones before it had got their likeliest answers (Ginsbourger, Le
    Riche and Carraro, 2010, "Kriging is well-suited to parallelize optimization").
    """
    for row in range(len(rows)):
        n = rows[row]
        weigh(log, lists, model, n, belief)
        belief.asked[:] = False
        entry = log.last[n]
        while entry >= 0:
            belief.asked[log.expert[entry]] = True
            entry = log.previous[entry]
        money = terms.budget - spent[n]
        for column in range(chosen.shape[1]):
            expert = choice(lists, terms, model, belief, n, money)
            if expert < 0:
                break
            chosen[row, column] = expert
            terms.left[expert] -= 1
            money -= terms.cost[expert]
            belief.asked[expert] = True
            if column + 1 < chosen.shape[1]:
                hear(lists, model, belief, expert, likeliest(lists, model, belief, expert))
                believe(belief)


@kernel(steps=_steps)
def judge(
    log: Any, lists: Any, terms: Any, model: Any, rows: Any, belief: Any, index: Any, against: Any,
    confidence: Any,
) -> None:  # fmt: skip
    """Give the most probable class of each item (-1 if several are), its contradictions and probability."""
    for row in range(len(rows)):
        best, _ = weigh(log, lists, model, rows[row], belief)
        even = 0
        for k in range(len(belief.share)):
            if belief.share[k] >= belief.share[best] * (1 - 1e-9):
                even += 1
        index[row] = best if even == 1 else -1
        against[row] = belief.against[best]
        confidence[row] = belief.share[best]


@kernel(steps=_steps)
def likely(log: Any, lists: Any, terms: Any, model: Any, rows: Any, belief: Any, possible: Any) -> None:
    """Mark the classes of each item that are the best or more probable than the error that is allowed."""
    for row in range(len(rows)):
        best, _ = weigh(log, lists, model, rows[row], belief)
        for k in range(len(belief.share)):
            possible[row, k] = k == best or belief.share[k] > model.error
