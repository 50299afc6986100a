"""`covote decode` as a person types it, mistakes included."""

import html
import io
import json
import os
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from covote import Panel, Votes, decode
from covote.simulation import simulate

PANEL = Panel.from_blocks(
    ["skin", "eye", "ear", "lung"],
    [["skin", "eye", "ear"], ["skin", "lung"], ["eye", "lung"], ["ear", "lung"]],
    ["dr-lee", "dr-ng", "ann", "bob"],
)
ROWS = [
    ("x1", "dr-lee", "skin"), ("x1", "dr-ng", "skin"), ("x1", "ann", "eye"), ("x1", "bob", "ear"),
    ("x2", "dr-lee", "ear"), ("x2", "dr-ng", "lung"), ("x2", "ann", "lung"), ("x2", "bob", "lung"),
    ("x3", "dr-lee", "eye"), ("x3", "dr-ng", "skin"), ("x3", "ann", "eye"), ("x3", "bob", "ear"),
]  # fmt: skip
TRUTH = {"x1": "skin", "x2": "lung", "x3": "eye"}


def write_csv(path, rows, header="item,expert,label"):
    Path(path).write_text(
        "\n".join([header, *(",".join(map(str, row)) for row in rows)]) + "\n", encoding="utf-8"
    )


@pytest.fixture
def files(tmp_path):
    PANEL.save(tmp_path / "panel.toml")
    write_csv(tmp_path / "votes.csv", ROWS)
    return tmp_path


def labels(path):
    return {row["item"]: row["label"] for row in pq.read_table(path).to_pylist()}


def test_votes_become_labels_a_summary_and_a_report(covote, files):
    ran = covote(
        "decode", "votes.csv", "--panel", "panel.toml", "-o", "labels.parquet", "--report", "report.html"
    )
    assert ran.status == 0, ran.err
    assert labels("labels.parquet") == TRUTH
    table = pq.read_table("labels.parquet")
    assert table.column_names == [
        "item",
        "label",
        "confidence",
        "margin",
        "runner_up",
        "violations",
        "status",
    ]
    assert table.column("status").to_pylist() == ["agreed"] * 3
    for words in (
        "3 items, 12 answers from 4 experts (4 per item)",
        "agreed",
        "100%",
        "Wrote labels.parquet.",
        "Wrote report.html.",
    ):
        assert words in ran.out
    page = Path("report.html").read_text(encoding="utf-8")
    assert "dr-lee" in page
    _check_page(page)


def _check_page(page):
    """No link leaves the page, and every element that opens also closes."""
    empty = {"meta", "rect", "line", "circle"}
    stack = []

    class Checker(HTMLParser):
        def handle_starttag(self, tag, attributes):
            assert not any(value and value.startswith(("http", "//")) for _, value in attributes)
            assert tag not in {"script", "link", "img", "iframe"}
            if tag not in empty or tag in {"rect", "circle"}:
                stack.append(tag)

        def handle_startendtag(self, tag, attributes):
            pass

        def handle_endtag(self, tag):
            assert stack.pop() == tag

    Checker().feed(page)
    assert stack == []
    assert not re.search(r"url\((?!#)", page)  # parts of pictures refer to each other


