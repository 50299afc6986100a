"""Items with several labels on the command line: files of lists in, files of lists out."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from openpyxl import load_workbook

from covote import Panel, decode_file, simulate
from covote.errors import InputError

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
            done = covote(
                "decode", name, "--panel", "panel.toml", "--labels", "several", "--full", "-o", output.name
            )
            assert done.status == 0, done.err
            assert read(output) == (EXPECTED, [True, True])


def test_the_summary_counts_items_and_labels(covote, panel, written):
    done = covote(
        "decode", "lists.parquet", "--panel", "panel.toml", "--labels", "several", "--full", "--json"
    )
    found = json.loads(done.out)
    assert (found["items"], found["answers"], found["complete"], found["conflict"]) == (2, 8, 2, 0)
    assert found["labels_per_item"] == [0, 1, 1]
    assert found["classes"] == {"cat": 1, "dog": 1, "fox": 0, "owl": 1}


def test_python_and_the_command_line_agree(tmp_path, panel, written):
    found = decode_file(tmp_path / "lists.jsonl", tmp_path / "o.jsonl", panel, labels="several", report="all")
    assert (found.complete, read(tmp_path / "o.jsonl")[0]) == (2, EXPECTED)


def test_one_label_each_says_the_certain_ones_and_no_more(covote, tmp_path, panel):
    (tmp_path / "votes.csv").write_text("item,a,b,c,d\n1,cat,cat,fox,fox\n2,cat,cat,cat,fox\n")
    for options, expected, complete in (
        (["--forced", "--count", "2"], {1: ["cat", "fox"], 2: ["cat", "fox"]}, [True, True]),
        (["--forced"], {1: ["cat", "fox"], 2: ["cat"]}, [False, False]),
        (["--count", "2"], {1: ["cat", "fox"], 2: ["cat", "fox"]}, [True, True]),
    ):
        done = covote(
            "decode", "votes.csv", "--panel", "panel.toml", "--labels", "several", *options, "-o", "o.jsonl"
        )
        assert done.status == 0, done.err
        assert read(tmp_path / "o.jsonl") == (expected, complete)


def test_check_says_what_a_panel_supports_and_what_fails(covote, panel):
    found = json.loads(covote("check", "panel.toml", "--labels", "several", "--json").out)
    rows = {(row["report"], row["forced"]): row for row in found["several_labels"]}
    assert rows["all", False]["any_number"]
    assert rows["all", True]["any_number"]
    assert (rows["one", False]["supported"], rows["one", False]["fails_at"]) == (2, 3)
    assert (rows["one", True]["supported"], rows["one", True]["fails_at"]) == (2, 3)
    first, second = rows["one", False]["alike"]
    assert set(first) < set(second)
    assert len(second) == 3
    text = covote("check", "panel.toml", "--labels", "several").out
    assert "up to 2 labels" in text
    assert "may get the same answers" in text
    fine = covote("check", "panel.toml", "--labels", "several", "--count", "2")
    assert fine.status == 0
    assert "alike" not in fine.out


def test_check_finds_what_is_wrong_with_lists(covote, tmp_path, panel):
    (tmp_path / "votes.csv").write_text("item,expert,label\n1,a,cat; owl\n1,b,cat; emu\n2,e,cat\n")
    done = covote("check", "votes.csv", "--panel", "panel.toml", "--labels", "several")
    assert done.status == 2
    for words in ("'a' said 'owl'", "'emu'", "experts that are not in the panel: 'e'"):
        assert words in done.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--full"], "--full goes with --labels several"),
        (["--labels", "many"], "--labels 'many' is not known"),
        (["--labels", "several", "--gold", "g.csv"], "'--gold' says nothing about several labels"),
        (["--labels", "several", "--count", "9"], "count=9 labels for 4 classes"),
        (["--labels", "several", "--forced", "--full", "-o", "x.png"], "a file of labels ends in"),
    ],
)
def test_what_does_not_go_together_is_refused_in_a_line(covote, tmp_path, panel, written, options, words):
    done = covote("decode", "long.csv", "--panel", "panel.toml", *options)
    assert done.status == 2
    assert words in done.err
    assert len(done.err.strip().splitlines()) == 1
    assert not (tmp_path / "x.png").exists()


def test_a_class_with_a_separator_in_its_name_stays_out_of_text(tmp_path):
    panel = Panel.from_blocks(["a;b", "c"], [["a;b", "c"]], ["ann"])
    pq.write_table(pa.table({"item": [1], "ann": [["a;b", "c"]]}), tmp_path / "v.parquet")
    with pytest.raises(InputError, match="'a;b' has a separator in its name"):
        decode_file(tmp_path / "v.parquet", tmp_path / "o.csv", panel, labels="several", report="all")
    decode_file(tmp_path / "v.parquet", tmp_path / "o.parquet", panel, labels="several", report="all")
    assert pq.read_table(tmp_path / "o.parquet").column("labels").to_pylist() == [["a;b", "c"]]


def test_a_designed_panel_decodes_what_it_was_designed_for(covote, tmp_path):
    ran = covote("design", 10, 4, "--labels", "several", "--count", 2, "-o", "p.toml")
    assert ran.status == 0, ran.err
    assert "5 experts tell up to 2 labels of an item" in ran.out
    assert "Next: covote decode votes.csv --panel p.toml --labels several --count 2 -o labels.csv" in ran.out
    assert covote("check", "p.toml", "--labels", "several", "--count", 2).status == 0
    panel = Panel.load(tmp_path / "p.toml")
    truth = [[1, 7], [4], [0, 9]]
    table = simulate(panel, truth, labels="several", seed=2).to_table()
    pq.write_table(table, tmp_path / "votes.parquet")
    ran = covote(
        "decode", "votes.parquet", "--panel", "p.toml", "--labels", "several", "--count", 2, "-o", "o.parquet"
    )
    assert ran.status == 0, ran.err
    found = pq.read_table(tmp_path / "o.parquet").to_pydict()
    assert (found["labels"], found["complete"]) == (truth, [True] * 3)


def test_a_panel_that_supports_no_way_of_answering_has_its_own_status(covote, tmp_path):
    Panel.from_blocks(list("abc"), ["a"]).save(tmp_path / "p.toml")
    assert covote("check", "p.toml", "--labels", "several").status == 1
