"""Votes.load reads what the streaming reader reads, whatever the format."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from covote import Panel, ReadOptions, Votes, simulate
from covote.errors import InputError, TooLargeError
from covote.files import VoteFile, decode_file
from covote.votes import vote_file

PANEL = Panel.from_blocks(["skin", "eye"], [["skin", "eye"], ["eye"]], ["ann", "bob"])
ROWS = {"item": [3, 1, 3, 2], "expert": ["ann", "ann", "bob", "bob"], "label": ["skin", "eye", "eye", "?"]}


def answers(votes):
    return {(row["item"], row["expert"], row["label"]) for row in votes.to_arrow().to_pylist()}


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_a_file_is_read_as_by_the_streaming_reader(tmp_path, kind):
    path = tmp_path / f"votes.{kind}"
    table = pa.table(ROWS)
    if kind == "csv":
        pyarrow.csv.write_csv(table, path)
    elif kind == "parquet":
        pq.write_table(table, path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    votes = Votes.load(path, PANEL)
    assert answers(votes) == {(3, "ann", "skin"), (1, "ann", "eye"), (3, "bob", "eye")}
    assert answers(VoteFile(path, PANEL).read()) == answers(votes)
    assert sorted(votes.items.tolist()) == [1, 2, 3]


def test_the_panel_may_be_a_file_or_nobody(tmp_path):
    path = tmp_path / "votes.csv"
    pyarrow.csv.write_csv(pa.table(ROWS), path)
    PANEL.save(tmp_path / "panel.toml")
    assert Votes.load(path, tmp_path / "panel.toml").panel == PANEL
    assert Votes.load(path).panel.classes == ("eye", "skin")


def test_how_it_is_read_is_said_as_for_a_table(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("item,expert,label\n1,ann,skin\n1,ann,eye\n")
    with pytest.raises(InputError, match=r"votes.csv, row 3: expert 'ann' answered 'eye'"):
        Votes.load(path, PANEL)
    assert answers(Votes.load(path, PANEL, duplicates="last")) == {(1, "ann", "eye")}
    assert answers(Votes.load(path, PANEL, ReadOptions(duplicates="first"))) == {(1, "ann", "skin")}
    with pytest.raises(TypeError, match="unexpected keyword 'duplicate'"):
        Votes.load(path, PANEL, duplicate="last")


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
def test_items_come_in_the_order_of_the_file_on_every_path(tmp_path, kind):
    path = tmp_path / f"votes.{kind}"
    table = pa.table({"item": list("baba"), "expert": ["ann", "ann", "bob", "bob"], "label": ["eye"] * 4})
    if kind == "csv":
        pyarrow.csv.write_csv(table, path)
    elif kind == "parquet":
        pq.write_table(table, path)
    else:
        path.write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    decode_file(path, tmp_path / "labels.csv", PANEL)
    written = pyarrow.csv.read_csv(tmp_path / "labels.csv").column("item").to_pylist()
    read = [Votes.load(path, PANEL), VoteFile(path, PANEL).read(), Votes.from_table(table, PANEL)]
    assert [votes.items.tolist() for votes in read] == [["b", "a"]] * 3
    assert written == ["b", "a"]


def test_wide_rows_of_one_item_are_merged_unless_they_contradict_each_other(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("item,ann,bob\na,skin,\nb,eye,eye\na,skin,eye\n")
    votes = Votes.load(path, PANEL)
    assert votes.items.tolist() == ["a", "b"]
    assert votes.dense.tolist() == [[0, 1], [1, 1]]
    path.write_text("item,ann,bob\na,skin,\nb,eye,eye\na,eye,eye\n")
    with pytest.raises(
        InputError, match=r"row 4: expert 'ann' answered 'eye' to item 'a', but 'skin' in row 2"
    ):
        Votes.load(path, PANEL)
    for keep, label in (("first", 0), ("last", 1)):
        assert Votes.load(path, PANEL, duplicates=keep).dense.tolist() == [[label, 1], [1, 1]]


def test_all_problems_are_known_after_one_pass(tmp_path):
    path = tmp_path / "votes.csv"
    rows = ["1,ann,skin", "1,ann,eye", "2,cy,eye", "3,bob,skin", "4,ann,lung", ",ann,eye"]
    path.write_text("\n".join(["item,expert,label", *rows]))
    file = VoteFile(path, PANEL)
    opened = file.source.batches
    passes = []
    file.source.batches = lambda *given, **more: passes.append(given) or opened(*given, **more)
    with pytest.raises(InputError) as caught:
        file.read()
    for words in ("'cy'", "'lung'", "'bob' said 'skin'", "row 3: expert 'ann'", "row 7: no item"):
        assert words in str(caught.value)
    assert len(passes) == 1


@pytest.mark.parametrize("kind", ["csv", "parquet", "csv.gz"])
def test_a_file_that_does_not_fit_into_memory_is_refused(tmp_path, monkeypatch, kind):
    path = tmp_path / f"votes.{kind}"
    rows = 1_200_000
    items = np.arange(rows) // 2
    table = pa.table({"item": items, "expert": ["ann", "bob"] * (rows // 2), "label": ["eye"] * rows})
    if kind == "parquet":
        pq.write_table(table, path)
    else:
        with pa.output_stream(str(path)) as file:
            pyarrow.csv.write_csv(table, file)
    assert len(Votes.load(path, PANEL)) == rows // 2
    monkeypatch.setattr(vote_file, "free_memory", lambda: 10_000_000)
    file = VoteFile(path, PANEL)
    with pytest.raises(TooLargeError) as caught:
        file.read()
    assert kind != "parquet" or file.source.done < file.source.total  # text is read ahead
    for words in (str(path), "0.01 GB are free", "--engine dask", "covote[dask]"):
        assert words in str(caught.value)
    monkeypatch.setattr(vote_file, "free_memory", lambda: None)
    assert len(Votes.load(path, PANEL)) == rows // 2


@pytest.mark.parametrize("kind", ["long", "shuffled", "wide"])
def test_a_vote_takes_less_than_thirty_bytes_while_it_is_read(tmp_path, kind):
    panel = Panel.from_blocks(["a", "b"], [["a", "b"]] * 9)
    votes = simulate(panel, np.arange(40_000) % 2)
    table = votes.to_arrow("wide" if kind == "wide" else "long")
    names = pa.array([f"an-item-with-a-long-name-{n:06}" for n in table.column("item").to_pylist()])
    table = table.set_column(0, "item", names)
    if kind == "shuffled":
        table = table.take(np.random.default_rng(0).permutation(len(table)))
    pq.write_table(table, tmp_path / "votes.parquet")
    file = VoteFile(tmp_path / "votes.parquet", panel)
    file.read()
    assert file._reader.nbytes / votes.answers < 30
