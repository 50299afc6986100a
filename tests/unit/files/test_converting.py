"""Votes, labels and panels for other tools: what is written is read again as it was."""

import json
import re
import xml.etree.ElementTree as xml

import pyarrow.csv as csv
import pytest

from covote import Panel, Votes, decode
from covote.errors import InputError
from covote.files.converting import convert
from covote.tables.table_file import TableFile

VOTES = "item,expert,label\n1,ann,robin\n1,bob,magpie\n2,ann,none of mine\n2,bob,raven\n10,bob,magpie\n"
PANEL = {"ann": ["robin", "magpie"], "bob": ["raven", "magpie"]}


@pytest.fixture
def panel():
    return Panel.from_blocks(PANEL)


@pytest.fixture
def votes(tmp_path):
    place = tmp_path / "votes.csv"
    place.write_text(VOTES)
    return place


def rows(path):
    table = TableFile(path, exports=True).table().select(["item", "expert", "label"])
    return sorted(tuple(map(str, row.values())) for row in table.to_pylist())


PLAIN = sorted(tuple(line.split(",")) for line in VOTES.splitlines()[1:])


@pytest.mark.parametrize("name", ["votes.parquet", "votes.jsonl", "votes.xlsx", "tasks.json"])
def test_votes_come_back_from_every_format(tmp_path, votes, panel, name):
    assert convert(votes, tmp_path / name, panel=panel) == [tmp_path / name]
    assert rows(tmp_path / name) == PLAIN


def test_votes_come_back_from_a_dataset_with_class_labels(tmp_path, votes, panel):
    convert(votes, tmp_path / "birds", "hugging-face", panel=panel)
    info = json.loads((tmp_path / "birds" / "dataset_info.json").read_text())
    assert info["features"]["label"]["names"] == ["robin", "magpie", "raven", "none of mine"]
    assert rows(tmp_path / "birds") == PLAIN


def test_crowd_kit_has_its_own_names_of_columns(tmp_path, votes):
    convert(votes, tmp_path / "frame.csv", "crowd-kit")
    assert csv.read_csv(tmp_path / "frame.csv").column_names == ["task", "worker", "label"]


def test_an_export_becomes_a_plain_table(tmp_path, votes, panel):
    convert(votes, tmp_path / "tasks.json", panel=panel)
    convert(tmp_path / "tasks.json", tmp_path / "plain.csv")
    assert rows(tmp_path / "plain.csv") == PLAIN


def test_what_was_understood_is_said(tmp_path, votes, panel):
    convert(votes, tmp_path / "tasks.json", panel=panel)
    said = []
    convert(tmp_path / "tasks.json", tmp_path / "plain.csv", note=said.append)
    assert said == ["recognised as a Label Studio export (JSON)"]


def test_labels_become_predictions_with_their_confidence_as_the_score(tmp_path, votes, panel):
    labels = decode(Votes.load(votes, panel))
    labels.save(tmp_path / "labels.parquet")
    (tmp_path / "birds.csv").write_text("item,text\n1,red breast\n2,black\n10,black and white\n")
    convert(tmp_path / "labels.parquet", tmp_path / "tasks.json", panel=panel, items=tmp_path / "birds.csv")
    tasks = json.loads((tmp_path / "tasks.json").read_text())
    assert [task["data"]["text"] for task in tasks] == ["red breast", "black", "black and white"]
    said = {task["data"]["item"]: task["predictions"] for task in tasks}
    for item, label, confidence in zip(labels.items, labels.value, labels.confidence, strict=True):
        found = [(one["result"][0]["value"]["choices"][0], one["score"]) for one in said[item]]
        assert found == ([] if label is None else [(label, pytest.approx(confidence, abs=1e-6))])
        assert {one["model_version"] for one in said[item]} <= {"covote"}


@pytest.fixture
def labels(tmp_path, votes, panel):
    found = decode(Votes.load(votes, panel))
    found.save(tmp_path / "labels.parquet")
    (tmp_path / "birds.csv").write_text("item,text\n1,red breast\n2,black\n10,black and white\n")
    return found


def reviewed(tmp_path, panel, name, tool):
    place = tmp_path / name
    convert(tmp_path / "labels.parquet", place, tool, panel=panel, items=tmp_path / "birds.csv")
    text = place.read_text()
    return json.loads(text) if place.suffix == ".json" else [json.loads(line) for line in text.splitlines()]


def test_argilla_gets_the_labels_as_suggestions(tmp_path, panel, labels):
    records = reviewed(tmp_path, panel, "records.json", "argilla")
    assert [record["fields"] for record in records] == [
        {"text": text} for text in ("red breast", "black", "black and white")
    ]
    said = {record["id"]: record["suggestions"] for record in records}
    for item, label, confidence in zip(labels.items, labels.value, labels.confidence, strict=True):
        wanted = {"value": label, "score": pytest.approx(confidence), "agent": "covote"}
        assert said[str(item)] == ({} if label is None else {"label": wanted})


