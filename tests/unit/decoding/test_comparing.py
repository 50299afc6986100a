"""Comparing the decoders on gold items, and explaining single items."""

import json
import subprocess
import sys
from dataclasses import dataclass

import numpy as np
import pytest

from covote import CovoteError, Panel, Votes, compare, decode, explain, simulate
from covote.decoding import DECODERS, Decoder, labels_from_scores
from covote.decoding.comparing import CANDIDATES, _choice

CROWD = Panel(2, np.ones((21, 2)))
SKILL = [0.95] + [0.5] * 20


def crowd(items=300, seed=0):
    truth = np.random.default_rng(seed).integers(0, 2, items)
    return simulate(CROWD, truth, accuracy=SKILL, seed=seed), dict(enumerate(truth.tolist()))


def test_a_surely_better_method_is_advised_and_taken():
    votes, gold = crowd()
    known = {n: gold[n] for n in range(100)}
    found = compare(votes, known, methods=["em", "learned"])
    assert found.best == "em"
    assert found.scores[0].method == "em"
    assert found.scores[0].p_value < 0.05
    auto, best = (decode(votes, method=m, gold=known) for m in ("auto", compare(votes, known).best))
    assert auto.index.tobytes() == best.index.tobytes()


def test_the_default_stays_where_nothing_is_surely_better():
    votes, gold = crowd()
    few = {n: gold[n] for n in range(6)}
    assert compare(votes, few).best == "learned"
    assert (decode(votes, method="auto").index == decode(votes).index).all()


def test_registering_a_decoder_changes_no_advice(monkeypatch):
    votes, gold = crowd(120)
    before = compare(votes, gold)
    monkeypatch.setitem(DECODERS, "another", DECODERS["authority"])
    assert compare(votes, gold) == before
    assert {score.method for score in before.scores} == set(CANDIDATES)


def test_a_method_that_is_chosen_by_luck_is_not_expected_to_stay_lucky():
    # No method is better than another one: the labels are noise.
    leads, kept = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        right = {name: (rng.random(60) < 0.7) * 1.0 for name in (*"abcdefgh", "learned")}
        found = max(right, key=lambda name: right[name].sum())
        leads.append(right[found].mean() - 0.7)
        kept.append(_choice(right, 8))
    assert np.mean(leads) > 0.05  # the best of nine equal methods looks better than it is
    assert kept.count("learned") >= 19


def test_what_to_expect_is_found_on_items_without_a_part_in_the_choice():
    votes, gold = crowd()
    known = {n: gold[n] for n in range(100)}
    found = compare(votes, known, methods=["em", "likelihood", "dawid-skene"])
    best = {score.method: score for score in found.scores}[found.best]
    assert found.expected <= best.right
    assert f"{found.expected:,.0f} of {best.known} right; expect" in found.advice


def test_methods_that_learn_from_gold_are_scored_on_items_they_were_not_shown():
    # Nobody knows anything: the votes are noise, and only who has seen the answers can be right.
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 400)
    votes = Votes.from_dense(rng.integers(0, 2, (400, 21)), CROWD)
    found = compare(votes, dict(enumerate(truth.tolist())))
    for score in found.scores:
        assert score.share < 0.6
        assert score.held_out == (score.method in ("learned", "em", "dawid-skene"))


def test_shares_and_intervals_are_those_of_the_labels():
    votes, gold = crowd(200)
    score = {one.method: one for one in compare(votes, gold, methods=["likelihood"]).scores}["likelihood"]
    labels = decode(votes, method="likelihood")
    assert score.right == sum(labels.value[n] == k for n, k in gold.items())
    assert score.low < score.share < score.high


def test_an_open_item_counts_as_a_fair_draw():
    # Three know both classes; item 0 is a tie of one to one, item 1 is clear, item 2 has no vote.
    votes = Votes.from_dense([[0, 1, -1], [1, 1, 0], [-1, -1, -1]], Panel(2, np.ones((3, 2))))
    found = compare(votes, {0: 0, 1: 1, 2: 0}, methods=["majority"])
    score = {one.method: one for one in found.scores}["majority"]
    assert (score.right, score.open) == (1.5, 2)


