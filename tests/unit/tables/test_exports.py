"""Exports of other tools: each is read as the plain table that it stands for, and damage is one line."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covote import Votes, decode
from covote.errors import CovoteError, FileError, InputError
from covote.files import decode_file
from covote.tables.formats import OBJECTS, TABLES
from covote.tables.table_file import TableFile

HERE = Path(__file__).parent / "exports"
PLAIN = {
    ("i1", "ann"): "robin", ("i1", "bob"): "robin", ("i1", "cy"): "magpie",
    ("i2", "ann"): "magpie", ("i2", "bob"): "raven", ("i2", "cy"): "magpie",
    ("i3", "ann"): "robin", ("i3", "cy"): "raven",
}  # fmt: skip
EXPORTS = {
    "label-studio.json": "a Label Studio export (JSON)",
    "label-studio-min.json": "a Label Studio export (JSON-MIN)",
    "label-studio.csv": "a Label Studio export (CSV)",
    "ground-truth.json": "a SageMaker Ground Truth consolidation file",
    "argilla.json": "an Argilla export",
    "argilla-1.jsonl": "an Argilla export",
    "prodigy.jsonl": "a Prodigy export",
    "doccano": "a doccano export",
    "mturk.csv": "results of Amazon Mechanical Turk",
    "hugging-face": "a Hugging Face dataset",
}
"""Each file in `exports` holds the answers of PLAIN, and what it is recognised as."""


def answers(path):
    """Return the answers of a file, with the names that the tool has for items and experts made plain."""
    table = TableFile(path, exports=True).table()
    columns = [[str(value) for value in table.column(name).to_pylist()] for name in ("item", "expert")]
    label = table.column("label").to_pylist()
    rows = zip(*columns, label, strict=True)
    return {
        (f"i{item[-1]}", expert.removeprefix("birds-").partition("@")[0]): said for item, expert, said in rows
    }


def note_of(path):
    return " | ".join(TableFile(path, exports=True).notes)


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
        TableFile(place, exports=True)


@pytest.mark.parametrize(
    "name", ["label-studio.json", "ground-truth.json", "argilla.json", "label-studio-min.json"]
)
@pytest.mark.parametrize("other", [7, None, "text", ["a"], {"a": {"b": []}}])
def test_records_of_another_kind_are_rejected_in_one_line(tmp_path, name, other):
    place = changed(tmp_path, name, lambda records: records.insert(1, other))
    with pytest.raises(FileError, match=r"record 2|is not a name") as caught:
        TableFile(place, exports=True)
    assert "\n" not in str(caught.value)


def test_several_choices_are_rejected_with_the_task(tmp_path):
    def choose_two(tasks):
        tasks[1]["annotations"][0]["result"][0]["value"]["choices"] = ["robin", "raven"]

    with pytest.raises(InputError, match=r"task 42 has several choices \(robin, raven\)"):
        TableFile(changed(tmp_path, "label-studio.json", choose_two), exports=True)


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
    assert "left out: 1 discarded response" in note_of(HERE / "argilla-1.jsonl")


def test_predictions_are_the_answers_of_a_file_without_annotations(tmp_path):
    def only_models(tasks):
        for task in tasks:
            task["annotations"] = []

    table = TableFile(changed(tmp_path, "label-studio.json", only_models), exports=True).table()
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
    assert TableFile(place, exports=True).table().column("label").to_pylist() == ["robin", "raven"]
    place.write_text(place.read_text() + "h2,w1,a3,Submitted,true,true\n")
    with pytest.raises(InputError, match="assignment a3 has several choices"):
        TableFile(place, exports=True)


def test_a_dataset_whose_codes_are_beyond_its_names_is_rejected(tmp_path):
    folder = tmp_path / "birds"
    shutil.copytree(HERE / "hugging-face", folder)
    info = json.loads((folder / "dataset_info.json").read_text())
    info["features"]["label"]["names"] = ["robin"]
    (folder / "dataset_info.json").write_text(json.dumps(info))
    with pytest.raises(FileError, match="not a complete Hugging Face dataset"):
        TableFile(folder, exports=True)
    for file in folder.glob("*.arrow"):
        file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(FileError, match="not a complete Hugging Face dataset"):
        TableFile(folder, exports=True)


def test_json_of_no_known_tool_is_rejected_with_the_tools_that_are(tmp_path):
    place = tmp_path / "votes.json"
    place.write_text('[{"item": 1, "expert": "ann", "label": "robin"}]')
    with pytest.raises(FileError, match="none of these: a Label Studio export, a SageMaker"):
        decode_file(place, tmp_path / "labels.csv", "all")
    place.write_text("[" * 100_000)
    with pytest.raises(FileError, match="nested too deep"):
        Votes.load(place)


def chosen(*choices, question="bird", kind="choices"):
    return {"from_name": question, "to_name": "photo", "type": kind, "value": {kind: list(choices)}}


def annotated(*results, number=1, **more):
    said = [
        {"completed_by": who, "result": result, **more} for who, result in zip("ABC", results, strict=False)
    ]
    return {"id": number, "data": {"text": "t"}, "annotations": said}


def form(*elements):
    """Return a consolidation request with a form for each worker."""
    said = [
        {"workerId": who, "annotationData": {"content": json.dumps(element)}}
        for who, element in zip("ABC", elements, strict=False)
    ]
    return {"datasetObjectId": "0", "dataObject": {"content": "t"}, "annotations": said}


def prodigy_answer(session, **said):
    return {"text": "t", "_input_hash": -12, "_session_id": session, "answer": "accept", **said}


MTURK = "HITId,AssignmentId,WorkerId,AssignmentStatus,"
ROBIN_RAVEN = {"A": "robin", "B": "raven"}
PLAUSIBLE = {
    "a null result": ("x.json", [annotated([chosen("robin")], [chosen("raven")], None)]),
    "a choice that is text": (
        "x.json",
        [annotated([chosen("robin")], [chosen("raven") | {"value": {"choices": "raven"}}])],
    ),
    "regions next to choices": (
        "x.json",
        [annotated([chosen("robin"), chosen("b", kind="rectanglelabels")], [chosen("raven")])],
    ),
    "an item that is not a name": (
        "x.json",
        [annotated([chosen("robin")], [chosen("raven")]) | {"data": {"item": ["a"], "text": "t"}}],
    ),
    "one task": ("x.json", annotated([chosen("robin")], [chosen("raven")])),
    "lines in a file called .json": (
        "x.json",
        json.dumps(annotated([chosen("robin")])) + "\r\n" + json.dumps(annotated([], [chosen("raven")])),
    ),
    "empty lines before the first": (
        "x.jsonl", "\n\r\n" + json.dumps(annotated([chosen("robin")], [chosen("raven")]))
    ),
    "predictions without a model": (
        "x.json",
        [{"id": n, "data": {"item": who}, "predictions": [{"result": [chosen(label)]}]}
         for n, (who, label) in enumerate(ROBIN_RAVEN.items())],
    ),
    "a form in a list": ("x.json", [form([{"c": {"label": "robin"}}], [{"c": {"label": "raven"}}])]),
    "radio buttons that are elements": (
        "x.json",
        [form(*({name: {"on": name == said} for name in ("robin", "raven")} for said in ("robin", "raven")))],
    ),
    "an answer that is null": ("x.json", [form({"c": "robin"}, {"c": "raven"}, {"c": None})]),
    "Mechanical Turk in JSON": (
        "x.csv",
        MTURK + "Answer.taskAnswers\n"
        'h,1,A,Approved,"[{""c"":{""label"":""robin""}}]"\n'
        'h,2,B,Submitted,"[{""c"":{""label"":""raven""}}]"\n',
    ),
    "Mechanical Turk with empty cells of radio buttons": (
        "x.csv", MTURK + "Answer.c.robin,Answer.c.raven\nh,1,A,Approved,true,\nh,2,B,Approved,,true\n"
    ),
    "Argilla without values": (
        "x.jsonl",
        json.dumps({"external_id": "r", "fields": {"text": "t"}, "responses": [
            {"user_id": "A", "values": {"c": {"value": "robin"}}, "status": "submitted"},
            {"user_id": "B", "values": {"c": {"value": "raven"}}, "status": "submitted"},
            {"user_id": "C", "values": None, "status": "draft"},
        ]}),
    ),
    "Prodigy with text for a choice": (
        "x.jsonl",
        "\n".join(json.dumps(one) for one in (
            prodigy_answer("A", accept="robin"), prodigy_answer("B", accept=["raven"]),
            prodigy_answer("C", spans=[]), {"text": "not answered", "_input_hash": 1},
        )),
    ),
}  # fmt: skip
"""Files that differ from the examples as other projects do, all with the answers robin and raven."""


def write(tmp_path, name, content):
    place = tmp_path / name
    place.write_bytes((content if isinstance(content, str) else json.dumps(content)).encode())
    return place


@pytest.mark.parametrize("what", PLAUSIBLE)
def test_an_export_of_another_project_gives_its_answers(tmp_path, what):
    table = TableFile(write(tmp_path, *PLAUSIBLE[what]), exports=True).table()
    said = [row for row in table.to_pylist() if row["label"] is not None]
    if what.startswith("predictions"):
        assert [(row["expert"], row["label"]) for row in said] == [("model", "robin"), ("model", "raven")]
    else:
        assert {row["expert"]: row["label"] for row in said} == ROBIN_RAVEN


UNUSABLE = {
    "no annotations": ("x.json", [annotated()], "a Label Studio export .JSON., but it has no answers"),
    "boxes only": (
        "x.json",
        [annotated([chosen("b", kind="rectanglelabels")])],
        "no answers .left out: 1 rectanglelabels result.; covote reads one label per item and expert",
    ),
    "boxes in a form": ("x.json", [form({"c": {"boundingBoxes": []}})], "object 0 has {'boundingBoxes': "),
    "spans": (
        "ann.jsonl",
        '{"id": 1, "text": "t", "label": [[0, 1, "PER"]]}',
        r"document 1 has \[\[0, 1, 'PER'\]\] where covote reads one label",
    ),
    "several in JSON-MIN": (
        "x.json",
        [{"id": 7, "bird": ["robin", "raven"], "annotator": 1, "annotation_id": 2}],
        r"task 7 has several choices \(robin, raven\)",
    ),
    "nothing": ("x.json", " ", "is empty: it has no records"),
    "no records": ("x.json", [], "is empty: it has no records"),
    "a line that is cut": (
        "ann.jsonl",
        '{"id": 1, "text": "t", "label": ["x"]}\n{"id": 2, "te',
        "Unterminated string starting at .line 2, column 11.; check that it was written",
    ),
    "a cell that is cut": ("x.csv", MTURK + 'Answer.c\nh,1,A,Approved,"rob', "ends within a quoted cell"),
    "fields that are a number": (
        "x.json",
        [{"id": 1, "fields": 7, "responses": {"c": [{"user_id": "A", "value": "robin"}]}}],
        "record 1 is not as that tool writes it",
    ),
    "a score that is text": (
        "x.json",
        [{"id": 1, "data": {}, "predictions": [{"result": [chosen("robin")], "score": "high"}]}],
        "record 1 is not as that tool writes it",
    ),
    "a question without a name": (
        "x.json",
        [annotated([chosen("robin", question=None)])],
        "record 1 is not as that tool writes it",
    ),
    "half a character": ("x.json", [annotated([chosen("rob\ud800in")])], "surrogates not allowed; save it"),
    "half a character in a question": (
        "x.json",
        [annotated([chosen("robin", question="a\ud800")])],
        "surrogates not allowed; save it",
    ),
    "two questions": (
        "x.json",
        [annotated([chosen("robin"), chosen("good", question="light")])],
        r"no column 'label' \(it has: item, expert, bird, light, text\)",
    ),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_what_cannot_be_read_is_rejected_with_file_place_and_remedy(tmp_path, what):
    name, content, message = UNUSABLE[what]
    place = write(tmp_path, name, content)
    with pytest.raises(CovoteError, match=message) as caught:
        Votes.load(place)
    assert str(caught.value).startswith(str(place))
    assert "\n" not in str(caught.value)


def test_a_file_in_another_encoding_is_read_or_the_encoding_is_named(tmp_path):
    task = [annotated([chosen("Mäuse")], [chosen("Eule")])]
    place = tmp_path / "x.json"
    for encoding in ("utf-8-sig", "utf-16"):
        place.write_text(json.dumps(task, ensure_ascii=False), encoding=encoding)
        assert set(Votes.load(place).panel.classes) == {"Mäuse", "Eule"}
    place.write_text(json.dumps(task, ensure_ascii=False), encoding="latin-1")
    with pytest.raises(FileError, match="save it as UTF-8"):
        Votes.load(place)


def test_a_question_with_several_choices_does_not_stop_another(tmp_path):
    more = chosen("good", "dark", question="light")
    place = write(tmp_path, "x.json", [annotated([chosen("robin"), more], [chosen("raven")])])
    assert "the question 'light' (task 1 has several choices (good, dark))" in note_of(place)
    assert set(Votes.load(place, label="bird").panel.classes) == {"robin", "raven"}
    with pytest.raises(InputError, match="no column 'label'"):  # which of the two is meant is not guessed
        Votes.load(place)


def test_the_only_question_can_be_named(tmp_path):
    assert len(Votes.load(HERE / "label-studio.json", label="bird")) == 3


def test_questions_called_item_and_expert_do_not_replace_them(tmp_path):
    results = [chosen("robin", question="item"), chosen("ann", question="expert")]
    place = write(tmp_path, "x.json", [annotated(results)])
    assert Votes.load(place, label="item_").to_arrow().to_pylist() == [
        {"item": 1, "expert": "A", "label": "robin"}
    ]


def test_answers_of_no_one_are_counted(tmp_path):
    task = annotated([chosen("robin")], [chosen("raven")])
    task["annotations"][1]["completed_by"] = None
    assert "left out: 1 answer without an expert" in note_of(write(tmp_path, "x.json", [task]))


def test_exports_of_several_projects_are_read_together(tmp_path):
    for who, said in ROBIN_RAVEN.items():
        task = annotated([chosen(said)]) | {"data": {"item": "photo"}}
        task["annotations"][0]["completed_by"] = who
        (tmp_path / f"{who}.json").write_text(json.dumps([task]))
    (tmp_path / "C.json").write_text("[]")  # has not begun yet
    votes = Votes.load(tmp_path)
    assert (votes.items.tolist(), votes.panel.names) == (["photo"], ("A", "B"))
    shutil.copy(HERE / "argilla.json", tmp_path)
    with pytest.raises(CovoteError, match="is a folder"):
        Votes.load(tmp_path)


def test_a_parquet_file_of_a_dataset_has_the_names_of_its_classes(tmp_path):
    label = {"names": ["robin", "raven"], "_type": "ClassLabel"}
    text = {"dtype": "string", "_type": "Value"}
    features = {"item": text, "expert": text, "label": label}
    table = pa.table({"item": ["a", "a", "b"], "expert": ["A", "B", "A"], "label": [0, 1, -1]})
    known = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(known, tmp_path / "x.parquet")
    assert note_of(tmp_path / "x.parquet") == "recognised as a Hugging Face dataset"
    said = TableFile(tmp_path / "x.parquet", exports=True).table().column("label").to_pylist()
    assert said == ["robin", "raven", None]
    label["names"] = ["robin"]
    known = table.replace_schema_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    pq.write_table(known, tmp_path / "x.parquet")
    with pytest.raises(FileError, match=r"x\.parquet"):
        TableFile(tmp_path / "x.parquet", exports=True)
    pq.write_table(table.replace_schema_metadata({"huggingface": "?"}), tmp_path / "x.parquet")
    assert set(Votes.load(tmp_path / "x.parquet").panel.classes) == {0, 1, -1}


def test_a_dataset_without_rows_has_no_votes(tmp_path):
    folder = tmp_path / "birds"
    shutil.copytree(HERE / "hugging-face", folder)
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps(state | {"_data_files": []}))
    with pytest.raises(FileError, match="birds has no answers: it has no rows"):
        TableFile(folder, exports=True)


def argilla_record(label, **about):
    response = {"value": label, "status": "submitted", "user_id": "u1"}
    return {**about, "fields": {"text": label}, "responses": {"bird": [response]}}


def test_records_0_and_1_stay_apart(tmp_path):
    place = tmp_path / "argilla.json"
    place.write_text(json.dumps([argilla_record("robin", id=0), argilla_record("raven", id=1)]))
    assert TableFile(place, exports=True).table().column("item").to_pylist() == [0, 1]
    place.write_text(json.dumps([argilla_record("robin"), argilla_record("raven", id=1)]))
    with pytest.raises(InputError, match="record 1 has no id, and another has the id 1"):
        TableFile(place, exports=True)
    place.write_text(json.dumps([argilla_record("robin", id="7"), argilla_record("raven", id=7)]))
    with pytest.raises(InputError, match="item 7 is there as text and as a number"):
        TableFile(place, exports=True)


def test_tasks_of_several_files_need_ids(tmp_path):
    for name, label in (("a", "robin"), ("b", "raven")):
        task = annotated([chosen(label)])
        task.pop("id", None)
        (tmp_path / f"{name}.json").write_text(json.dumps([task]))
    with pytest.raises(InputError, match=r"record 1 has no id, and that of another file has none"):
        TableFile(tmp_path, exports=True)
    assert TableFile(tmp_path / "a.json", exports=True).table().column("item").to_pylist() == [1]


DEEP = "[" * 100_000 + "]" * 100_000


def test_answers_of_a_hundred_thousand_brackets_are_rejected_in_one_line(tmp_path):
    (tmp_path / "turk.csv").write_text(f'HITId,WorkerId,Answer.taskAnswers\nh1,w1,"{DEEP}"\n')
    said = {"workerId": "w1", "annotationData": {"content": DEEP}}
    record = {"datasetObjectId": "0", "annotations": [said], "dataObject": {}}
    (tmp_path / "truth.json").write_text(json.dumps([record]))
    for name in ("turk.csv", "truth.json"):
        with pytest.raises(FileError, match=r"record 1 is not as that tool writes it"):
            TableFile(tmp_path / name, exports=True)


@pytest.mark.parametrize("label", [{"_type": "ClassLabel"}, {"_type": "ClassLabel", "names": 3}])
def test_a_parquet_file_of_a_dataset_without_names_of_classes_is_rejected(tmp_path, label):
    table = pa.table({"item": ["a"], "expert": ["A"], "label": [0]})
    about = json.dumps({"info": {"features": {"label": label}}})
    pq.write_table(table.replace_schema_metadata({"huggingface": about}), tmp_path / "x.parquet")
    with pytest.raises(FileError, match="classes cannot be read"):
        TableFile(tmp_path / "x.parquet", exports=True)


def test_every_format_has_an_example():
    names = {one.name for one in (*OBJECTS.values(), *TABLES.values())}
    assert names == set(EXPORTS.values()) - {"a Hugging Face dataset"}


def test_a_user_who_answers_twice_in_argilla_gives_two_answers(tmp_path):
    def twice(records):
        records[0]["responses"]["bird"].append({"value": "wren", "user_id": "ann"})

    table = TableFile(changed(tmp_path, "argilla.json", twice), exports=True).table()
    rows = zip(*(table.column(name).to_pylist() for name in ("item", "expert", "label")), strict=True)
    assert [row for row in rows if row[:2] == ("i1", "ann")] == [
        ("i1", "ann", "robin"),
        ("i1", "ann", "wren"),
    ]


def test_truth_values_among_numbers_are_text(tmp_path):
    def mixed(records):
        for record, value in zip(records, (True, 1, 2), strict=True):
            record["fields"]["is_day"] = value

    table = TableFile(changed(tmp_path, "argilla.json", mixed), exports=True).table()
    assert set(table.column("is_day").to_pylist()) == {"True", "1", "2"}


@pytest.mark.parametrize("score", [2**70, 10**400, "0.5", [0.5]])
def test_a_score_that_is_none_is_refused_in_one_line(tmp_path, score):
    place = tmp_path / "predicted.json"
    choice = {"from_name": "bird", "to_name": "x", "type": "choices", "value": {"choices": ["robin"]}}
    said = {"model_version": "net", "score": score, "result": [choice]}
    place.write_text(json.dumps([{"id": 1, "data": {}, "annotations": [], "predictions": [said]}]))
    with pytest.raises(FileError, match="record 1 is not as that tool writes it"):
        TableFile(place, exports=True)


def test_a_number_with_a_point_names_a_task_of_label_studio(tmp_path):
    def name(records):
        for n, record in enumerate(records):
            record["data"]["item"] = n + 0.5

    table = TableFile(changed(tmp_path, "label-studio.json", name), exports=True).table()
    assert list(dict.fromkeys(table.column("item").to_pylist())) == ["0.5", "1.5", "2.5"]
