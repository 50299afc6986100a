"""Files of votes: what they may look like, and what is counted."""

import datetime
import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covote import Panel, Votes, decode, simulate
from covote.errors import FileError, InputError
from covote.files import Outcome, VoteFile, decode_file, read_gold
from covote.labels import STATUSES
from covote.tables.writing import open_writer
from covote.votes import NOT_ASKED
from tests.methods import LEARNING, PLAIN

PANEL = Panel.from_blocks(
    ["ant", "bee", "cow", "dog", "elk"],
    [["ant", "bee", "cow"], ["ant", "dog", "elk"], ["bee", "cow", "dog"], ["bee", "cow", "elk"]],
)


def votes(size=3000, **model):
    truth = np.random.default_rng(0).integers(0, 5, size)
    return simulate(PANEL, truth, **{"accuracy": 0.9, "missing": 0.1, "none_rate": 0.1, "seed": 1, **model})


def same(one, two):
    one, two = one.sort_by("item").to_pylist(), two.sort_by("item").to_pylist()
    return [repr(row) for row in one] == [repr(row) for row in two]


@pytest.mark.parametrize("method", PLAIN)
@pytest.mark.parametrize("shape", ["long", "wide"])
def test_decoders_that_learn_give_the_labels_they_give_in_memory(tmp_path, method, shape):
    whole = votes()
    pq.write_table(whole.to_arrow(shape), tmp_path / "votes.parquet", row_group_size=500)
    outcome = decode_file(tmp_path / "votes.parquet", tmp_path / "labels.parquet", PANEL, method=method)
    assert same(pq.read_table(tmp_path / "labels.parquet"), decode(whole, method=method).to_arrow())
    assert (outcome.statistics is None) == (method not in LEARNING)


@pytest.mark.parametrize("column", ["probability", "probabilities"])
@pytest.mark.parametrize("kind", ["parquet", "jsonl"])
def test_probabilities_travel_with_the_votes(tmp_path, column, kind):
    rng = np.random.default_rng(0)
    matrix = simulate(PANEL, np.arange(60) % 5).dense
    soft = rng.random((60, 4))
    if column == "probabilities":
        # What an expert answers is its most probable class.
        soft = rng.random((60, 4, 5)) * PANEL.knows
        soft[*np.indices((60, 4)), matrix] += 1
        soft /= soft.sum(axis=2, keepdims=True)
    whole = Votes.from_dense(matrix, PANEL, probabilities=soft.astype(np.float32))
    table = whole.to_arrow("long")
    table = table.take(rng.permutation(table.num_rows))
    path = tmp_path / f"votes.{kind}"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=37)
    else:
        path.write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    read = VoteFile(path, PANEL).read().to_dense()
    read = read[np.argsort(read.items)]
    assert (read.dense == matrix).all()
    expected = whole.vote_probability if column == "probability" else whole.class_probability
    found = read.vote_probability if column == "probability" else read.class_probability
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    decode_file(path, tmp_path / "labels.parquet", PANEL)
    assert (
        pq.read_table(tmp_path / "labels.parquet").sort_by("item").column("label").to_pylist()
        == decode(whole).value.tolist()
    )


@pytest.mark.parametrize(
    "ids",
    [
        [datetime.date(2026, 1, day) for day in (3, 1, 2)],
        [datetime.datetime(2026, 1, 1, hour, tzinfo=datetime.UTC) for hour in (5, 4, 6)],
        [1.5, -2.0, 0.25],
        ["Zoë", "007", "7"],
        [2**62, -5, 0],
    ],
    ids=lambda ids: type(ids[0]).__name__,
)
@pytest.mark.parametrize("shape", ["long", "wide"])
def test_items_of_any_type_come_back(tmp_path, ids, shape):
    matrix = simulate(PANEL, [0, 1, 2]).dense
    names = np.array([*PANEL.classes])[matrix]
    if shape == "wide":
        table = pa.table({"item": ids, **{name: names[:, i] for i, name in enumerate(PANEL.names)}})
    else:
        items = [item for item in ids for _ in PANEL.names]
        table = pa.table({"item": items, "expert": list(PANEL.names) * 3, "label": names.ravel()})
    pq.write_table(table, tmp_path / "votes.parquet")
    decode_file(tmp_path / "votes.parquet", tmp_path / "labels.parquet", PANEL)
    labels = pq.read_table(tmp_path / "labels.parquet").to_pylist()
    assert {row["item"]: row["label"] for row in labels} == dict(zip(ids, PANEL.classes[:3], strict=True))


