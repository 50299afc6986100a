"""Items with several labels on the command line: files of lists in, files of lists out."""

import json
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import load_workbook

from covote import Panel
from covote.errors import InputError
from covote.multilabel import decode_file

CLASSES = ["cat", "dog", "fox", "owl"]
LONG = {
    "item": [7, 7, 7, 7, 3, 3, 3, 3],
    "expert": ["a", "b", "c", "d"] * 2,
    "label": [["cat", "dog"], ["cat", "dog"], ["cat"], ["dog"], [], ["owl"], ["owl"], ["owl"]],
}
EXPECTED = {3: ["owl"], 7: ["cat", "dog"]}


@pytest.fixture
def panel(tmp_path):
    """Four experts that know all classes but one."""
    blocks = [[name for name in CLASSES if name != left] for left in ("owl", "fox", "dog", "cat")]
    found = Panel.from_blocks(CLASSES, blocks, list("abcd"))
    found.save(tmp_path / "panel.toml")
    return found


@pytest.fixture
def written(tmp_path):
    """The same answers in every kind of file."""
    joined = ["; ".join(labels) or "none of mine" for labels in LONG["label"]]
    rows = list(zip(LONG["item"], LONG["expert"], joined, strict=True))
    (tmp_path / "long.csv").write_text(
        "item,expert,label\n" + "".join(f"{n},{i},{k}\n" for n, i, k in rows), encoding="utf-8"
    )
    wide = "".join(f"{n},{','.join(k for m, _, k in rows if m == n)}\n" for n in (7, 3))
    (tmp_path / "wide.csv").write_text("item,a,b,c,d\n" + wide, encoding="utf-8")
    pq.write_table(pa.table(LONG), tmp_path / "lists.parquet")
    lines = [dict(zip(LONG, row, strict=True)) for row in zip(*LONG.values(), strict=True)]
    (tmp_path / "lists.jsonl").write_text(
        "".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8"
    )
    apart = [(n, i, k) for n, i, joint in rows for k in joint.split("; ")]
    pq.write_table(
        pa.table(dict(zip(LONG, map(list, zip(*apart, strict=True)), strict=True))), tmp_path / "rows.parquet"
    )
    return ["long.csv", "wide.csv", "lists.parquet", "lists.jsonl", "rows.parquet"]


def read(path):
    if path.suffix == ".parquet":
        table = pq.read_table(path).to_pydict()
        return dict(zip(table["item"], table["labels"], strict=True)), table["complete"]
    if path.suffix == ".jsonl":
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {line["item"]: line["labels"] for line in lines}, [line["complete"] for line in lines]
    if path.suffix == ".csv":
        lines = [line.replace('"', "").split(",") for line in path.read_text().splitlines()[1:]]
    else:
        lines = [list(row) for row in load_workbook(path).active.iter_rows(values_only=True)][1:]
    return (
        {int(item): labels.split("; ") for item, labels, *_ in lines},
        [str(complete).lower() == "true" for _, _, complete, _ in lines],
    )


def test_every_kind_of_file_gives_the_same_labels_in_every_kind_of_file(covote, tmp_path, panel, written):
    for name in written:
        for ending in ("parquet", "csv", "jsonl", "xlsx"):
            output = tmp_path / f"labels.{ending}"
            done = covote("multilabel", "decode", name, "--panel", "panel.toml", "--full", "-o", output.name)
            assert done.status == 0, done.err
            assert read(output) == (EXPECTED, [True, True])


def test_the_summary_counts_items_and_labels(covote, panel, written):
    done = covote("multilabel", "decode", "lists.parquet", "--panel", "panel.toml", "--full", "--json")
    found = json.loads(done.out)
    assert (found["items"], found["answers"], found["complete"], found["conflict"]) == (2, 8, 2, 0)
    assert found["labels_per_item"] == [0, 1, 1]
    assert found["classes"] == {"cat": 1, "dog": 1, "fox": 0, "owl": 1}


def test_python_and_the_command_line_agree(tmp_path, panel, written):
    found = decode_file(tmp_path / "lists.jsonl", tmp_path / "o.jsonl", panel, report="all")
    assert (found.complete, read(tmp_path / "o.jsonl")[0]) == (2, EXPECTED)


def test_one_label_each_says_the_certain_ones_and_no_more(covote, tmp_path, panel):
    (tmp_path / "votes.csv").write_text("item,a,b,c,d\n1,cat,cat,fox,fox\n2,cat,cat,cat,fox\n")
    for options, expected, complete in (
        ([], {1: ["cat", "fox"], 2: ["cat", "fox"]}, [False, False]),
        (["--count", "2"], {1: ["cat", "fox"], 2: ["cat", "fox"]}, [True, True]),
    ):
        done = covote("multilabel", "decode", "votes.csv", "--panel", "panel.toml", *options, "-o", "o.jsonl")
        assert done.status == 0, done.err
        assert read(tmp_path / "o.jsonl") == (expected, complete)