def test_names_in_a_report_are_text_not_html(covote, tmp_path):
    evil = "<script>alert(1)</script>"
    Panel.from_blocks([evil, "b&b"], [[evil, "b&b"]] * 2, ["<i>ann</i>", "bob"]).save("panel.json")
    rows = [
        {"item": evil, "expert": "<i>ann</i>", "label": evil},
        {"item": evil, "expert": "bob", "label": "b&b"},
    ]
    Path("votes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert covote("decode", "votes.jsonl", "--panel", "panel.json", "--report", "r.html").status == 0
    page = Path("r.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "<i>ann" not in page
    _check_page(page)


def test_columns_of_other_names(covote, files):
    write_csv("other.csv", ROWS, "image,annotator,species")
    names = ("--item", "image", "--expert", "annotator", "--label", "species")
    ran = covote("decode", "other.csv", "--panel", "panel.toml", *names, "-o", "other_labels.csv")
    assert ran.status == 0, ran.err
    assert covote("decode", "votes.csv", "--panel", "panel.toml", "-o", "labels.csv").status == 0
    assert Path("other_labels.csv").read_text() == Path("labels.csv").read_text()


def test_json_summary(covote, files):
    data = json.loads(covote("decode", "votes.csv", "--panel", "panel.toml", "--json").out)
    assert (data["items"], data["answers"], data["agreed"], data["unreliable"]) == (3, 12, 3, [])
    assert [expert["name"] for expert in data["experts"]] == ["dr-lee", "dr-ng", "ann", "bob"]


def test_on_request_the_votes_say_who_answers_what(covote, files):
    ran = covote("decode", "votes.csv", "--panel", "infer", "-o", "labels.csv")
    assert ran.status == 0
    assert "every expert is assumed to know exactly the labels they gave in this file (4 experts" in ran.out
    assert "x2,lung" in Path("labels.csv").read_text()
    data = json.loads(covote("decode", "votes.csv", "--panel", "infer", "--json").out)
    assert data["inferred_panel"] is True


def test_without_a_panel_everybody_knows_everything(covote, files):
    for arguments in ((), ("--panel", "all")):
        ran = covote("decode", "votes.csv", *arguments, "-o", "labels.csv")
        assert (ran.status, ran.err) == (0, "")
        assert "every expert is assumed to know every class (4 experts, 4 classes)" in ran.out
    plain = Votes.from_table(csv_columns("votes.csv"))
    assert labels_of_csv("labels.csv") == dict(
        zip(plain.items, decode(plain).to_arrow()["label"].to_pylist(), strict=True)
    )


def csv_columns(path):
    return pc.read_csv(path).to_pydict()


def labels_of_csv(path):
    rows = csv_columns(path)
    return {item: label or None for item, label in zip(rows["item"], rows["label"], strict=True)}


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_stdin_and_stdout(covote, files, kind, monkeypatch):
    table = pa.table(csv_columns("votes.csv"))
    source, target = io.BytesIO(), io.BytesIO()
    if kind == "csv":
        pc.write_csv(table, source)
    elif kind == "parquet":
        pq.write_table(table, source)
    else:
        source.write("".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode())
    source.seek(0)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(source))
    out = io.TextIOWrapper(target)
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        ran = covote("decode", "-", "--panel", "panel.toml", "-o", "-", "--format", kind)
    assert (ran.status, ran.err) == (0, "")
    covote("decode", "votes.csv", "--panel", "panel.toml", "-o", f"labels.{kind}")
    assert target.getvalue() == Path(f"labels.{kind}").read_bytes()


def test_mistakes_in_stdin_are_told_of_stdin(covote, files, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"item,expert,label\nx1,dr-who,skin\n")))
    ran = covote("decode", "-", "--panel", "panel.toml", "-o", "-")
    assert ran.status == 2
    assert ran.err.startswith("covote: stdin.csv: experts that are not in the panel")
    assert "'dr-who' (1 answer, in row 2)" in ran.err


def test_labels_as_json_lines_and_as_a_spreadsheet(covote, files):
    for kind in ("csv", "jsonl", "xlsx"):
        assert covote("decode", "votes.csv", "--panel", "panel.toml", "-o", f"labels.{kind}").status == 0
    rows = pc.read_csv("labels.csv").to_pylist()
    lines = [json.loads(line) for line in Path("labels.jsonl").read_text().splitlines()]
    assert [(row["item"], row["label"], row["status"]) for row in lines] == [
        (row["item"], row["label"], row["status"]) for row in rows
    ]
    assert [round(row["confidence"], 2) for row in lines] == [row["confidence"] for row in rows]
    sheet = list(openpyxl.load_workbook("labels.xlsx").active.values)
    assert sheet[0] == tuple(rows[0]) == ("item", "label", "confidence", "runner_up", "status")
    assert [row[:3] for row in sheet[1:]] == [(row["item"], row["label"], row["confidence"]) for row in rows]
    assert list(lines[0]) == ["item", "label", "confidence", "margin", "runner_up", "violations", "status"]


