"""Files as other programs write them: the same votes as in memory, or one line that says what to do."""

from datetime import date, datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

from covote import Panel, Votes, decode
from covote.errors import CovoteError, InputError
from covote.files import VoteFile, decode_file
from covote.tables import ReadOptions

PANEL = Panel.from_blocks(
    ["skin", "eye", "ear"], [["skin", "eye"], ["eye", "ear"], ["skin", "ear"]], ["ann", "bob", "cy"]
)
LONG = "item,expert,label\n5,ann,eye\n"
IDS = {
    "days": pa.array([date(2020, 1, 2), date(2019, 1, 1), date(2020, 1, 2)]),
    "times in a zone": pa.array(
        [datetime(2020, 1, 2), datetime(2019, 7, 1), datetime(2020, 1, 2)],
        pa.timestamp("ms", tz="+02:00"),
    ),
    "spans of time": pa.array([timedelta(3), timedelta(-1), timedelta(3)]),
    "decimals": pa.array([Decimal("1.50"), Decimal("-2.25"), Decimal("1.50")]),
    "large text": pa.array(["ö", "o", "ö"], pa.large_string()),
    "fixed bytes": pa.array([b"\xff\x00", b"\x00\xff", b"\xff\x00"], pa.binary(2)),
    "the largest numbers": pa.array([2**64 - 1, 2**64 - 2, 2**64 - 1], pa.uint64()),
    "small numbers without a sign": pa.array([255, 0, 255], pa.uint8()),
    "zeros": pa.array([0.0, -1.5, -0.0]),
}


def write(path, content):
    if isinstance(content, pa.Table):
        csv.write_csv(content, path)
    elif isinstance(content, dict):
        pq.write_table(pa.table(content), path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_items_keep_their_type_and_their_order(tmp_path, ids):
    table = {"item": ids, "expert": ["ann", "ann", "bob"], "label": ["eye", "skin", "ear"]}
    path = write(tmp_path / "votes.parquet", table)
    read = VoteFile(path, PANEL).read()
    assert read.ids.type == ids.type
    assert read.ids.to_pylist() == list(dict.fromkeys(ids.to_pylist()))
    in_memory = decode(Votes.from_table(table, PANEL)).to_arrow().to_pylist()
    decode_file(path, tmp_path / "labels.parquet", PANEL)
    assert repr(pq.read_table(tmp_path / "labels.parquet").to_pylist()) == repr(in_memory)


def test_columns_before_the_items_do_not_matter(tmp_path):
    # A struct counts as one column for Arrow and as several for Parquet.
    table = {
        "about": [{"page": 1, "line": 2}] * 3,
        "item": [100, 3, 100],
        "expert": ["ann", "ann", "bob"],
        "label": ["eye"] * 3,
    }
    path = write(tmp_path / "votes.parquet", table)
    assert VoteFile(path, PANEL).read().items.tolist() == [100, 3]
    decode_file(path, tmp_path / "labels.parquet", PANEL)
    assert pq.read_table(tmp_path / "labels.parquet")["item"].to_pylist() == [100, 3]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("votes.csv", LONG.replace("eye", "eyes"), ["row 2", "'eyes'", "did you mean 'eye'"]),
        ("votes.jsonl", LONG.encode("utf-16"), ["UTF-16", "UTF-8"]),
        ("votes.csv", LONG.replace("eye", '"eye') + "6,bob,ear\n" * 9999, ["row 2", "eye"]),
        ("votes.csv", "item,label,confidence,violations,status\n5,eye,1,0,sure\n", ["a file of labels"]),
        ("votes.jsonl", '{"item": [5], "expert": "ann", "label": "eye"}\n', ["'item'", "list"]),
        ("votes.jsonl", '{"item": 5, "expert": "ann", "label": {"a": 1}}\n', ["'label'", "struct"]),
        ("votes.jsonl", '{"item": 5, "ann": ["eye"]}\n', ["'ann'", "list"]),
        ("votes.jsonl", '[{"item": 5, "ann": "eye"}]\n', ["every line is one object"]),
        (
            "votes.jsonl",
            '{"item": 5, "ann": "eye"}\n{"item": "x", "ann": "eye"}\n',
            ["/item", "same type in all lines"],
        ),
        ("votes.parquet", {"item": [1.0, float("nan")], "ann": ["eye", "eye"]}, ["row 2", "no item"]),
        (
            "votes.parquet",
            {"item": [1.0, float("nan")], "expert": ["ann", "ann"], "label": ["eye", "eye"]},
            ["row 2", "no item"],
        ),
        ("votes.parquet", {"item": [0.0, -0.0], "ann": ["eye", "skin"]}, ["row 2", "0.0"]),
        ("votes.parquet", {"item": [b"\xff"], "ann": ["eye"]}, ["CSV", ".parquet"]),
    ],
)
def test_what_is_no_file_of_votes_is_told_in_a_line(tmp_path, name, content, words):
    path = write(tmp_path / name, content)
    with pytest.raises(CovoteError) as caught:
        decode_file(path, tmp_path / "labels.csv", PANEL)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert len(message) < 500
    assert not (tmp_path / "labels.csv").exists()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_columns_of_other_names(tmp_path, kind):
    columns = {"image": [7, 7, 8], "annotator": ["ann", "bob", "ann"], "species": ["eye", "eye", "skin"]}
    path = tmp_path / f"votes.{kind}"
    write(path, pa.table(columns)) if kind == "csv" else write(path, columns)
    names = {"item": "image", "expert": "annotator", "label": "species"}
    read = VoteFile(path, PANEL, ReadOptions(**names)).read()
    assert (read.items.tolist(), read.dense.tolist()) == ([7, 8], [[1, 1, -1], [0, -1, -1]])
    assert VoteFile(path, "infer", ReadOptions(**names)).panel.blocks() == [("eye", "skin"), ("eye",)]
    decode_file(path, tmp_path / "labels.parquet", PANEL, reading=ReadOptions(**names))
    labels = pq.read_table(tmp_path / "labels.parquet").to_pydict()
    assert (labels["item"], labels["label"]) == ([7, 8], ["eye", "skin"])
    for wrong, words in (
        ({**names, "label": "specie"}, "did you mean 'species'"),
        ({**names, "label": "image"}, "cannot stand for two"),
    ):
        with pytest.raises(InputError, match=words):
            VoteFile(path, PANEL, ReadOptions(**wrong))
    for some in ({"item": "image", "label": "species"}, {"item": "image", "expert": "annotator"}, {}):
        found = VoteFile(path, PANEL, ReadOptions(**some))
        assert (found.columns.item, found.columns.expert, found.columns.label) == tuple(columns)


def test_a_column_that_could_be_two_experts_is_refused(tmp_path):
    panel = Panel(["x", "y"], [[1, 1], [1, 1]], [1, "1"])
    path = write(tmp_path / "votes.csv", "item,1\n5,x\n")
    with pytest.raises(InputError, match=r"votes.csv: column '1' could be two experts"):
        VoteFile(path, panel).read()


@pytest.mark.parametrize("label", ["--5", "٣", "9" * 5000, "007", "-0"])
def test_labels_that_only_look_like_integers_are_text(tmp_path, label):
    path = write(tmp_path / "votes.csv", f"item,expert,label\n1,ann-9,3\n2,ann-10,{label}\n")
    panel = VoteFile(path, "infer").panel
    assert set(panel.classes) == {"3", label}
    assert panel.names == ("ann-9", "ann-10")
