"""Asking one expert at a time: exact values against a plain game search."""

from itertools import combinations

import pytest

from covote import Panel
from covote.bounds import (
    adaptive_answers,
    elimination_bound,
)
from covote.errors import InputError
from tests.plain_asking import fewest_answers


def every_expert(classes, size):
    return Panel.from_blocks(classes, combinations(range(classes), size))


def game_value(blocks, alive, asked=frozenset()):
    """Worst number of answers of the best strategy; the adversary may name any class, also a dead one."""
    if len(alive) == 1:
        return 0
    best = 10**6
    for i, block in enumerate(blocks):
        if i in asked:
            continue
        outcomes = {frozenset(k for k in alive if k == named or k not in block) for named in block}
        possible = [outcome for outcome in outcomes if outcome]
        best = min(best, 1 + max(game_value(blocks, outcome, asked | {i}) for outcome in possible))
    return best


@pytest.mark.parametrize(
    ("classes", "blocks"),
    [
        (3, [[0, 1], [1, 2], [0, 2]]),
        (4, [[0, 1, 2], [0, 3], [1, 3], [2, 3]]),
        (5, [[0, 1, 2], [0, 3, 4], [1, 2, 3], [1, 2, 4]]),
        (6, [[0, 1, 2, 3], [0, 1, 4, 5], [2, 3, 4, 5]]),
    ],
)
def test_the_dynamic_programme_equals_the_game(classes, blocks):
    panel = Panel.from_blocks(classes, blocks)
    value = game_value([set(block) for block in blocks], frozenset(range(classes)))
    assert fewest_answers(panel) == value
    assert value <= elimination_bound(classes, len(blocks))


@pytest.mark.parametrize(("classes", "size"), [(2, 2), (5, 2), (7, 3), (8, 3), (8, 4), (6, 6)])
def test_with_every_expert_at_hand_the_formula_is_exact(classes, size):
    assert fewest_answers(every_expert(classes, size)) == adaptive_answers(classes, size)


def test_one_class_needs_no_answer():
    assert fewest_answers(Panel.from_blocks(1, [[0]])) == 0


def test_elimination_never_takes_more_than_one_answer_per_class():
    for classes in range(1, 50):
        for experts in (1, 2, 10, 1000, 10**6):
            assert 0 <= elimination_bound(classes, experts) <= classes - 1


def test_senseless_counts():
    with pytest.raises(InputError, match="at least 1, not 0"):
        elimination_bound(10, 0)
