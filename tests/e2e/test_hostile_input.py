"""What no person means to write: each ends in one line that says what to do, and nothing is left behind."""

import contextlib
import decimal
import json
import struct
import sys
import time
import uuid
import zlib

import numpy as np
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
        ["label", "votes.csv", "--panel", "panel.json", "-o", "x.csv", "--image-size", "00x10"],
        ["label", "votes.csv", "--panel", "panel.json", "-o", "x.csv", "--image-size", "999999999x9"],
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


@pytest.mark.parametrize("reason", ["Unable to allocate 9.31 GiB", ""])
def test_too_little_memory_is_one_line(folder, monkeypatch, reason):
    def fail(*_, **__):
        raise MemoryError(*[reason] * bool(reason))

    monkeypatch.setattr("covote.files.decode_file", fail)
    line = refused("decode", "votes.csv", "--panel", "panel.json", "-o", "labels.csv")
    assert "there is not enough memory" in line
    assert reason in line
    assert "()" not in line
    assert not (folder / "labels.csv").exists()


def test_a_heading_of_millions_of_letters_is_not_looked_at_letter_by_letter(folder):
    (folder / "h.csv").write_text(f"item{'s' * 2_000_000},expert,label\n1,ann,skin\n")
    start = time.process_time()
    assert "has no answers" in refused("decode", "h.csv", "--panel", "panel.json")
    assert time.process_time() - start < 5


def test_headers_and_names_that_are_no_utf_8(folder):
    (folder / "h.csv").write_bytes(b"it\x81em,expert,label\n1,ann,skin\n")
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


def vote_table(**other):
    """Return three votes, some columns of them others."""
    columns = {"item": [1, 1, 2], "expert": ["ann", "cat", "bob"], "label": ["skin", "skin", "eye"]}
    return pa.table({**columns, **other})


ODD = {
    "uuid": pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([uuid.UUID(int=n).bytes for n in (2, 2, 1)], pa.binary(16))
    ),
    "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', '{"a": 1}', "2"])),
    "float16": pa.array(np.array([2, 2, 1], dtype=np.float16)),
    "decimal256": pa.array([decimal.Decimal(n) for n in (2, 2, 1)], pa.decimal256(60, 2)),
    "struct": pa.array([{"a": 1}, {"a": 1}, {"a": 2}]),
    "list": pa.array([[1], [1], [2]]),
    "nothing": pa.nulls(3),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("column", ["item", "expert", "label"])
def test_columns_of_odd_types(folder, kind, column):
    pq.write_table(vote_table(**{column: ODD[kind]}), "votes.parquet")
    argv = ["decode", "votes.parquet", "--panel", "panel.json", "-o", "labels.parquet"]
    if kind == "nothing" and column != "item":
        assert run(argv)[0] == 0  # no votes, but items
    elif kind == "decimal256" and column == "item":
        assert run(argv)[0] == 0
        assert pq.read_table("labels.parquet").column("item").to_pylist() == [2, 1]
    else:
        assert "text" in refused(*argv) or kind in ("float16", "decimal256", "nothing")
        assert not (folder / "labels.parquet").exists()


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.float32(), 2),
        pa.list_view(pa.float32()), pa.large_list_view(pa.float64()), pa.list_(pa.float16()),
    ],
    ids=str,
)  # fmt: skip
def test_lists_of_every_kind_are_probabilities(folder, kind):
    chances = [[0.75, 0.25], [0.5, 0.5], [1.0, 0.0]]
    labels = []
    for given in (pa.list_(pa.float32()), kind):
        pq.write_table(vote_table(probabilities=pa.array(chances, given)), "votes.parquet")
        assert run(["decode", "votes.parquet", "--panel", "panel.json", "-o", "labels.csv"]) == (0, "")
        labels.append((folder / "labels.csv").read_text())
    assert labels[0] == labels[1]


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ([1.0, 1.0], "add up to 2"),
        ([0.0, 0.0], "are all 0"),
        ([0.1, 0.9], "answered 'skin' and gives it the probability 0.1, but another class 0.9"),
        ([0.0, 0.4], "answered 'skin'"),
    ],
)
def test_probabilities_that_contradict_each_other_or_the_answer(folder, chances, words):
    pq.write_table(vote_table(probabilities=[chances, [1.0, 0.0], [1.0, 0.0]]), "votes.parquet")
    for method in ("learned", "em"):
        line = refused("decode", "votes.parquet", "--panel", "panel.json", "--method", method)
        assert "votes.parquet, row 1: " in line
        assert words in line