def test_the_columns_of_a_file_for_people_can_be_chosen(covote, files):
    run = ("decode", "votes.csv", "--panel", "panel.toml", "-o", "labels.csv")
    assert covote(*run, "--columns", "item, label,violations").status == 0
    assert Path("labels.csv").read_text().splitlines()[0] == "item,label,violations"
    assert covote(*run, "--columns", "all").status == 0
    assert Path("labels.csv").read_text().splitlines()[0].count(",") == 6
    ran = covote(*run, "--columns", "lable")
    assert (ran.status, "labels have no column 'lable'; choose from item, label" in ran.err) == (2, True)


def test_names_that_begin_like_formulas_are_text_in_a_spreadsheet(covote, files):
    Path("sums.csv").write_text("item,expert,label\n=1+1,ann,eye\n=1+1,dr-lee,eye\n")
    assert covote("decode", "sums.csv", "--panel", "panel.toml", "-o", "labels.xlsx").status == 0
    cell = openpyxl.load_workbook("labels.xlsx").active["A2"]
    assert (cell.value, cell.data_type) == ("=1+1", "s")


def test_check_says_everything_that_is_wrong_with_votes(covote, files):
    ran = covote("check", "votes.csv", "--panel", "panel.toml")
    assert (ran.status, ran.err) == (0, "")
    assert "No problems found" in ran.out
    write_csv("bad.csv", [*ROWS, ("x4", "dr-who", "skin"), ("x4", "ann", "foot"), ("", "ann", "eye")])
    ran = covote("check", "bad.csv", "--panel", "panel.toml")
    assert (ran.status, ran.err) == (2, "")
    for words in ("'dr-who' (1 answer, in row 14)", "'foot' (1 answer, in row 15)", "row 16: no item"):
        assert words in ran.out
    data = json.loads(covote("check", "bad.csv", "--panel", "panel.toml", "--json").out)
    assert data["fine"] is False
    assert [found["name"] for found in data["unknown_experts"]] == ["dr-who"]
    assert len(data["problems"]) == 3


def test_dropped_answers_are_told_everywhere(covote, files):
    write_csv("bad.csv", [*ROWS, ("x4", "dr-who", "skin"), ("x3", "ann", "foot")])
    drop = ("decode", "bad.csv", "--panel", "panel.toml", "--unknown", "drop")
    ran = covote(*drop, "--report", "report.html")
    assert (ran.status, ran.err) == (0, "")
    for told in (ran.out, html.unescape(Path("report.html").read_text())):
        assert "2 of 14 answers were dropped" in told
        assert "'dr-who' (1 answer, in row 14)" in told
    data = json.loads(covote(*drop, "--json").out)
    assert data["dropped"]["dropped"] == 2
    assert data["dropped"]["unknown_labels"][0]["name"] == "foot"


def test_pairs_that_the_panel_leaves_uncovered_are_told(covote, files):
    Panel.from_blocks({"ann": ["skin", "eye"], "bob": ["eye", "ear"]}).save("part.toml")
    write_csv("few.csv", [("x1", "ann", "eye"), ("x1", "bob", "eye")])
    ran = covote("decode", "few.csv", "--panel", "part.toml")
    assert "For 1 pair of classes no expert knows both: skin and ear." in ran.out
    assert (
        json.loads(covote("decode", "few.csv", "--panel", "part.toml", "--json").out)["uncovered_pairs"] == 1
    )


