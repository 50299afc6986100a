"""Existing answers: an Asker goes on from them, and finds the questions that are worth most."""

import csv

import numpy as np
import pytest

from covote import Panel, Votes, decode, design, simulate
from covote.asking import Asker, Elimination, Posterior, Repair, Vote
from covote.asking.choosing import spread_evenly
from covote.errors import InputError
from tests.plain_asking import coin_table

PANEL = design(12, 4, effort="fast")
TRUTH = np.random.default_rng(0).integers(0, 12, 400)
WHOLE = simulate(PANEL, TRUTH, accuracy=0.9, seed=1)
SOME = simulate(PANEL, TRUTH, accuracy=0.9, missing=0.7, seed=1)


@pytest.mark.parametrize("rule", ["elimination", Vote(), Repair(wrong=0), Posterior(coin_table(PANEL))])
def test_an_asker_that_starts_from_votes_is_where_one_that_was_told_them_is(rule):
    """Ask until half is answered; a new Asker from these votes settles the same and asks the same."""
    told = Asker(PANEL, len(TRUTH), rule, partial=True)
    for _ in range(3):
        asked = told.next()
        told.tell_all(asked, WHOLE.dense[asked.item, asked.expert].astype(np.int64))
    again = Asker.from_votes(told.votes(), rule, partial=True)
    assert again.answers == told.answers
    assert again.spent == told.spent
    assert (again.done == told.done).all()
    ours, theirs = again.next(), told.next()
    assert ours.item.tolist() == theirs.item.tolist()
    assert ours.expert.tolist() == theirs.expert.tolist()


def test_ids_and_none_of_mine_are_kept():
    panel = Panel(["a", "b", "c"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], ["x", "y", "z"])
    votes = Votes.from_dense([[-2, -1, -1], [0, -1, 0]], panel, items=["one", "two"])
    asker = Asker.from_votes(votes, "elimination")
    assert asker.possible("one") == ("c",)
    assert asker.done.tolist() == [True, True]
    assert asker.votes().items.tolist() == ["one", "two"]


def test_the_best_questions_are_those_of_most_value():
    """On a panel of three and two items in doubt: the expert who can tell the classes apart."""
    panel = Panel(["a", "b", "c"], [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0]], ["x", "y", "z", "w"])
    votes = Votes.from_dense([[0, -1, 0, 0], [0, -1, -1, 1], [0, -1, 0, -1]], panel)
    asker = Asker.from_votes(votes, Posterior(coin_table(panel)))
    (question,) = asker.best(1)
    assert question.item == 1  # x and w disagree
    assert question.expert in ("y", "z")


def test_no_question_is_asked_twice_and_an_item_only_once():
    asker = Asker.from_votes(SOME, partial=True)
    asked = asker.best(150)
    assert len(asked) == len(set(asked.item.tolist())) == 150
    assert (SOME.dense[asked.item, asked.expert] == -1).all()
    assert asker.waiting().item.tolist() == asked.item.tolist()
    more = asker.best(1000)
    assert not set(more.item.tolist()) & set(asked.item.tolist())  # these wait for an answer


@pytest.mark.parametrize("count", [1, 7, 60])
def test_questions_are_spread_evenly(count):
    asked = Asker.from_votes(SOME, partial=True).best(count)
    each = np.bincount(asked.expert, minlength=len(PANEL))
    assert each.sum() == count
    assert each.max(initial=0) <= -(-count // len(PANEL))


def test_pruned_items_change_nothing():
    """All items compared at once give the questions that the search in order of doubt finds."""
    rule = Posterior(coin_table(PANEL))
    asker = Asker.from_votes(SOME, rule, partial=True)
    rows = np.flatnonzero(~asker.done)
    on_panel = rule.for_panel(PANEL)
    state = asker._state(rows)
    free = SOME.dense[rows] == -1
    value = np.where(free, on_panel.value(state, free), 0)
    plain = sorted((float(value[n].max()) for n in range(len(rows))), reverse=True)[:40]
    asked = Asker.from_votes(SOME, rule, partial=True).best(40)
    place = np.searchsorted(rows, asked.item)
    got = value[place, asked.expert]
    # The spread may take another expert than the best one, but not a worthless one.
    assert got.sum() >= 0.9 * sum(plain)


def test_cheap_answers_come_first():
    cost = np.ones(len(PANEL))
    cost[0] = 1e-3
    asked = Asker.from_votes(SOME, Posterior(coin_table(PANEL)), partial=True, cost=cost).best(len(PANEL))
    value = np.bincount(asked.expert, minlength=len(PANEL))
    assert value[0] == 1  # cheap, but the questions are spread
    asked = Asker.from_votes(SOME, Posterior(coin_table(PANEL)), partial=True, cost=cost).best(1)
    assert asked.expert.tolist() == [0]


def test_answers_to_the_best_questions_help_more_than_to_others():
    asker = Asker.from_votes(SOME, partial=True)
    asked = asker.best(200)
    before = (decode(SOME).index == TRUTH).mean()

    def after(item, expert):
        dense = SOME.dense.copy()
        dense[item, expert] = WHOLE.dense[item, expert]
        return (decode(Votes.from_dense(dense, PANEL)).index == TRUTH).mean()

    rng = np.random.default_rng(0)
    free = np.argwhere(SOME.dense == -1)
    random = np.mean([after(*free[rng.choice(len(free), 200, replace=False)].T) for _ in range(5)])
    assert after(asked.item, asked.expert) - before > 1.5 * (random - before)


def test_experts_who_left_and_money_are_heeded():
    away = PANEL.names[2]
    asker = Asker.from_votes(SOME, Elimination(), partial=True, away=away, total=SOME.answers + 5)
    asked = asker.best(100)
    assert len(asked) == 5
    assert 2 not in asked.expert


def test_gold_items_teach_the_default_rule():
    gold = {n: int(TRUTH[n]) for n in range(300)}
    with_gold, without = Asker.from_votes(SOME, gold=gold, partial=True), Asker.from_votes(SOME, partial=True)
    assert not np.array_equal(with_gold.rule.table, without.rule.table)
    with pytest.raises(InputError):
        Asker.from_votes(SOME, gold=np.full(400, 99), partial=True)


def test_when_all_have_answered_there_is_no_question():
    assert len(Asker.from_votes(WHOLE).best(10)) == 0


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "xlsx"])
def test_questions_are_saved_as_a_table_to_fill_in(tmp_path, suffix):
    asked = Asker.from_votes(SOME, partial=True).best(5)
    asked.save(tmp_path / f"q.{suffix}")
    assert (tmp_path / f"q.{suffix}").stat().st_size > 0
    if suffix == "csv":
        rows = list(csv.reader((tmp_path / "q.csv").read_text().splitlines()))
        assert rows[0] == ["item", "expert", "label"]
        assert [row[:2] for row in rows[1:]] == [[str(q.item), str(q.expert)] for q in asked]


def test_a_share_that_nobody_else_can_take_goes_to_those_who_can():
    value = np.zeros((10, 3))
    value[:, 0] = np.arange(10, 0, -1)
    value[0, 1] = 1
    items, experts = spread_evenly(value, np.zeros(value.shape, dtype=int), 6)
    assert sorted(items.tolist()) == [0, 1, 2, 3, 4, 5]
    assert experts.tolist() == [0] * 6
