"""The review list: its order, what it promises, and what is in the file; each against a plain count."""

import csv
from dataclasses import replace

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import pytest

from covote import Panel, Votes, decode
from covote.errors import InputError
from covote.files import Outcome, Output, decode_file
from covote.files.review import error_probabilities, first_items, most_doubtful

PANEL = Panel.from_blocks(
    ["a", "b", "c", "d"], [["a", "b"], ["b", "c"], ["a", "c"], ["a", "d"], ["b", "d"], ["c", "d"]] * 2
)


def some_votes(items, seed=0):
    random = np.random.default_rng(seed)
    truth = random.integers(0, 4, items)
    dense = np.array(
        [
            [k if PANEL.knows[i, k] else random.choice(np.flatnonzero(PANEL.knows[i])) for i in range(12)]
            for k in truth
        ]
    )
    wrong = random.random(dense.shape) < 0.25
    dense[wrong] = [random.choice(np.flatnonzero(PANEL.knows[i])) for i in np.nonzero(wrong)[1]]
    dense[random.random(dense.shape) < 0.4] = -1
    return Votes.from_dense(dense, PANEL, items=[f"item, {n:03}" for n in range(items)])


def in_order(labels):
    """Return the items in the order of the list, found by sorting tuples."""
    key = [
        (label >= 0, confidence, margin if margin == margin else 0, -violations, n)
        for n, (label, confidence, margin, violations) in enumerate(
            zip(labels.index, labels.confidence, labels.margin, labels.violations, strict=True)
        )
    ]
    return [entry[-1] for entry in sorted(key)]


@pytest.fixture(scope="module")
def votes():
    return some_votes(600)


@pytest.fixture(scope="module")
def labels(votes):
    found = decode(votes, method="likelihood")
    assert np.isfinite(found.confidence[found.index >= 0]).all()
    return found


def test_the_least_likely_label_comes_first_and_items_without_one_before_all(labels):
    evidence = labels.evidence._replace(confidence=np.nan_to_num(labels.confidence, nan=0.5))
    sure = replace(labels, evidence_or_none=evidence)
    found = most_doubtful(error_probabilities(sure), evidence.margin, evidence.violations)
    assert found.tolist() == in_order(sure)
    assert (
        most_doubtful(error_probabilities(sure), evidence.margin, evidence.violations, 30).tolist()
        == in_order(sure)[:30]
    )


def test_the_first_items_are_those_that_come_first(votes, labels):
    assert [one.item for one in first_items(votes, labels, 10)] == labels.items[
        in_order(labels)[:10]
    ].tolist()


def test_expected_errors_are_the_sum_of_what_confidence_leaves(votes, labels):
    doubt = Outcome(votes, labels).expected_errors
    has = labels.index >= 0
    wrong = np.sort(1 - labels.confidence[has].astype(float))[::-1]
    assert (doubt.items, doubt.open) == (600, (~has).sum())
    assert doubt.expected == pytest.approx(wrong.sum(), abs=1e-3)
    for first in (1, 10, 57, 300, 600):
        labelled = max(0, first - doubt.open)
        expected = min(first, doubt.open) + wrong[:labelled].sum()
        assert doubt.among(first) == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("right", [0.5, 0.9, 0.95, 0.99, 0.999, 1.0])
def test_as_many_items_are_to_be_looked_at_as_make_the_rest_right_enough(votes, labels, right):
    doubt = Outcome(votes, labels).expected_errors
    wrong = np.where(labels.index < 0, 1.0, 1 - labels.confidence.astype(float))
    wrong = np.concatenate([[0], np.cumsum(np.sort(wrong)[::-1])])
    expected = int(np.argmax(wrong[-1] - wrong <= (1 - right) * 600 + 1e-6))
    assert abs(doubt.needed(right) - expected) <= max(1, 0.01 * expected)
    looked, share = doubt.curve()
    assert share[-1] == pytest.approx(1)
    assert (np.diff(share) >= 0).all()
    assert looked[-1] == 600