def test_a_file_says_what_names_mean(covote, files):
    write_csv("short.csv", [(item, {"dr-lee": "L"}.get(who, who), what) for item, who, what in ROWS])
    Path("names.csv").write_text("written,meant\nL,dr-lee\n")
    assert (
        covote("decode", "short.csv", "--panel", "panel.toml", "--rename", "names.csv", "-o", "a.csv").status
        == 0
    )
    covote("decode", "votes.csv", "--panel", "panel.toml", "-o", "b.csv")
    assert Path("a.csv").read_bytes() == Path("b.csv").read_bytes()
    Path("wrong.csv").write_text("written,meant\nL,dr-li\nX,dr-x\n")
    ran = covote("decode", "short.csv", "--panel", "panel.toml", "--rename", "wrong.csv")
    assert ran.status == 2
    assert "'dr-li' (for 'L'), 'dr-x' (for 'X')" in ran.err


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
@pytest.mark.parametrize("shape", ["long", "wide"])
def test_every_shape_and_format_gives_the_same_labels(covote, files, kind, shape):
    if shape == "long":
        table = pa.table(
            dict(zip(("task", "worker", "label"), zip(*reversed(ROWS), strict=True), strict=True))
        )
    else:
        wide = {item: {"item": item} for item in TRUTH}
        for item, expert, label in ROWS:
            wide[item][expert] = label
        table = pa.Table.from_pylist(list(wide.values()))
    name = f"v.{kind}"
    if kind == "csv":
        write_csv(name, [tuple(row.values()) for row in table.to_pylist()], ",".join(table.column_names))
    elif kind == "jsonl":
        Path(name).write_text("\n".join(map(json.dumps, table.to_pylist())))
    else:
        pq.write_table(table, name)
    assert covote("decode", name, "--panel", "panel.toml", "-o", "labels.parquet").status == 0
    assert labels("labels.parquet") == TRUTH


def test_gold_is_read_and_used(covote, files):
    write_csv("gold.csv", [("x1", "skin"), ("x3", "eye")], "item,label")
    ran = covote("decode", "votes.csv", "--panel", "panel.toml", "--gold", "gold.csv", "-o", "labels.parquet")
    assert ran.status == 0, ran.err
    assert labels("labels.parquet") == TRUTH


def test_a_methods_warning_is_a_line_and_the_labels_are_written(covote, files):
    votes = simulate(PANEL, np.arange(600) % 4, noise="similar", accuracy=0.9)
    pq.write_table(votes.to_arrow("wide"), "wide.parquet")
    arguments = ("--method", "dawid-skene", "-o", "labels.parquet", "--save-stats", "stats.json")
    ran = covote("decode", "wide.parquet", "--panel", "panel.toml", *arguments)
    assert ran.status == 0, ran.err
    assert ran.err.startswith("Warning: ")
    assert len(ran.err.strip().splitlines()) == 1
    assert Path("stats.json").exists()
    more = covote(
        "decode",
        "wide.parquet",
        "--panel",
        "panel.toml",
        "--method",
        "em",
        "--load-stats",
        "stats.json",
    )
    assert more.status == 2  # statistics of another method
    assert "dawid-skene" in more.err


# Mistakes: one line that names the row and the remedy, status 2, no file


def refused(covote, files, *arguments, names):
    ran = covote("decode", *arguments, "-o", "labels.parquet")
    assert ran.status == 2
    assert len(ran.err.strip().splitlines()) == 1
    for words in names:
        assert words in ran.err
    assert "Traceback" not in ran.err
    assert not [path.name for path in files.iterdir() if "labels" in path.name]
    return ran


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_an_answer_outside_expertise(covote, files, kind):
    rows = [*ROWS, ("x4", "dr-ng", "eye")]
    columns = dict(zip(("item", "expert", "label"), map(list, zip(*rows, strict=True)), strict=True))
    if kind == "csv":
        write_csv("bad.csv", rows)
    elif kind == "jsonl":
        Path("bad.jsonl").write_text("\n".join(json.dumps(row) for row in pa.table(columns).to_pylist()))
    else:
        pq.write_table(pa.table(columns), "bad.parquet")
    row = 14 if kind == "csv" else 13  # the heading of a table is a row
    words = [f"row {row}", "'dr-ng' said 'eye'", "'dr-ng' knows: skin, lung", "--unknown drop"]
    refused(covote, files, f"bad.{kind}", "--panel", "panel.toml", names=words)
    ran = covote("decode", f"bad.{kind}", "--panel", "panel.toml", "--unknown", "drop", "-o", "kept.parquet")
    assert ran.status == 0
    assert labels("kept.parquet") == {**TRUTH, "x4": None}


