"""What no person means to write: each ends in one line that says what to do, and nothing is left behind."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fuzz.driver import run

GOOD = {
    "classes": ["skin", "eye", "ear"],
    "experts": [
        {"name": "ann", "knows": ["skin", "eye"]},
        {"name": "bob", "knows": ["eye", "ear"]},
        {"name": "cat", "knows": ["skin", "ear"]},
    ],
}
LONG = "x" * 300


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "panel.json").write_text(json.dumps(GOOD))
    (tmp_path / "votes.csv").write_text("item,expert,label\n1,ann,skin\n1,cat,skin\n2,bob,eye\n")
    return tmp_path


def refused(*argv):
    """Return the one line that a command ends in."""
    status, said = run(list(argv))
    assert status == 2, (status, said)
    [line] = said.strip().splitlines()
    assert line.startswith("covote: ")
    return line


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", '{"classes": [' + "9" * 5000 + '], "experts": []}'),
        ("p.toml", "classes = [" + "9" * 5000 + "]"),
        ("p.json", "[" * 100_000),
        ("p.toml", "a = " + "[" * 100_000),
        ("p.json", json.dumps({**GOOD, "experts": [{"name": "x", "knows": ["eye"], "cost": 10**400}]})),
        ("p.json", json.dumps({**GOOD, "experts": [{"name": "x", "knows": [["eye"]]}]})),
        ("p.json", json.dumps({**GOOD, "experts": [{"name": ["x"], "knows": ["eye"]}]})),
        ("p.json", json.dumps({**GOOD, "classes": ["skin", ["eye"]]})),
        ("p.csv", ""),
        ("p.csv", 'expert,a\nx,"' + "1" * 200_000 + '"\n'),
    ],
)
def test_panels(folder, name, text):
    (folder / name).write_text(text)
    assert len(refused("check", name)) < 300 or "cost" in text


@pytest.mark.parametrize(
    "argv",
    [
        ["decode", "votes.csv", "--panel", "panel.json", "-o", LONG + ".csv"],
        ["decode", "votes.csv", "--panel", "panel.json", "--report", LONG + ".html"],
        ["decode", LONG + ".csv", "--panel", "panel.json"],
        ["check", LONG + ".toml"],
        ["label", LONG + ".npy", "--panel", "panel.json", "-o", "x.csv"],
        ["decode", "votes.csv", "--panel", "panel.json", "--expert", "item"],
        ["decode", "votes.csv", "--panel", "panel.json", "--label", "expert"],
        ["label", "votes.csv", "--panel", "panel.json", "-o", "x.csv", "--size", "00x10"],
        ["label", "votes.csv", "--panel", "panel.json", "-o", "x.csv", "--size", "999999999x9"],
        ["design", "9" * 20, "4"],
        ["design", "5", "9" * 20 + "x4"],
        ["bounds", "9" * 400, "4"],
        ["simulate", "99999999999", "3"],
        ["simulate", "5", "3", "--items", "9" * 20],
    ],
)
def test_names_and_numbers(folder, argv):
    before = sorted(folder.iterdir())
    refused(*argv)
    assert sorted(folder.iterdir()) == before


def test_headers_and_names_that_are_no_utf_8(folder):
    (folder / "h.csv").write_bytes(b"it\xffem,expert,label\n1,ann,skin\n")
    assert "UTF-8" in refused("decode", "h.csv", "--panel", "panel.json")
    for column in ("item", "expert", "label"):
        table = {"item": ["1"], "expert": ["ann"], "label": ["skin"]}
        table[column] = pa.array([b"\xff\xfe"]).view(pa.string())
        pq.write_table(pa.table(table), folder / "u.parquet")
        assert "UTF-8" in refused("decode", "u.parquet", "--panel", "panel.json", "-o", "labels.csv")
    assert not (folder / "labels.csv").exists()


def test_gold_for_item_007_says_nothing_about_item_7(folder):
    (folder / "votes.csv").write_text("item,expert,label\n7,ann,skin\n7,cat,skin\n8,bob,eye\n")
    (folder / "gold.csv").write_text("item,label\n007,eye\n")
    assert "007" in refused(
        "decode", "votes.csv", "--panel", "panel.json", "--gold", "gold.csv", "--method", "em"
    )