@dataclass(frozen=True)
class LastAnswer(Decoder):
    """The answer of the last expert."""

    def score(self, votes, weights, evidence=True):
        last = votes.dense[:, -1:]
        return labels_from_scores(votes, last == np.arange(len(votes.panel.classes)), evidence)


def test_a_decoder_of_your_own_is_compared_by_the_name_of_its_class():
    votes, gold = crowd(200)
    found = compare(votes, gold, methods=[LastAnswer(), "majority"])
    score = {one.method: one for one in found.scores}
    assert set(score) == {"LastAnswer", "majority", "learned"}
    assert score["LastAnswer"].right == sum(votes.dense[n, -1] == k for n, k in gold.items())
    with pytest.raises(CovoteError, match="two of the methods are called LastAnswer"):
        compare(votes, gold, methods=[LastAnswer(), LastAnswer()])
    with pytest.raises(CovoteError, match="give an object of it"):
        compare(votes, gold, methods=[LastAnswer])


def test_a_method_that_cannot_learn_says_why(monkeypatch):
    monkeypatch.setattr("covote.decoding.statistics.DENSE", 100)
    panel = Panel(30, [[1] * 30])
    votes = Votes.from_dense(np.arange(10)[:, None], panel)
    found = compare(votes, {n: n for n in range(10)}, methods=["learned", "dawid-skene"])
    assert "use method 'em'" in {one.method: one for one in found.scores}["dawid-skene"].note
    with pytest.raises(CovoteError, match="no gold items"):
        compare(votes, {})


def test_an_explanation_names_who_must_be_wrong():
    panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1], [0, 1, 1]], ["a", "b", "c", "d"])
    votes = Votes.from_dense([[0, 1, 0, 2], [0, 2, -1, -2]], panel, items=["x", "y"])
    found = explain(votes, "x")
    sides = {one.name: one for one in found.candidates}
    assert found.label == "cat"
    assert sides["cat"].named_by == ("a", "c")
    assert sides["cat"].contradicted_by == ()
    assert set(sides["dog"].contradicted_by) == {("a", "cat"), ("d", "fox")}
    for one in found.candidates:
        knows = panel.knows[:, panel.class_index(one.name)]
        assert len(one.named_by) + len(one.contradicted_by) + one.unanswered == knows.sum()
    assert found.wrong == ()
    other = explain(votes, "y", decode(votes, method="authority"))
    assert ("d", None) in {answer for one in other.candidates for answer in one.contradicted_by}
    assert "none of mine" in str(other)
    with pytest.raises(CovoteError, match="no item 'z'"):
        explain(votes, "z")


def test_commands_say_the_same(tmp_path):
    votes, gold = crowd(80)
    votes.panel.save(tmp_path / "panel.toml")
    rows = "".join(
        f"{n},{name},{v}\n"
        for n, row in enumerate(votes.dense)
        for name, v in zip(CROWD.names, row, strict=True)
    )
    (tmp_path / "votes.csv").write_text("item,expert,label\n" + rows)
    (tmp_path / "gold.csv").write_text("item,label\n" + "".join(f"{n},{k}\n" for n, k in gold.items()))

    def run(*words):
        command = [sys.executable, "-m", "covote", *words, "--json"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    found = run("compare", "votes.csv", "--panel", "panel.toml", "--gold", "gold.csv")
    expected = compare(votes, gold)
    assert found["use"] == expected.best
    assert [row["right"] for row in found["methods"]] == [score.right for score in expected.scores]
    told = run("explain", "votes.csv", "7", "--panel", "panel.toml")
    here = explain(votes, 7)
    assert told["label"] == here.label
    assert [one["named_by"] for one in told["candidates"]] == [list(one.named_by) for one in here.candidates]