def test_probabilities_of_rows_that_are_no_votes_are_nobodys(folder):
    chances = [[0.5, 0.5], [0.9, 0.9, 0.9], [1.0, 0.0]]
    pq.write_table(vote_table(expert=["ann", "who", "bob"], probabilities=chances), "votes.parquet")
    argv = ["decode", "votes.parquet", "--panel", "panel.json", "--unknown", "drop", "-o", "labels.csv"]
    assert run(argv) == (0, "")


def test_indices_beyond_a_dictionary_in_a_file(folder):
    """Of a dictionary of four entries, the index pages name a fifth one: plain reading refuses, so do we."""
    items = [n // 3 for n in range(60)]
    table = pa.table(
        {"item": items, "expert": ["ann", "bob", "cat"] * 20, "label": ["skin", "eye", "ear"] * 20}
    )
    pq.write_table(
        table, "votes.parquet", compression="none", data_page_version="1.0", write_statistics=False
    )
    whole = (folder / "votes.parquet").read_bytes()
    accepted = 0
    for column in (1, 2):
        meta = pq.read_metadata("votes.parquet").row_group(0).column(column)
        first, last = meta.data_page_offset, meta.dictionary_page_offset + meta.total_compressed_size
        for place in range(first, last):
            damaged = bytearray(whole)
            damaged[place] = 0xFF
            (folder / "damaged.parquet").write_bytes(damaged)
            argv = ["decode", "damaged.parquet", "--panel", "panel.json", "-o", "labels.parquet"]
            status, said = run([*argv, "--unknown", "drop", "--duplicates", "first"])
            if status == 0:
                accepted += 1
                assert pq.read_table("damaged.parquet").num_rows == 60  # pyarrow accepts it, too
            else:
                assert status == 2, said
                assert said.startswith("covote: ")
        (folder / "damaged.parquet").write_bytes(whole)
    assert accepted < 60


def test_a_footer_that_lies_about_the_smallest_and_the_largest(folder):
    """Statistics in a footer are nobody's word: labels are the same whatever they say."""
    rows = 3000
    items = np.arange(rows) // 3 + 1_000_000
    experts, labels = ["ann", "bob", "cat"] * (rows // 3), ["skin", "eye", "ear"] * (rows // 3)
    table = pa.table({"item": items, "expert": experts, "label": labels})
    pq.write_table(table, "votes.parquet", compression="none", row_group_size=1000)
    argv = ["decode", "votes.parquet", "--panel", "panel.json", "-o", "labels.parquet"]
    assert run(argv) == (0, "")
    labels = (folder / "labels.parquet").read_bytes()
    data = (folder / "votes.parquet").read_bytes()
    footer = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
    low, high = struct.pack("<q", 1_000_000), struct.pack("<q", 1_000_333)
    assert low in data[footer:]
    assert high in data[footer:]
    for smallest, largest in ((0, 1), (2**62, -(2**62)), (-1, 2**63 - 1), (1_000_300, 1_000_301)):
        lying = (
            data[footer:].replace(low, struct.pack("<q", smallest)).replace(high, struct.pack("<q", largest))
        )
        (folder / "votes.parquet").write_bytes(data[:footer] + lying)
        assert run(argv) == (0, "")
        assert (folder / "labels.parquet").read_bytes() == labels


def test_a_footer_that_lies_about_the_rows_of_data(folder):
    """A footer that says 76, 78 or fewer than no rows instead of 77 gives no label to what is not there."""
    pq.write_table(pa.table({"item": np.arange(77), "x": np.arange(77)}), "data.parquet", compression="none")
    data = (folder / "data.parquet").read_bytes()
    footer = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
    places = [n for n in range(footer, len(data) - 8) if data[n : n + 2] == b"\x9a\x01"]
    assert len(places) >= 4  # of the file, of the group, of two columns
    (folder / "hostile_rows.py").write_text("def answer(batch):\n    return ['skin'] * len(batch['x'])\n")
    known = {"name": "x", "knows": ["skin", "eye"], "model": "python:hostile_rows:answer"}
    (folder / "models.json").write_text(json.dumps({"classes": ["skin", "eye"], "experts": [known]}))
    refusals = 0
    for n, (place, count) in enumerate(
        (p, c) for p in places for c in (b"\x98\x01", b"\x9c\x01", b"\x99\x01")
    ):
        (folder / "data.parquet").write_bytes(data[:place] + count + data[place + 2 :])
        argv = ["label", "data.parquet", "--panel", "models.json", "-o", f"labels{n}.csv", "--trust"]
        status, said = run(argv)
        assert status in (0, 2), said
        refusals += status == 2
        if status == 0:
            labels = (folder / f"labels{n}.csv").read_text().splitlines()[1:]
            assert [line.split(",")[0] for line in labels] == [str(item) for item in range(77)]
    assert refusals >= 6


def test_names_do_not_steer_the_terminal(folder, capfd):
    panel = json.loads(
        json.dumps(GOOD).replace("skin", "s\\u001b[2Jk\\u009b1min").replace("ann", "a\\u202enn")
    )
    (folder / "panel.json").write_text(json.dumps(panel))
    (folder / "votes.csv").write_text("item,expert,label\n1,bob,\x1b]0;x\x07\n")
    said = refused("decode", "votes.csv", "--panel", "panel.json")
    assert said.isprintable()
    assert "\\x1b]0;x\\x07" in said
    from covote.cli import main

    for argv in (["check", "panel.json"], ["check", "panel.json", "--json"]):
        sys.argv = ["covote", *argv]
        with contextlib.suppress(SystemExit):
            main()
        shown = capfd.readouterr().out
        assert all(line.isprintable() for line in shown.splitlines())
        if "--json" in argv:
            json.loads(shown)


def test_names_that_are_formulas_stay_and_are_warned_of(folder):
    (folder / "votes.csv").write_text("item,expert,label\n=1+1,ann,skin\n-5,cat,skin\n")
    status, said = run(["decode", "votes.csv", "--panel", "panel.json", "-o", "labels.csv"])
    assert status == 0
    assert said.startswith("Warning: a spreadsheet would take '=1+1' in column 'item' for a formula")
    assert "\n=1+1,skin" in (folder / "labels.csv").read_text()
    assert run(["decode", "votes.csv", "--panel", "panel.json", "-o", "labels.parquet"]) == (0, "")


def test_images_that_would_fill_the_memory(folder):
    def piece(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    head = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    (folder / "images").mkdir()
    (folder / "images" / "bomb.png").write_bytes(
        b"\x89PNG\r\n\x1a\n" + piece(b"IHDR", head) + piece(b"IDAT", zlib.compress(b"")) + piece(b"IEND", b"")
    )
    (folder / "hostile_model.py").write_text("def answer(batch):\n    return ['skin'] * len(batch)\n")
    known = {"classes": ["skin", "eye"], "experts": [{"name": "x", "knows": ["skin", "eye"]}]}
    known["experts"][0]["model"] = "python:hostile_model:answer"
    (folder / "models.json").write_text(json.dumps(known))
    status, said = run(["label", "images", "--panel", "models.json", "-o", "labels.csv", "--trust"])
    assert status == 2
    assert "bomb.png is too large" in said
    assert "shrink or remove it" in said
