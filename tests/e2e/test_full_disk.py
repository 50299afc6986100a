"""A disk without room: every command says so in one line, and what was there stays as it was."""

import json
import os
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from covote import Panel

VOTES = "item,expert,label\ni1,x,a\ni1,y,a\ni2,x,b\ni2,z,c\ni3,y,c\ni3,z,c\n"
WRITING = {
    "design": "design 7 3 -o out.toml",
    "a picture": "design 7 3 -o out.toml --plot out.png",
    "complete": "complete part.toml 2 -o out.toml",
    "select": "select panel.toml -o out.toml",
    "bounds": "bounds 10 4 --plot out.svg",
    "decode to CSV": "decode votes.csv --panel panel.toml -o out.csv",
    "decode to Parquet": "decode votes.csv --panel panel.toml -o out.parquet",
    "decode to a workbook": "decode votes.csv --panel panel.toml -o out.xlsx",
    "a report": "decode votes.csv --panel panel.toml --report out.html",
    "statistics": "decode votes.csv --panel panel.toml --method em --save-stats out.json",
    "a review list": "decode votes.csv --panel panel.toml -o out.csv --review review.xlsx",
    "label": "label data.npy --panel models.toml --trust -o out.parquet",
    "ask": "ask votes.csv --panel panel.toml --next 2 -o out.csv",
    "simulate": "simulate panel.toml --items 20 --plot out.png",
    "multilabel": "multilabel decode votes.csv --panel panel.toml -o out.csv",
    "convert": "convert votes.csv out.json --panel panel.toml",
    "configurations": "convert panel.toml out",
    "demo": "demo",
    "start": "start study.xlsx",
}
RUN_ALL = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout
from covote.cli import main

for name, line in json.loads(sys.argv[1]).items():
    sys.argv, said, status = ["covote", *line.split()], io.StringIO(), 0
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(said):
            main()
    except SystemExit as end:
        status = end.code
    except BaseException as error:
        status = repr(error)
    print(json.dumps([name, status, said.getvalue()]), flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("full")
    blocks = [["a", "b"], ["a", "c"], ["b", "c"]]
    Panel.from_blocks(list("abc"), blocks, ["x", "y", "z"]).save(place / "panel.toml")
    Panel.from_blocks(list("abc"), blocks[:2], ["x", "y"]).save(place / "part.toml")
    models = ["python:one_class:answer"] * 3
    Panel.from_blocks(list("abc"), [["a", "b"]] * 3, list("xyz"), models=models).save(place / "models.toml")
    (place / "one_class.py").write_text("def answer(batch):\n    return ['a'] * len(batch)\n")
    np.save(place / "data.npy", np.zeros((5, 2)))
    (place / "votes.csv").write_text(VOTES)
    xlsxwriter = pytest.importorskip("xlsxwriter")
    with xlsxwriter.Workbook(place / "study.xlsx") as book:
        for name, rows in (
            ("Panel", [["expert", *"abc"], ["x", 1, 1, ""], ["y", 1, "", 1], ["z", "", 1, 1]]),
            ("Answers", [["item", *"xyz"], ["i1", "a", "a", "b"], ["i2", "b", "c", "b"]]),
        ):
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    for ending in ("toml", "csv", "parquet", "xlsx", "html", "npz", "json", "png", "svg"):
        (place / f"out.{ending}").write_text("of yesterday")
    return place


@pytest.fixture(scope="module")
def said(folder):
    before = contents(folder)
    ran = subprocess.run(
        [sys.executable, "-B", "-c", RUN_ALL, json.dumps(WRITING)],
        cwd=folder, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(folder)},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)),
    )  # fmt: skip
    assert contents(folder) == before
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    assert [line[0] for line in lines] == list(WRITING), ran.stderr
    return {name: (status, error) for name, status, error in lines}


def contents(folder):
    """Return what is in the files; an empty one may be left where nothing could be written."""
    files = (file for file in Path(folder).rglob("*") if file.is_file() and file.stat().st_size)
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


@pytest.mark.parametrize("name", WRITING)
def test_a_full_disk_is_one_line_and_nothing_changes(said, name):
    status, error = said[name]
    assert status == 2, error
    lines = [line for line in error.splitlines() if not line.startswith(("Trusted to run", "Warning: "))]
    assert len(lines) == 1, error
    assert lines[0].startswith("covote: cannot"), error
    reasons = ("File too large", "make room there", "No usable temporary directory")
    assert any(reason in error for reason in reasons), error