def test_doccano_reads_the_labels_that_covote_reads_again(tmp_path, panel, labels):
    documents = reviewed(tmp_path, panel, "covote.jsonl", "doccano")
    assert documents[0]["text"] == "red breast"
    given = [(i, v) for i, v in zip(labels.items, labels.value, strict=True) if v is not None]
    assert rows(tmp_path / "covote.jsonl") == sorted((str(i), "covote", v) for i, v in given)


def test_prodigy_shows_the_label_as_chosen_among_all_classes(tmp_path, panel, labels):
    tasks = reviewed(tmp_path, panel, "tasks.jsonl", "prodigy")
    assert [task["accept"] for task in tasks] == [[] if v is None else [v] for v in labels.value]
    assert [one["id"] for one in tasks[0]["options"]] == ["robin", "magpie", "raven"]
    assert [task["meta"]["item"] for task in tasks] == list(labels.items)


@pytest.mark.parametrize(
    ("name", "tool"), [("r.json", "argilla"), ("d.jsonl", "doccano"), ("t.jsonl", "prodigy")]
)
def test_scores_have_no_digits_that_mean_nothing(tmp_path, panel, labels, name, tool):
    text = json.dumps(reviewed(tmp_path, panel, name, tool))
    scores = [float(found) for found in re.findall(r'"score": ([0-9.]+)', text)]
    assert scores
    assert all(score == round(score, 6) for score in scores)


@pytest.mark.parametrize(
    ("name", "tool"), [("r.json", "argilla"), ("d.jsonl", "doccano"), ("t.jsonl", "prodigy")]
)
def test_tools_that_import_one_label_get_no_votes(tmp_path, votes, name, tool):
    with pytest.raises(InputError, match="decode the answers first"):
        convert(votes, tmp_path / name, tool)
    with pytest.raises(InputError, match=f"is written to a {(tmp_path / name).suffix} file"):
        convert(votes, tmp_path / "x.csv", tool)
    assert not (tmp_path / name).exists()


def test_every_expert_gets_a_configuration_with_its_own_classes(tmp_path, panel):
    panel.save(tmp_path / "panel.toml")
    files = convert(tmp_path / "panel.toml", tmp_path / "configurations", shown="image")
    assert [file.name for file in files] == ["ann.xml", "bob.xml"]
    for file, known in zip(files, PANEL.values(), strict=True):
        view = xml.parse(file).getroot()
        assert view.find("Image").attrib["value"] == "$image"
        choices = view.find("Choices")
        assert choices.attrib["choice"] == "single"
        assert choices.attrib["toName"] == view.find("Image").attrib["name"]
        assert {one.attrib["value"] for one in choices} == {*known, "none of mine"}


def test_labels_do_not_become_configurations(tmp_path, panel, labels):
    labels.save(tmp_path / "labels.csv")
    with pytest.raises(InputError, match="is a file of labels, and configurations are made from a panel"):
        convert(tmp_path / "labels.csv", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["other.toml", "panel.csv", "panel.json"])
def test_a_panel_stays_a_panel(tmp_path, panel, name):
    panel.save(tmp_path / "panel.toml")
    assert convert(tmp_path / "panel.toml", tmp_path / name) == [tmp_path / name]
    assert Panel.load(tmp_path / name) == panel


def test_names_that_are_markup_stay_names(tmp_path):
    Panel.from_blocks({"a/b": ['<x> & "y"', "z"]}).save(tmp_path / "panel.toml")
    (file,) = convert(tmp_path / "panel.toml", tmp_path / "out")
    assert file.name == "a_b.xml"
    assert xml.parse(file).getroot().find("Choices")[0].attrib["value"] == '<x> & "y"'


@pytest.mark.parametrize("names", [("a/b", "a b"), ("Ann", "ann")])
def test_experts_whose_files_would_be_one_are_rejected(tmp_path, names):
    Panel.from_blocks({name: ["x", "y"] for name in names}).save(tmp_path / "panel.toml")
    with pytest.raises(InputError, match="two experts would both be written"):
        convert(tmp_path / "panel.toml", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_panel_becomes_a_panel_file(tmp_path):
    (tmp_path / "panel.csv").write_text("expert,robin,magpie\nann,x,x\nbob,,x\n")
    convert(tmp_path / "panel.csv", tmp_path / "panel.toml")
    assert Panel.load(tmp_path / "panel.toml").blocks() == [("robin", "magpie"), ("magpie",)]


def test_other_tools_are_rejected(tmp_path, votes):
    with pytest.raises(InputError, match="tool='excel' is not one of 'table'"):
        convert(votes, tmp_path / "x.csv", "excel")
