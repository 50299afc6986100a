"""Exports of other tools: each is read as the plain table that it stands for, and damage is one line."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from covote import Votes, decode
from covote.errors import CovoteError, FileError, InputError
from covote.files import decode_file
from covote.tables.batches import Source
from covote.tables.formats import OBJECTS, TABLES

HERE = Path(__file__).parent / "exports"
PLAIN = {
    ("i1", "ann"): "robin", ("i1", "bob"): "robin", ("i1", "cy"): "magpie",
    ("i2", "ann"): "magpie", ("i2", "bob"): "raven", ("i2", "cy"): "magpie",
    ("i3", "ann"): "robin", ("i3", "cy"): "raven",
}  # fmt: skip
EXPORTS = {
    "label-studio.json": "a Label Studio export (JSON)",
    "label-studio-min.json": "a Label Studio export (JSON-MIN)",
    "ground-truth.json": "a SageMaker Ground Truth consolidation file",
    "argilla.json": "an Argilla export",
    "argilla-1.jsonl": "an Argilla export",
    "prodigy.jsonl": "a Prodigy export",
    "doccano": "a doccano export",
    "mturk.csv": "results of Amazon Mechanical Turk",
    "toloka.tsv": "assignments of Toloka",
    "hugging-face": "a Hugging Face dataset",
}
"""Each file in `exports` holds the answers of PLAIN, and what it is recognised as."""


def answers(path):
    """Return the answers of a file, with the names that the tool has for items and experts made plain."""
    table = Source(path, exports=True).table()
    columns = [[str(value) for value in table.column(name).to_pylist()] for name in ("item", "expert")]
    label = table.column("label").to_pylist()
    rows = zip(*columns, label, strict=True)
    return {
        (f"i{item[-1]}", expert.removeprefix("birds-").partition("@")[0]): said for item, expert, said in rows
    }


def note_of(path):
    return " | ".join(Source(path, exports=True).notes)


def changed(tmp_path, name, change):
    """Return a copy of a JSON file whose records a function has changed."""
    records = json.loads((HERE / name).read_text())
    change(records)
    place = tmp_path / name
    place.write_text(json.dumps(records))
    return place


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_is_recognised_and_equals_the_plain_table(name):
    assert answers(HERE / name) == PLAIN
    assert note_of(HERE / name).startswith(f"recognised as {EXPORTS[name]}")


@pytest.mark.parametrize("name", EXPORTS)
def test_an_export_decodes_to_the_labels_of_the_plain_table(name):
    items, experts = zip(*PLAIN, strict=True)
    plain = pa.table({"item": items, "expert": experts, "label": list(PLAIN.values())})
    wanted = decode_of(Votes.from_table(plain))
    found = decode_of(Votes.load(HERE / name))
    assert sorted(found.items()) == sorted(wanted.items())


def decode_of(votes):
    labels = decode(votes, method="authority")
    return {str(item)[-1]: label for item, label in zip(votes.items, labels.value, strict=True)}


@pytest.mark.parametrize("name", [name for name in EXPORTS if (HERE / name).is_file()])
@pytest.mark.parametrize("share", [0.4, 0.5, 0.97])
def test_a_file_that_is_cut_is_rejected_in_one_line(tmp_path, name, share):
    place = tmp_path / name
    content = (HERE / name).read_bytes()
    place.write_bytes(content[: int(share * len(content))])
    with pytest.raises(CovoteError) as caught:
        answers(place)
    assert str(place) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("label-studio.json", ("annotations", 0, "completed_by")),
        ("label-studio.json", ("annotations", 0, "result", 0, "value")),
        ("ground-truth.json", ("annotations", 0, "workerId")),
        ("argilla.json", ("responses", "bird", 0, "user_id")),
    ],
)
def test_a_record_without_what_it_must_have_is_named(tmp_path, name, missing):
    def remove(records):
        place = records[1]
        for key in missing[:-1]:
            place = place[key]
        del place[missing[-1]]

    place = changed(tmp_path, name, remove)
    with pytest.raises(FileError, match=f"record 2 has no '{missing[-1]}'; export it again"):
        Source(place, exports=True)


@pytest.mark.parametrize(
    "name", ["label-studio.json", "ground-truth.json", "argilla.json", "label-studio-min.json"]
)
@pytest.mark.parametrize("other", [7, None, "text", ["a"], {"a": {"b": []}}])
def test_records_of_another_kind_are_rejected_in_one_line(tmp_path, name, other):
    place = changed(tmp_path, name, lambda records: records.insert(1, other))
    with pytest.raises(FileError, match=r"record 2|is not a name") as caught:
        Source(place, exports=True)
    assert "\n" not in str(caught.value)


def test_several_choices_are_rejected_with_the_task(tmp_path):
    def choose_two(tasks):
        tasks[1]["annotations"][0]["result"][0]["value"]["choices"] = ["robin", "raven"]

    with pytest.raises(InputError, match=r"task 42 has several choices \(robin, raven\)"):
        Source(changed(tmp_path, "label-studio.json", choose_two), exports=True)


def test_several_questions_are_columns_of_which_one_is_chosen(tmp_path):
    def ask_more(tasks):
        for task in tasks:
            for said in task["annotations"]:
                said["result"] += [
                    {
                        "from_name": "light",
                        "to_name": "photo",
                        "type": "choices",
                        "value": {"choices": ["good"]},
                    }
                ]

    place = changed(tmp_path, "label-studio.json", ask_more)
    assert "experts answered 2 questions" in note_of(place)
    votes = Votes.load(place, label="bird")
    assert set(votes.panel.classes) == {"robin", "magpie", "raven"}


def test_what_was_left_out_is_counted():
    assert "left out: 1 cancelled annotation, 1 prediction" in note_of(HERE / "label-studio.json")
    assert "left out: 1 ignored answer" in note_of(HERE / "prodigy.jsonl")
    assert "left out: 1 rejected assignment" in note_of(HERE / "mturk.csv")
    assert "left out: 1 rejected assignment" in note_of(HERE / "toloka.tsv")
    assert "left out: 1 discarded response" in note_of(HERE / "argilla-1.jsonl")


def test_predictions_are_the_answers_of_a_file_without_annotations(tmp_path):
    def only_models(tasks):
        for task in tasks:
            task["annotations"] = []

    table = Source(changed(tmp_path, "label-studio.json", only_models), exports=True).table()
    assert table.select(["item", "expert", "label", "probability"]).to_pylist() == [
        {"item": "i1", "expert": "net-3", "label": "robin", "probability": 0.71}
    ]


def test_predictions_of_a_light_export_are_numbers(tmp_path):
    def only_numbers(tasks):
        for task in tasks:
            task["predictions"] = [one["id"] for one in task["predictions"]]

    place = changed(tmp_path, "label-studio.json", only_numbers)
    assert answers(place) == PLAIN
    assert "1 prediction" in note_of(place)


def test_other_columns_of_the_tasks_can_name_the_items():
    votes = Votes.load(HERE / "label-studio.json", item="image")
    assert votes.items.tolist()[0] == "/data/upload/7/i1.jpg"


def test_radio_buttons_of_mechanical_turk_are_one_answer(tmp_path):
    place = tmp_path / "batch.csv"
    place.write_text(
        "HITId,WorkerId,AssignmentId,AssignmentStatus,Answer.bird.raven,Answer.bird.robin\n"
        "h1,w1,a1,Submitted,false,true\nh1,w2,a2,Submitted,true,false\n"
    )
    assert Source(place, exports=True).table().column("label").to_pylist() == ["robin", "raven"]
    place.write_text(place.read_text() + "h2,w1,a3,Submitted,true,true\n")
    with pytest.raises(InputError, match="assignment a3 has several choices"):
        Source(place, exports=True)


def test_a_dataset_whose_codes_are_beyond_its_names_is_rejected(tmp_path):
    folder = tmp_path / "birds"
    shutil.copytree(HERE / "hugging-face", folder)
    info = json.loads((folder / "dataset_info.json").read_text())
    info["features"]["label"]["names"] = ["robin"]
    (folder / "dataset_info.json").write_text(json.dumps(info))
    with pytest.raises(FileError, match="not a complete Hugging Face dataset"):
        Source(folder, exports=True)
    for file in folder.glob("*.arrow"):
        file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(FileError, match="not a complete Hugging Face dataset"):
        Source(folder, exports=True)


def test_json_of_no_known_tool_is_rejected_with_the_tools_that_are(tmp_path):
    place = tmp_path / "votes.json"
    place.write_text('[{"item": 1, "expert": "ann", "label": "robin"}]')
    with pytest.raises(FileError, match="none of these: a Label Studio export, a SageMaker"):
        decode_file(place, tmp_path / "labels.csv", "all")
    place.write_text("[" * 100_000)
    with pytest.raises(FileError, match="nested too deep"):
        Votes.load(place)


def test_every_format_has_an_example():
    names = {one.name for one in (*OBJECTS.values(), *TABLES.values())}
    assert names == set(EXPORTS.values()) - {"a Hugging Face dataset"}