def test_compressed_text_and_tabs(tmp_path):
    text = "item\texpert\tlabel\n1\texpert-1\tant\n"
    (tmp_path / "votes.tsv").write_text(text)
    with gzip.open(tmp_path / "votes.tsv.gz", "wt") as file:
        file.write(text)
    with gzip.open(tmp_path / "votes.csv.gz", "wt") as file:
        file.write(text.replace("\t", ","))
    for name in ("votes.tsv", "votes.tsv.gz", "votes.csv.gz"):
        assert VoteFile(tmp_path / name, PANEL).read().dense.tolist() == [[0, -1, -1, -1]]


def test_integers_until_a_later_row_says_otherwise(tmp_path, monkeypatch):
    monkeypatch.setattr("covote.tables.table_file._BLOCK", 1 << 12)
    rows = [f"{n},expert-1,ant" for n in range(2000)] + ["007,expert-1,bee"]
    (tmp_path / "votes.csv").write_text("\n".join(["item,expert,label", *rows]))
    items = VoteFile(tmp_path / "votes.csv", PANEL).read().items
    assert len(items) == 2001
    assert {"7", "007", "1999"} <= set(items)


def test_many_experts_few_answers_stay_ragged(tmp_path):
    rng = np.random.default_rng(0)
    knows = rng.random((300, 200)) < 0.1
    knows[:, 0] = True
    panel = Panel(200, knows)
    whole = simulate(panel, rng.integers(0, 200, 400), missing=0.97).to_ragged()
    pq.write_table(whole.to_arrow("long"), tmp_path / "votes.parquet")
    read = VoteFile(tmp_path / "votes.parquet", panel).read()
    assert not read.is_dense
    heard = np.flatnonzero((whole.dense != NOT_ASKED).any(axis=1))
    assert read.items.tolist() == heard.tolist()
    assert (read.dense == whole.dense[heard]).all()
    decode_file(tmp_path / "votes.parquet", tmp_path / "labels.parquet", panel, method="authority")
    expected = decode(whole.subset(heard), method="authority").to_arrow()
    assert same(pq.read_table(tmp_path / "labels.parquet"), expected)


# What is counted


@pytest.mark.parametrize("layout", ["dense", "ragged", "file"])
def test_the_outcome_counts_what_there_is(tmp_path, layout):
    whole = votes(500, accuracy=0.6)
    labels = decode(whole, method="authority")
    if layout == "file":
        pq.write_table(whole.to_arrow("wide"), tmp_path / "votes.parquet")
        outcome = decode_file(tmp_path / "votes.parquet", None, PANEL, method="authority")
    else:
        outcome = Outcome(whole if layout == "dense" else whole.to_ragged(), labels)
    head = outcome.review_head
    assert (outcome.items, outcome.answers.sum(), outcome.votes.answers) == (
        500,
        whole.answers,
        whole.answers,
    )
    assert dict(zip(STATUSES, outcome.statuses.tolist(), strict=True)) == labels.count()
    assert outcome.classes.tolist() == [int((labels.index == k).sum()) for k in range(5)]
    assert outcome.unlabelled == (labels.index < 0).sum()
    assert outcome.confidence.sum() == np.isfinite(labels.confidence).sum()
    assert outcome.violations.tolist() == np.bincount(labels.violations).tolist()
    number = (whole.dense != NOT_ASKED).sum(axis=1)
    assert outcome.answers_per_item.tolist() == np.bincount(number).tolist()
    assert outcome.unsure == (labels.status != "agreed").sum()
    assert len(head) == 25
    for look in head:
        assert labels.value[look.item] == look.label
        assert len(look.answers) == (whole.dense[look.item] != NOT_ASKED).sum()


# Panels read off the votes, gold, writing


@pytest.mark.parametrize("shape", ["long", "wide"])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_who_answers_what_is_read_off_the_votes(tmp_path, shape, kind):
    table = votes(2000).to_arrow(shape)
    path = tmp_path / f"votes.{kind}"
    if kind == "csv":
        from pyarrow import csv

        csv.write_csv(table, path)
    else:
        pq.write_table(table, path)
    assert VoteFile(path, "infer").panel == PANEL


def test_inferred_names_are_integers_only_if_all_are(tmp_path):
    (tmp_path / "a.csv").write_text("item,expert,label\n1,expert-10,10\n1,expert-9,9\n")
    panel = VoteFile(tmp_path / "a.csv", "infer").panel
    assert panel.classes == (9, 10)
    assert panel.names == ("expert-9", "expert-10")
    (tmp_path / "b.csv").write_text("item,expert,label\n1,1,x\n1,2,07\n1,2,none of mine\n")
    assert VoteFile(tmp_path / "b.csv", "infer").panel.classes == ("07", "x")
    (tmp_path / "c.csv").write_text("item,expert,label\n1,1,\n")
    with pytest.raises(InputError, match="no expert ever answered"):
        VoteFile(tmp_path / "c.csv", "infer")