def test_expected_errors_are_the_same_to_the_last_digit_in_any_order(votes, labels):
    order = np.random.default_rng(0).permutation(600)
    one, other = (Outcome(votes, some).expected_errors for some in (labels, labels[order]))
    assert (one.count.tolist(), one.wrong.tolist()) == (other.count.tolist(), other.wrong.tolist())


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx"])
def test_the_file_lists_every_item_in_that_order(tmp_path, votes, labels, ending):
    pq.write_table(votes.to_arrow("long"), tmp_path / "votes.parquet")
    path = tmp_path / f"review.{ending}"
    decode_file(tmp_path / "votes.parquet", Output(review=path), PANEL, method="likelihood")
    order = [labels.items[n] for n in in_order(labels)]
    if ending == "csv":
        with path.open(encoding="utf-8", newline="") as opened:
            rows = list(csv.DictReader(opened))
        assert rows[0]["label"] == ""
        place = {item: n for n, item in enumerate(labels.items.tolist())}
        for row in rows[:50]:
            n = place[row["item"]]
            said = [f"{PANEL.names[i]}: {PANEL.classes[v]}" for i, v in enumerate(votes.dense[n]) if v >= 0]
            assert row["answers"] == "; ".join(said)
            assert row["suggested"] == (labels.value[n] or "")
            assert row["status"] == labels.status[n]
    elif ending == "parquet":
        rows = pq.read_table(path).to_pylist()
    else:
        head, *cells = openpyxl.load_workbook(path).active.iter_rows(values_only=True)
        rows = [dict(zip(head, row, strict=True)) for row in cells]
    assert sorted(row["item"] for row in rows) == sorted(order)
    has = [row["item"] for row in rows]
    assert has[:200] == order[:200]


def test_the_list_ends_where_enough_is_right(tmp_path, votes):
    pq.write_table(votes.to_arrow("long"), tmp_path / "votes.parquet")
    files = Output(review=tmp_path / "review.csv", review_until=0.97)
    outcome = decode_file(tmp_path / "votes.parquet", files, PANEL, method="likelihood")
    rows = (tmp_path / "review.csv").read_text().splitlines()[1:]
    assert 0 < len(rows) == outcome.expected_errors.needed(0.97) < 600


@pytest.mark.parametrize("until", [0, -1, 1.5])
def test_a_share_that_is_none_is_rejected(tmp_path, until):
    with pytest.raises(InputError, match="above 0 and at most 1"):
        Output(review=tmp_path / "review.csv", review_until=until).check()
    with pytest.raises(InputError, match="needs a review file"):
        Output(review_until=0.9).check()


def test_a_spreadsheet_has_a_column_for_each_expert_and_probabilities_of_the_candidates(tmp_path, votes):
    found = decode(votes, proba=True)
    pq.write_table(votes.to_arrow("long"), tmp_path / "votes.parquet")
    decode_file(tmp_path / "votes.parquet", Output(review=tmp_path / "review.xlsx"), PANEL)
    head, *rows = openpyxl.load_workbook(tmp_path / "review.xlsx").active.iter_rows(values_only=True)
    assert head[6:] == PANEL.names
    place = {item: n for n, item in enumerate(found.items.tolist())}
    for row in rows:
        n = place[row[0]]
        said = [None if code < 0 else PANEL.classes[code] for code in votes.dense[n].tolist()]
        assert list(row[6:]) == said
        for candidate in row[3].split(" | "):
            name, percent = candidate.rsplit(" ", 1)
            share = float(found.proba[n, PANEL.classes.index(name)])
            assert float(percent.rstrip("%")) == pytest.approx(100 * share, abs=1)


def test_many_experts_share_one_column(tmp_path):
    panel = Panel(["a", "b"], [[1, 1]] * 61)
    votes = Votes.from_dense(np.zeros((3, 61), int), panel)
    pq.write_table(votes.to_arrow("long"), tmp_path / "votes.parquet")
    decode_file(tmp_path / "votes.parquet", Output(review=tmp_path / "review.xlsx"), panel, method="majority")
    head, *rows = openpyxl.load_workbook(tmp_path / "review.xlsx").active.iter_rows(values_only=True)
    assert head[6:] == ("answers",)
    assert rows[0][6].count(";") == 60