def test_check_says_what_a_panel_supports_and_what_fails(covote, panel):
    found = json.loads(covote("multilabel", "check", "panel.toml", "--json").out)
    rows = {row["report"]: row for row in found["support"]}
    assert rows["all"]["any_number"]
    assert (rows["one"]["supported"], rows["one"]["fails_at"]) == (2, 3)
    first, second = rows["one"]["ambiguous"]
    assert set(first) < set(second)
    assert len(second) == 3
    text = covote("multilabel", "check", "panel.toml").out
    assert "up to 2 labels" in text
    assert "can get the same answers" in text
    fine = covote("multilabel", "check", "panel.toml", "--count", "2")
    assert fine.status == 0
    assert "same answers" not in fine.out


def test_check_finds_what_is_wrong_with_lists(covote, tmp_path, panel):
    (tmp_path / "votes.csv").write_text("item,expert,label\n1,a,cat; owl\n1,b,cat; emu\n2,e,cat\n")
    done = covote("multilabel", "check", "panel.toml", "votes.csv")
    assert done.status == 2
    assert covote("multilabel", "check", "votes.csv", "--panel", "panel.toml") == done  # the former way
    for words in (
        "'a' said 'owl'",
        "'emu'",
        "experts that are not in the panel (the panel has: a, b, c, d): 'e'",
    ):
        assert words in done.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--count", "9"], "count=9 labels for 4 classes"),
        (["--full", "-o", "x.png"], "a file of labels ends in"),
        (["-o", "long.csv"], "long.csv"),
        (["-o", "-", "--json"], "--json prints to stdout"),
    ],
)
def test_mistakes_end_in_one_line(covote, tmp_path, panel, written, options, words):
    done = covote("multilabel", "decode", "long.csv", "--panel", "panel.toml", *options)
    assert done.status == 2
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not (tmp_path / "x.png").exists()


def test_a_class_with_a_separator_in_its_name_stays_out_of_text(tmp_path):
    panel = Panel.from_blocks(["a;b", "c"], [["a;b", "c"]], ["ann"])
    pq.write_table(pa.table({"item": [1], "ann": [["a;b", "c"]]}), tmp_path / "v.parquet")
    with pytest.raises(InputError, match="'a;b' has a separator in its name"):
        decode_file(tmp_path / "v.parquet", tmp_path / "o.csv", panel, report="all")
    decode_file(tmp_path / "v.parquet", tmp_path / "o.parquet", panel, report="all")
    assert pq.read_table(tmp_path / "o.parquet").column("labels").to_pylist() == [["a;b", "c"]]


def panel_for_two_labels(classes=10):
    """Return five experts; every class is known to two of them, and no two classes to the same two."""
    knows = np.zeros((5, 10), dtype=bool)
    for k, two in enumerate(combinations(range(5), 2)):
        knows[two, k] = True
    return Panel(classes, knows[:, :classes])


def test_a_panel_that_determines_two_labels_finds_them(covote, tmp_path):
    panel = panel_for_two_labels()
    panel.save(tmp_path / "p.toml")
    assert covote("multilabel", "check", "p.toml", "--count", 2).status == 0
    truth = [[1, 7], [4], [0, 9]]
    lines = [
        f"{n},{name},{next((k for k in labels if k in known), 'none of mine')}"
        for n, labels in enumerate(truth)
        for name, known in zip(panel.names, panel.blocks(), strict=True)
    ]
    (tmp_path / "votes.csv").write_text("item,expert,label\n" + "\n".join(lines) + "\n")
    ran = covote("multilabel", "decode", "votes.csv", "--panel", "p.toml", "--count", 2, "-o", "o.parquet")
    assert ran.status == 0, ran.err
    found = pq.read_table(tmp_path / "o.parquet").to_pydict()
    assert (found["labels"], found["complete"]) == (truth, [True] * 3)


def test_a_panel_that_supports_no_way_of_answering_has_its_own_status(covote, tmp_path):
    Panel.from_blocks(list("abc"), ["a"]).save(tmp_path / "p.toml")
    assert covote("multilabel", "check", "p.toml").status == 1


def test_several_classes_in_a_cell_without_full_are_pointed_out(covote, tmp_path, panel):
    (tmp_path / "votes.csv").write_text("item,a,b,c,d\n1,cat; dog,cat,cat,dog\n")
    done = covote("multilabel", "decode", "votes.csv", "--panel", "panel.toml")
    assert "1 answers name several classes" in done.out
    assert "use report='all' (--full)" in done.out


def test_a_command_of_another_name_is_suggested(covote):
    done = covote("multilabel", "decide")
    assert (done.status, len(done.err.strip().splitlines())) == (2, 1)
    assert "did you mean 'decode'?" in done.err