def test_gold_is_checked(tmp_path):
    path = tmp_path / "gold.csv"
    path.write_text("task,label\n1,ant\n2,bee\n2,bee\n")
    assert read_gold(path, PANEL) == {1: "ant", 2: "bee"}
    for text, words in (
        ("item,label\n1,fox\n", "row 2: 'fox' is not a class"),
        ("item,label\n1,ant\n1,bee\n", "row 3: item 1 is 'bee' here and 'ant' before"),
        ("item,label\n1,\n", "no rows with a label"),
        ("item,thing,note\n1,ant,x\n", "not clear which"),
        ("item,label\n", "no rows"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            read_gold(path, PANEL)


def test_statistics_can_be_saved_and_continued(tmp_path):
    whole = votes(2000)
    for name, part in (("one", whole.part(0, 900)), ("two", whole.part(900, 2000)), ("all", whole)):
        pq.write_table(part.to_arrow("wide"), tmp_path / f"{name}.parquet")
    one = decode_file(tmp_path / "one.parquet", None, PANEL, method="learned").statistics
    two = decode_file(tmp_path / "two.parquet", None, PANEL, method="learned", past=one).statistics
    everything = decode_file(tmp_path / "all.parquet", None, PANEL, method="learned").statistics
    assert two.items == everything.items == 2000
    near = np.abs(two.share - everything.share).sum() / everything.share.sum()
    assert near < 0.02  # the first 900 items keep their labels of the first day


def test_a_failed_write_leaves_the_old_file(tmp_path):
    target = tmp_path / "labels.parquet"
    target.write_text("old")
    labels = decode(votes(10))

    def fail():
        with open_writer(target) as writer:
            writer.write_batch(labels.to_arrow().to_batches()[0])
            raise OSError(28, "No space left on device")

    with pytest.raises(FileError, match="No space left on device"):
        fail()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["labels.parquet"]


def test_the_written_file_has_ordinary_permissions_and_replaces_through_links(tmp_path):
    (tmp_path / "real.csv").write_text("old")
    (tmp_path / "link.csv").symlink_to("real.csv")
    with open_writer(tmp_path / "link.csv") as writer:
        writer.write_batch(decode(votes(10)).to_arrow().to_batches()[0])
    (tmp_path / "plain").write_text("")
    assert (tmp_path / "link.csv").is_symlink()
    assert (tmp_path / "real.csv").read_text().startswith("item,label,")
    assert (tmp_path / "real.csv").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_an_item_of_blanks_alone_is_none(tmp_path, shape):
    long = "item,expert,label\n a,expert-1,ant\n  ,expert-1,ant\nb,expert-2,dog\n"
    wide = "item,expert-1,expert-2\n a,ant,\n  ,ant,\nb,,dog\n"
    (tmp_path / "votes.csv").write_text(long if shape == "long" else wide)
    with pytest.raises(InputError, match="row 3: no item"):
        decode_file(tmp_path / "votes.csv", tmp_path / "labels.csv", PANEL)


def test_whoever_examines_a_file_hears_which_names_match_loosely(tmp_path):
    (tmp_path / "votes.csv").write_text("item,expert,label\n1,EXPERT-1,Ant\n")
    file = VoteFile(tmp_path / "votes.csv", PANEL)
    file.examine()
    assert file.problems.problems == []
    assert "'Ant' as 'ant'" in file.notes()[-1]


def test_panel_and_gold_may_be_files(tmp_path):
    whole = votes(300, accuracy=0.8)
    pq.write_table(whole.to_arrow("long"), tmp_path / "votes.parquet")
    PANEL.save(tmp_path / "panel.toml")
    (tmp_path / "gold.csv").write_text(
        "item,label\n" + "".join(f"{n},{PANEL.classes[0]}\n" for n in range(9))
    )
    gold = dict.fromkeys(range(9), PANEL.classes[0])
    decode_file(tmp_path / "votes.parquet", tmp_path / "a.csv", PANEL, gold=gold)
    path = tmp_path / "panel.toml"
    decode_file(tmp_path / "votes.parquet", tmp_path / "b.csv", path, gold=tmp_path / "gold.csv")
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert len(decode_file(tmp_path / "votes.parquet", None, "infer").panel) == len(PANEL)


def test_an_expert_without_answers_is_the_first_note(tmp_path):
    dense = votes(50).dense.copy()
    dense[:, 1] = NOT_ASKED
    pq.write_table(Votes.from_dense(dense, PANEL).to_arrow("long"), tmp_path / "votes.parquet")
    outcome = decode_file(tmp_path / "votes.parquet", None, PANEL)
    assert outcome.warnings()[0].startswith(f"no answer from {PANEL.names[1]} was counted")