@pytest.mark.parametrize(
    ("row", "names"),
    [
        (
            ("x4", "dr-who", "skin"),
            ["row 14", "experts that are not in the panel", "'dr-who'", "--unknown drop"],
        ),
        (("x4", "ann", "foot"), ["row 14", "'foot'", "not classes of the panel", "--unknown drop"]),
        (
            ("x3", "ann", "lung"),
            ["row 14", "'ann' answered 'lung' to item 'x3'", "'eye' in row 12", "--duplicates"],
        ),
        (("", "ann", "lung"), ["row 14", "no item"]),
        (("x4", "ann"), ["CSV", "#14"]),
    ],
)
def test_rows_that_are_no_votes(covote, files, row, names):
    write_csv("bad.csv", [*ROWS, row])
    refused(covote, files, "bad.csv", "--panel", "panel.toml", names=["bad.csv", *names])


def test_a_class_of_the_panel_is_never_called_strange(covote, files):
    Panel.from_blocks([0, 1, 2], [[0, 1], [1, 2], [0, 2]]).save("numbers.toml")
    write_csv("bad.csv", [("x1", "expert-1", 2)])
    words = ["row 2", "said '2'", "'expert-1' knows: 0, 1"]
    refused(covote, files, "bad.csv", "--panel", "numbers.toml", names=words)


def test_files_that_are_no_votes(covote, files):
    Path("latin.csv").write_bytes(b"item,expert,label\nx1,ann,\xe9\x81\n")
    refused(covote, files, "latin.csv", "--panel", "panel.toml", names=["latin.csv", "save it as UTF-8"])
    write_csv("other.csv", [("x1", "ann", "foot")], "item,things,other")
    words = ["things, other", "a long table has the columns item, expert"]
    refused(covote, files, "other.csv", "--panel", "panel.toml", names=words)
    refused(covote, files, ".", "--panel", "panel.toml", names=["is a folder"])
    near = [("x1", "dr ley", "skin")]
    write_csv("near.csv", near)
    refused(covote, files, "near.csv", "--panel", "panel.toml", names=["did you mean 'dr-lee'?"])


def test_duplicates_by_choice(covote, files):
    write_csv("twice.csv", [*ROWS, ("x3", "dr-lee", "ear"), ("x3", "ann", "lung"), ("x3", "ann", "lung")])
    for choice, label in (("first", "eye"), ("last", None)):
        arguments = (
            "--panel",
            "panel.toml",
            "--duplicates",
            choice,
            "--method",
            "authority",
            "-o",
            f"{choice}.parquet",
        )
        assert covote("decode", "twice.csv", *arguments).status == 0
        assert (labels(f"{choice}.parquet")["x3"] == "eye") == (label == "eye")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["is empty: it has no rows"]),
        ("item,expert,label\n", ["no answers"]),
        ("photo,dr-lee,ann\n", ["has no answers: it has no rows"]),
        ("1,eye,eye\n2,eye,ear\n", ["two columns 'eye'", "add a first row with the names of the columns"]),
        ("thing,part,expert,label\n1,2,ann,eye\n", ["may be the item: thing, part", "--item"]),
        ("item,expert\n1,ann\n", ["no column 'label'"]),
        ("item,label\n1,eye\n", ["no column 'expert'"]),
        (
            "item,dr-lee,dr-who\n1,eye,eye\n",
            ["whose expert is not in the panel", "'dr-who'", "--unknown drop"],
        ),
        ("item,dr-lee,ann\n1,eye,eye\n2,lung,eye\n", ["row 3", "'dr-lee' said 'lung'"]),
        ("item,dr-lee\n2,eye\n1,eye\n2,ear\n", ["row 4", "'ear' to item 2, but 'eye' in row 2"]),
        ("item,expert,label,probability\n1,ann,eye,0.5\n1,bob,ear,1.5\n", ["row 3", "1.5"]),
        ("item,expert,label,probability\n1,ann,eye,high\n", ["probabilities must be numbers"]),
    ],
)
def test_files_that_hold_no_votes(covote, files, text, names):
    Path("bad.csv").write_text(text)
    refused(covote, files, "bad.csv", "--panel", "panel.toml", names=["bad.csv", *names])


