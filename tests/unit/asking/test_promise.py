"""Promises of the rule posterior: kept on items that had no part in them, or refused with the reason."""

import re

import numpy as np
import pytest

from covote import Panel, Votes, design, simulate
from covote.asking import Asker, Posterior
from covote.asking.answer_model import answer_table
from covote.asking.promise import gold_needed, upper_bound
from covote.errors import InputError
from covote.simulation import Similar

PANEL = design(10, 4, effort="fast")


def alike(classes):
    near = np.random.default_rng(5).normal(size=(classes, 2))
    return Similar(-np.linalg.norm(near[:, None] - near[None], axis=2), 0.1)


def answers(truth, seed, accuracy=0.95):
    return simulate(PANEL, truth, noise=alike(10), accuracy=accuracy, seed=seed)


def true_table():
    """Return how probable each answer is by the way in which `answers` draws them."""
    table = []
    for known in map(np.flatnonzero, PANEL.knows):
        nearness = alike(10).matrix(10, 0)[:, known] / alike(10).temperature
        chance = np.exp(nearness - nearness.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        chance[known] = np.where(np.eye(len(known)), 0.95, 0.05 / (len(known) - 1))
        table += [*np.log(np.maximum(chance, 1e-9)).T, np.full(10, np.log(1e-6))]  # and "none of mine"
    return np.array(table)


def sharing(truth, seed, rate):
    """Votes of experts who all take some items for those of the next class."""
    rng = np.random.default_rng(seed)
    return answers(np.where(rng.random(len(truth)) < rate, (truth + 1) % 10, truth), seed, 1.0)


def settled(rule, votes, truth):
    """Return the share of the items that are settled, and of these the share with a wrong label."""
    asker, dense = Asker(votes.panel, len(votes), rule), votes.dense
    while len(asked := asker.next()):
        asker.tell_all(asked, dense[asked.item, asked.expert].astype(np.int64))
    done = asker.done
    return done.mean(), (asker.labels().index != truth)[done].mean()


@pytest.mark.parametrize(("rate", "error"), [(0.0, 0.01), (0.03, 0.05), (0.08, 0.1), (0.08, 0.2)])
def test_a_promise_is_kept_on_other_items(rate, error):
    rng = np.random.default_rng(3)
    gold, truth = rng.integers(0, 10, 3000), rng.integers(0, 10, 4000)
    rule = Posterior.learned(sharing(gold, 1, rate), gold, error=error)
    assert rule.promise == error
    share, wrong = settled(rule, sharing(truth, 2, rate), truth)
    assert share > 0.5
    assert wrong <= error + 2 * (error * (1 - error) / (share * len(truth))) ** 0.5


def test_shared_mistakes_support_no_promise_however_many_gold_items_there_are():
    gold = np.random.default_rng(0).integers(0, 10, 5000)
    with pytest.raises(InputError, match=r"more gold items would not help; promise .* use the rule 'vote'"):
        Posterior.learned(sharing(gold, 1, 0.05), gold, error=0.01)


def test_the_smaller_promise_that_is_advised_is_supported():
    gold = np.random.default_rng(0).integers(0, 10, 5000)
    votes = sharing(gold, 1, 0.05)
    with pytest.raises(InputError) as caught:
        Posterior.learned(votes, gold, error=0.01)
    advised = int(re.search(r"promise (\d+)% or more", str(caught.value))[1]) / 100
    assert Posterior.learned(votes, gold, error=advised).promise == advised < 0.1


def test_whoever_adds_the_gold_items_that_are_needed_gets_the_promise():
    gold = np.random.default_rng(0).integers(0, 10, 4000)
    votes, needed = answers(gold, 1, 1.0), 100
    for _ in range(4):
        try:
            rule = Posterior.learned(votes.subset(np.arange(needed)), gold[:needed])
            break
        except InputError as error:
            message = str(error)
        needed = int(
            re.search(r"at least about ([\d,]+) gold items would be needed$", message)[1].replace(",", "")
        )
    assert rule.promise == 0.01
    assert 459 <= needed < 3000


@pytest.mark.parametrize("gold", [{}, {0: 3}, np.full(50, -1)])
def test_next_to_no_gold_supports_nothing(gold):
    with pytest.raises(InputError, match="gold items would be needed"):
        Posterior.learned(answers(np.arange(50) % 10, 1), gold)


def test_classes_are_given_by_name_or_by_index():
    truth = np.random.default_rng(0).integers(0, 10, 1500)
    votes = answers(truth, 1, 1.0)
    by_index = Posterior.learned(votes, np.where(np.arange(1500) < 900, truth, -1))
    by_name = Posterior.learned(votes, {n: int(truth[n]) for n in range(900)})
    assert (by_index.table == by_name.table).all()


def test_no_answer_is_certain_even_about_classes_without_gold_items():
    panel = Panel.from_blocks(6, [[0, 1, 2], [2, 3, 4], [4, 5, 0], [1, 3, 5]])
    truth = np.array([0, 0, 1])  # one or two items of two classes, none of four
    chance = np.exp(answer_table(simulate(panel, truth, seed=1), truth))
    assert (chance < 1).all()
    assert (chance[: panel.sizes[0], 3] < 0.5).all()  # the first expert knows 0, 1 and 2


def test_the_model_may_come_from_labels_and_then_promises_nothing():
    truth = np.random.default_rng(0).integers(0, 10, 1000)
    votes = answers(truth, 1)
    rule = Posterior.estimated(votes)
    assert rule.promise is None
    share, wrong = settled(rule, votes, truth)
    # Labels teach about as much as the truth: 87% are settled, and 88% by how the experts really answer.
    assert share > settled(Posterior(true_table()), votes, truth)[0] - 0.03
    assert wrong < 0.01


def test_upper_bounds_hold_as_often_as_they_say():
    rng = np.random.default_rng(0)
    below = [upper_bound(int(wrong), 300) < 0.02 for wrong in rng.binomial(300, 0.02, 4000)]
    assert np.mean(below) <= 0.01 + 3 * (0.01 / 4000) ** 0.5


def test_more_gold_is_needed_for_smaller_promises():
    assert gold_needed(0, 0.01) > gold_needed(0, 0.02) > gold_needed(0, 0.1)
    assert gold_needed(0.02, 0.02) == np.inf
    assert upper_bound(0, int(gold_needed(0, 0.03))) <= 0.03 < upper_bound(0, int(gold_needed(0, 0.03)) - 1)


def test_votes_may_be_missing_and_say_none_of_mine():
    truth = np.random.default_rng(0).integers(0, 10, 1500)
    dense = answers(truth, 1, 1.0).dense.astype(int)
    dense[np.random.default_rng(1).random(dense.shape) < 0.1] = -1
    dense[np.random.default_rng(2).random(dense.shape) < 0.05] = -2
    rule = Posterior.learned(Votes.from_dense(dense, PANEL), truth, error=0.05)
    assert rule.promise == 0.05
