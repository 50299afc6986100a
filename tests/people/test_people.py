"""Tables as people make them: what covote makes of each is written in manifest.json.

A table is accepted, with the panel, votes, labels and notes that are expected of it, or refused with a
message that names all of its problems. Where the manifest does not say which panel or votes, they are those
of a clinic with three doctors, each of whom knows two of three diseases.
"""

import json
import re
import warnings
from pathlib import Path

import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

from covote import CovoteError, Panel, ReadOptions, Votes
from covote.files import VoteFile, decode_file
from covote.tables.dialect import read_cells
from covote.votes.problems import DroppedWarning

HERE = Path(__file__).parent
MANIFEST = json.loads((HERE / "manifest.json").read_text(encoding="utf-8"))
LEE, MULLER, ZOE = "Dr. Lee", "Müller", "Zoë"
A, B, C = "melanoma", "nævus", "eczéma"
CLINIC = {LEE: [A, B], MULLER: [B, C], ZOE: [A, C]}
ANSWERS = {"img1": [A, B, A], "img2": [B, B, C], "img3": [A, C, C]}
VOTES = [[item, name, said] for item, row in ANSWERS.items() for name, said in zip(CLINIC, row, strict=True)]
LABELS = {"img1": A, "img2": B, "img3": C}


def names(entries):
    return [entry["file"] for entry in entries]


def test_there_are_enough_tables_and_all_are_used():
    assert len(MANIFEST["panels"]) + len(MANIFEST["votes"]) >= 60
    used = {*names(MANIFEST["panels"]), *(f"../votes/{n}" for n in names(MANIFEST["votes"]))}
    there = {p.name for p in (HERE / "panels").iterdir()} | {
        f"../votes/{p.name}" for p in (HERE / "votes").iterdir()
    }
    assert used | {"../votes/names.csv"} == there


@pytest.mark.parametrize("entry", MANIFEST["panels"], ids=names(MANIFEST["panels"]))
def test_panels(entry):
    path = HERE / "panels" / entry["file"]
    if "refused" in entry:
        with pytest.raises(CovoteError) as caught:
            Panel.load(path)
        message = str(caught.value)
        assert [words for words in (entry["file"], *entry["refused"]) if words not in message] == [], message
        return
    panel = Panel.load(path)
    blocks = entry.get("blocks", CLINIC)
    assert {
        name: sorted(map(str, known)) for name, known in zip(panel.names, panel.blocks(), strict=True)
    } == {name: sorted(map(str, known)) for name, known in blocks.items()}
    assert {type(name) for name in panel.classes} == {
        type(name) for known in blocks.values() for name in known
    }
    assert panel.cost.tolist() == entry.get("cost", [1] * len(panel))


@pytest.mark.parametrize(
    "entry", [e for e in MANIFEST["panels"] if "refused" not in e], ids=lambda e: e["file"]
)
def test_a_panel_in_memory_is_read_as_its_file(entry):
    path = HERE / "panels" / entry["file"]
    if path.suffix in (".toml", ".json"):
        return
    head, *rows = [row for row in read_cells(path) if any(row)]
    width = max(map(len, [head, *rows]))
    head, *rows = (row + [""] * (width - len(row)) for row in (head, *rows))
    if len(set(head)) < len(head):
        return  # a table in memory has a name for each column
    frame = {name: [row[c] for row in rows] for c, name in enumerate(head)}
    assert Panel.from_table(frame) == Panel.load(path)


def opened(entry):
    """Return the file, its panel, and how it is to be read."""
    path = HERE / "votes" / entry["file"]
    options = dict(entry.get("options", {}))
    known = entry["panel"]
    panel = VoteFile(path, known).panel if known in ("all", "infer") else Panel.load(HERE / "panels" / known)
    if "rename" in entry:
        options["rename"] = HERE / "votes" / entry["rename"]
    return path, panel, options


ACCEPTED = [entry for entry in MANIFEST["votes"] if "refused" not in entry]
REFUSED = [entry for entry in MANIFEST["votes"] if "refused" in entry]


@pytest.mark.parametrize("entry", ACCEPTED, ids=names(ACCEPTED))
def test_votes_that_are_accepted(entry, tmp_path):
    path, panel, options = opened(entry)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        votes = VoteFile(path, panel, ReadOptions(**options)).read()
        outcome = decode_file(path, tmp_path / "labels.parquet", panel, reading=ReadOptions(**options))
    told = [str(warning.message) for warning in caught if warning.category is DroppedWarning]
    assert bool(told) == ("dropped" in entry)
    for words in entry.get("dropped", ()):
        assert all(words in message for message in told), told
    rows = votes.to_arrow().to_pylist()
    found = sorted([row["item"], row["expert"], row["label"]] for row in rows)
    expected = sorted(entry.get("votes", VOTES))
    assert [[str(cell) for cell in row] for row in found] == [[str(cell) for cell in row] for row in expected]
    labels = pq.read_table(tmp_path / "labels.parquet").to_pydict()
    said = dict(zip(map(str, labels["item"]), labels["label"], strict=True))
    for item, label in entry.get("labels", LABELS).items():
        assert said[item] == label
    notes = " | ".join(outcome.notes)
    assert [words for words in entry.get("notes", ()) if words not in notes] == [], notes
    if entry.get("notes") == []:
        assert notes == ""


@pytest.mark.parametrize("entry", REFUSED, ids=names(REFUSED))
def test_votes_that_are_refused(entry, tmp_path):
    panel, options = panel_of(entry)
    path = HERE / "votes" / entry["file"]
    with pytest.raises(CovoteError) as caught:
        decode_file(path, tmp_path / "labels.parquet", panel, reading=ReadOptions(**options))
    message = str(caught.value)
    assert [words for words in (entry["file"], *entry["refused"]) if words not in message] == [], message
    assert "\n" not in message
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("entry", MANIFEST["votes"], ids=names(MANIFEST["votes"]))
def test_a_table_in_memory_is_read_as_its_file(entry):
    """One reader, one set of messages: pandas, Parquet and CSV differ in nothing but where they come from."""
    path = HERE / "votes" / entry["file"]
    if path.suffix != ".csv" or path.read_bytes()[:1] in (b"\xff", b""):
        return
    try:
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError:
        return
    head = text.splitlines()[0]
    if ";" in head or "\t" in head or head.startswith(",") or head.endswith(",") or entry["panel"] == "infer":
        return
    _, panel, options = opened(entry) if "refused" not in entry else (0, *panel_of(entry))
    table = pc.read_csv(
        path,
        parse_options=pc.ParseOptions(newlines_in_values=True),
        convert_options=pc.ConvertOptions(
            strings_can_be_null=True, null_values=[""], column_types=dict.fromkeys(head.split(","), "string")
        ),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DroppedWarning)
        if "refused" not in entry:
            given = None if entry["panel"] == "all" else panel
            votes = Votes.from_table(table, given, **options).to_arrow().to_pylist()
            found = sorted([str(row[c]).strip() for c in ("item", "expert", "label")] for row in votes)
            assert found == sorted([str(cell) for cell in row] for row in entry.get("votes", VOTES))
        elif len(table):
            with pytest.raises(CovoteError) as caught:
                Votes.from_table(table, panel, **options)
            message = str(caught.value)
            # A table in memory has no heading to be counted.
            rows = [
                re.sub(r"row (\d+)", lambda n: f"row {int(n[1]) - 1}", words) for words in entry["refused"]
            ]
            assert [words for words in rows if words not in message] == [], message


def panel_of(entry):
    return Panel.load(HERE / "panels" / entry["panel"]), dict(entry.get("options", {}))