def test_truncated_and_missing_files(covote, files):
    pq.write_table(pa.table({"item": [1], "expert": ["ann"], "label": ["eye"]}), "whole.parquet")
    Path("cut.parquet").write_bytes(Path("whole.parquet").read_bytes()[:-20])
    refused(covote, files, "cut.parquet", "--panel", "panel.toml", names=["cut.parquet", "complete Parquet"])
    refused(covote, files, "none.parquet", "--panel", "panel.toml", names=["no file none.parquet"])
    refused(covote, files, "vote.csv", "--panel", "panel.toml", names=["did you mean 'votes.csv'?"])
    refused(covote, files, "panel.csv", "--panel", "panel.toml", names=["did you mean 'panel.toml'?"])
    assert "did you mean" not in covote("decode", "nothing.csv", "--panel", "panel.toml").err
    refused(covote, files, "votes.csv", "--panel", "none.toml", names=["none.toml"])
    refused(covote, files, "votes.doc", "--panel", "panel.toml", names=["ends in .parquet, .csv"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "magic"), "no method 'magic'"),
        (("--unknown", "ignore"), "unknown='ignore' is not one of 'error', 'drop'"),
        (("--duplicates", "both"), "duplicates='both' is not one of"),
        (("--report", "report.pdf"), "ends in .html"),
        (("--gold", "panel.toml"), "panel.toml"),
        (("-o", "labels.txt"), ".parquet, .csv, .jsonl or .xlsx"),
        (("-o", "no/such/folder/labels.parquet"), "cannot write"),
    ],
)
def test_arguments_that_make_no_sense(covote, files, arguments, words):
    ran = covote("decode", "votes.csv", "--panel", "panel.toml", *arguments)
    assert ran.status == 2
    assert words in ran.err
    assert len(ran.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "likelihood", "--save-stats", "stats.json"), "'likelihood' learns nothing"),
        (("--method", "authority", "--save-stats", "stats.json"), "'authority' learns nothing"),
        (("--save-stats", "stats.txt"), ".json files"),
    ],
)
def test_statistics_that_will_not_be_there_are_refused_before_any_work(covote, files, arguments, words):
    ran = covote("decode", "votes.csv", "--panel", "panel.toml", "-o", "labels.csv", *arguments)
    assert ran.status == 2
    assert words in ran.err
    assert not Path("labels.csv").exists()


def test_a_full_device_is_reported_and_left_alone(covote, files):
    if not Path("/dev/full").is_char_device():
        pytest.skip("no /dev/full here")
    os.symlink("/dev/full", "labels.csv")
    ran = covote("decode", "votes.csv", "--panel", "panel.toml", "-o", "labels.csv")
    assert ran.status == 2
    assert "No space left on device" in ran.err
    assert Path("/dev/full").is_char_device()
    assert Path("labels.csv").is_symlink()


def test_a_failed_run_keeps_the_old_labels(covote, files):
    Path("labels.parquet").write_text("yesterday's")
    write_csv("bad.csv", [*ROWS, ("x4", "dr-who", "skin")])
    assert covote("decode", "bad.csv", "--panel", "panel.toml", "-o", "labels.parquet").status == 2
    assert Path("labels.parquet").read_text() == "yesterday's"
