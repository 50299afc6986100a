"""What votes tell about experts: compared with labels that do not depend on the expert's own answer."""

import json
import re
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from covote import Panel, Votes, simulate
from covote.cli.app import app
from covote.decoding import expert_report, pair_agreement
from covote.errors import TooLargeError
from tests.unit.decoding.test_estimators import crowd


def test_the_report_says_who_is_good_and_how_sure_that_is():
    votes, truth = crowd(1000)
    report = expert_report(votes, gold=truth)
    share = (votes.dense == truth[:, None]).mean(axis=0)
    np.testing.assert_allclose(report.accuracy, share, atol=1e-9)
    assert ((report.low < share) & (share < report.high)).all()
    assert (report.high - report.low < 0.07).all()
    assert (report.outside == 0).all()
    table = report.to_pandas()
    assert (table.loc[list(votes.panel.names), "agrees_with_label"] == report.accuracy).all()
    assert table.at_least.is_monotonic_decreasing
    assert table.index[table.possibly_unreliable].tolist() == sorted(
        report.unreliable(), key=table.index.get_loc
    )
    best, *_, worst = str(report).splitlines()[1:]
    assert best.startswith(table.index[0])
    assert worst.startswith(table.index[-1])


NOBODY, NONE = -1, -2


def plain_label(row, knows):
    """Return the one class with the largest share of votes among the authorities that answered, or None."""
    answers = [(i, v) for i, v in enumerate(row) if v != NOBODY]
    share = {}
    for k in range(knows.shape[1]):
        asked = [v for i, v in answers if knows[i, k]]
        if k in asked:
            share[k] = Fraction(asked.count(k), len(asked))
    best = [k for k in share if share[k] == max(share.values())]
    return best[0] if len(best) == 1 else None


def plain_counts(matrix, knows, truth):
    """Count per expert and per pair of classes, with dictionaries; `truth` is {row: class}."""
    found, agree, differ = Counter(), Counter(), Counter()
    for n, row in enumerate(matrix):
        for i, v in enumerate(row):
            if v == NOBODY:
                continue
            found["none", i] += v == NONE
            without = [NOBODY if e == i else answer for e, answer in enumerate(row)]
            label = truth.get(n, plain_label(row, knows))
            if label is None or (n not in truth and plain_label(without, knows) != label):
                continue
            found["inside" if knows[i, label] else "outside", i] += 1
            if knows[i, label]:
                found["right", i] += v == label
                for j in np.flatnonzero(knows[i]).tolist():
                    if v == label and j != label:
                        agree[frozenset((label, j))] += 1
                    elif v == j:
                        differ[frozenset((label, j))] += 1
    return found, agree, differ


def partial_votes(items=400, seed=0):
    panel = Panel.from_blocks(list("abcde"), ["abc", "cde", "ade", "bd", "be", "abcde"])
    truth = np.random.default_rng(seed).integers(0, 5, items)
    votes = simulate(panel, truth, accuracy=[0.9, 0.6, 0.8, 0.9, 0.4, 0.7], missing=0.2, none_rate=0.1)
    return votes, truth


@pytest.mark.parametrize("layout", ["dense", "ragged"])
@pytest.mark.parametrize("known", [0, 50])
def test_answers_are_compared_with_labels_that_do_not_depend_on_them(layout, known):
    votes, truth = partial_votes()
    gold = {n: votes.panel.classes[truth[n]] for n in range(known)}
    expected, agree, differ = plain_counts(
        votes.dense.tolist(), votes.panel.knows, dict(enumerate(truth[:known].tolist()))
    )
    votes = votes if layout == "dense" else votes.to_ragged()
    report = expert_report(votes, gold=gold or None)
    experts = range(len(votes.panel))
    for name in ("inside", "outside", "none"):
        assert getattr(report, name).tolist() == [expected[name, i] for i in experts]
    assert report.accuracy.tolist() == [expected["right", i] / expected["inside", i] for i in experts]
    pairs = pair_agreement(votes, gold=gold or None)
    for k in range(5):
        for j in range(k):
            both = frozenset((k, j))
            assert pairs.agree[k, j] == pairs.agree[j, k] == agree[both]
            assert pairs.both[k, j] == pairs.both[j, k] == agree[both] + differ[both]


