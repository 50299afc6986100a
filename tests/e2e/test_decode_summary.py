"""What `covote decode` says about the labels: majority, answers per item, expected errors, gold."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from covote import Panel, Votes, compare, decode, simulate
from covote.decoding import InMemory, make
from covote.decoding.comparing import better_than_default
from covote.decoding.loop import fit

PANEL = Panel.from_blocks(7, [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]])


@pytest.fixture
def shared_mistakes(tmp_path):
    """Votes whose confidence is too high: outside what they know, all experts give the same answer."""
    truth = np.random.default_rng(0).integers(0, 7, 600)
    votes = simulate(PANEL, truth, accuracy=0.9, noise="similar", missing=0.3, seed=1)
    PANEL.save(tmp_path / "panel.json")
    pq.write_table(votes.to_arrow("wide"), tmp_path / "votes.parquet")
    return votes, truth


def summary(covote, *options):
    ran = covote("decode", "votes.parquet", "--panel", "panel.json", *options, "--json")
    assert ran.status == 0, ran.err
    return json.loads(ran.out)


def test_the_summary_holds_the_labels_against_a_majority_vote(covote, shared_mistakes):
    votes, _ = shared_mistakes
    labels = decode(votes)
    differ = 0
    for row, label in zip(votes.dense, labels.index, strict=True):
        counts = np.bincount(row[row >= 0], minlength=7)
        best = np.flatnonzero(counts == counts.max())
        differ += len(best) == 1 and counts.max() > 0 and label >= 0 and best[0] != label
    assert summary(covote)["otherwise_by_majority"] == differ > 0
    out = covote("decode", "votes.parquet", "--panel", "panel.json").out
    assert f"A majority vote would label {differ} items differently." in out
    number = (votes.dense != -1).sum(axis=1)
    assert f"({number.mean():.1f} per item, {number.min()} to {number.max()})" in out
    assert "majority vote would" not in covote(
        "decode", "votes.parquet", "--panel", "panel.json", "--method", "majority"
    ).out  # fmt: skip


def test_gold_items_that_refute_the_expected_errors_correct_them(covote, tmp_path):
    """Likelihood believes that experts guess at random; here all who do not know a class err alike."""
    rng = np.random.default_rng(0)
    knows = rng.random((12, 6)) < 0.4
    knows[np.arange(12), rng.integers(0, 6, 12)] = True
    panel = Panel(6, knows)
    truth = rng.integers(0, 6, 800)
    favourite = rng.permutation(6)
    rows = np.full((800, 12), -1)
    for i in range(12):
        known = np.flatnonzero(knows[i])
        wrong = known[np.argmin(favourite[known])]
        rows[:, i] = np.where(knows[i, truth], truth, wrong)
    rows[rng.random(rows.shape) < 0.6] = -1
    votes = Votes.from_dense(rows, panel)
    panel.save(tmp_path / "panel.json")
    pq.write_table(votes.to_arrow("wide"), tmp_path / "votes.parquet")
    (tmp_path / "gold.csv").write_text(
        "item,label\n" + "".join(f"{n},{truth[n]}\n" for n in range(0, 800, 4)), encoding="utf-8"
    )
    plain = summary(covote, "--method", "likelihood")
    known = summary(covote, "--method", "likelihood", "--gold", "gold.csv")
    index = decode(votes, method="likelihood").index
    wrong = (index >= 0) & (index != truth)
    assert known["gold"]["refutes"]
    before, after = (found["review"]["expected_wrong"] for found in (plain, known))
    assert before < 0.7 * wrong.sum()  # far too sure
    rest = np.delete(wrong, slice(0, 800, 4)).sum()
    assert abs(after - rest) < 0.25 * rest
    out = covote(
        "decode", "votes.parquet", "--panel", "panel.json", "--method", "likelihood", "--gold", "gold.csv"
    ).out
    assert "which these items refute" in out


def test_gold_items_show_that_another_method_is_better():
    """Few answers: the only expert for a class outvotes three of four for another, so the vote loses."""
    rng = np.random.default_rng(0)
    panel = Panel(20, rng.random((30, 20)) < 0.4)
    truth = rng.integers(0, 20, 1500)
    votes = simulate(panel, truth, accuracy=0.8, none_rate=(0.0, 0.5), missing=0.75, seed=1)
    gold = dict(enumerate(truth[:200].tolist()))

    def advice(method):
        return better_than_default(votes, gold, fit(InMemory(votes), make(method, {})))

    scores = compare(votes, gold, methods=["authority", "em"]).scores
    right = {score.method: score.right for score in scores}
    more = f"{right['em'] - right['authority']:,.0f}"
    assert advice("authority").startswith(f"Method em labels {more} more of 200 gold items right (p = ")
    assert advice("em") == ""


def test_the_default_is_held_against_the_others_where_there_is_gold(covote, shared_mistakes, tmp_path):
    _, truth = shared_mistakes
    (tmp_path / "gold.csv").write_text(
        "item,label\n" + "".join(f"{n},{k}\n" for n, k in enumerate(truth[:9]))
    )
    assert summary(covote)["better"] is None
    assert summary(covote, "--gold", "gold.csv")["better"] is None  # nine items prove nothing


def test_few_labels_in_doubt_ask_for_no_gold(covote, tmp_path):
    truth = np.arange(200) % 7
    votes = simulate(PANEL, truth, seed=0)
    PANEL.save(tmp_path / "panel.json")
    pq.write_table(votes.to_arrow("wide"), tmp_path / "votes.parquet")
    out = covote("decode", "votes.parquet", "--panel", "panel.json").out
    assert "gold items per class" not in out