def test_every_way_tells_the_same_numbers(tmp_path):
    votes, _ = partial_votes(3000)
    votes.panel.save(tmp_path / "panel.toml")
    pq.write_table(votes.to_arrow("long"), tmp_path / "votes.parquet")
    report = expert_report(votes)
    words = ["decode", f"{tmp_path}/votes.parquet", "--panel", f"{tmp_path}/panel.toml"]
    for method in ("learned", "em"):
        told = CliRunner().invoke(app, [*words, "--method", method, "--json"])
        experts = json.loads(told.output)["experts"]
        assert [one["agreement"] for one in experts] == report.accuracy.tolist()
        assert [one["low"] for one in experts] == report.low.tolist()
        assert [one["inside"] for one in experts] == report.inside.tolist()
        assert json.loads(told.output)["unreliable"] == report.unreliable() != []
    told = CliRunner().invoke(app, [*words, "--report", f"{tmp_path}/report.html"])
    doubtful = {name: report.accuracy[votes.panel.expert_index(name)] for name in report.unreliable()}
    assert "Possibly unreliable" in told.output
    for name, rate in doubtful.items():
        alone = f"{name}, who agrees with the label in {rate:.0%} of the cases in their field"
        assert (alone if len(doubtful) == 1 else f"{name} {rate:.0%}") in told.output
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for name, rate in zip(votes.panel.names, report.accuracy, strict=True):
        row = re.search(rf"<tr[^>]*>\s*<td>{name}.*?</tr>", page, re.DOTALL)
        assert f"{rate:.1%}" in row.group()


def test_an_unreliable_expert_is_in_doubt_and_others_are_not():
    panel = Panel(4, np.ones((5, 4)))
    votes = simulate(panel, np.arange(2000) % 4, accuracy=[0.95, 0.95, 0.95, 0.95, 0.4])
    assert expert_report(votes).unreliable() == ["expert-5"]
    assert expert_report(votes.part(0, 0)).unreliable() == []


def test_who_decides_alone_does_not_seem_better_for_it():
    """Of three people, the worst names 56% of the labels: many of them its own. It is right in 45%."""
    votes = simulate(Panel(4, np.ones((3, 4))), np.arange(20_000) % 4, accuracy=[0.9, 0.7, 0.45])
    assert expert_report(votes).accuracy[2] == pytest.approx(0.45, abs=0.02)


def test_answers_outside_expertise_and_none_of_mine_are_counted():
    panel = Panel.from_blocks(3, [[0, 1], [0, 1], [1, 2], [0, 2], [0, 2]])
    votes = Votes.from_dense([[0, 0, 1, 0, 0], [1, 1, 1, 2, 0], [-2, 1, 2, 2, 2], [0, 0, -1, 0, 0]], panel)
    report = expert_report(votes)
    assert report.inside.tolist() == [3, 3, 2, 3, 3]
    assert report.outside.tolist() == [1, 1, 1, 1, 1]
    assert report.none.tolist() == [1, 0, 0, 0, 0]
    assert report.accuracy.tolist() == [1, 1, 1, 1, 1]


def test_an_expert_without_answers_is_unknown():
    panel = Panel(2, np.ones((2, 2), dtype=bool))
    report = expert_report(Votes.from_dense([[0, -1]], panel))
    assert np.isnan(report.accuracy[1])
    assert (report.low[1], report.high[1]) == (0, 1)


def test_perfect_partial_experts_agree_on_every_pair():
    panel = Panel.from_blocks(3, [[0, 1], [1, 2], [0, 2], [0, 1, 2], [0, 1, 2]])
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    guess = [rng.choice(np.flatnonzero(known), 300) for known in panel.knows]
    rows = np.where(panel.knows[:, truth], truth, guess).T
    agreement = pair_agreement(Votes.from_dense(rows, panel))
    off = ~np.eye(3, dtype=bool)
    assert (agreement.share[off] == 1).all()
    halves = [pair_agreement(Votes.from_dense(part, panel)) for part in (rows[:100], rows[100:])]
    assert (halves[0].both + halves[1].both == agreement.both).all()


def test_confused_classes_come_first():
    panel = Panel(["cat", "dog", "fox"], np.ones((3, 3), dtype=bool))
    votes = Votes.from_dense([[0, 0, 1]] * 6 + [[1, 1, 1]] * 3 + [[2, 2, 2]] * 5, panel)
    worst = pair_agreement(votes).worst(1)
    assert worst[0][:2] == ("cat", "dog")
    # Six cats of which the third expert says dog, where without either of the others it is a tie; three dogs.
    assert worst[0][2] == pytest.approx(9 / (9 + 6))
    with pytest.raises(TooLargeError):
        pair_agreement(Votes.from_dense([[0]], Panel(4000, np.ones((1, 4000), dtype=bool))))
