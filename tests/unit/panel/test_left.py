"""Experts who have left: their answers count, and nothing else does."""

import json

import pytest

from covote import Asker, Panel, Votes, complete, decode, select
from covote.decoding.explaining import advice
from covote.errors import InputError

PANEL = Panel.from_blocks(
    {"ann": ["skin", "eye"], "bob": ["eye", "ear"], "cy": ["skin", "ear"]}, left=[False, True, False]
)
NAMES = ("ann", "bob", "cy")


def gone(panel):
    return [name for name, left in zip(panel.names, panel.left.tolist(), strict=True) if left]


@pytest.mark.parametrize("ending", ["toml", "json", "csv", "xlsx"])
def test_a_file_keeps_who_has_left(tmp_path, ending):
    path = tmp_path / f"panel.{ending}"
    PANEL.save(path)
    assert Panel.load(path) == PANEL
    assert gone(Panel.load(path)) == ["bob"]
    assert Panel.from_dict(PANEL.to_dict()) == PANEL
    assert Panel.from_blocks(dict(zip(NAMES, PANEL.blocks(), strict=True))) != PANEL


@pytest.mark.parametrize("left", [[False, False], [False, True]])
def test_classes_that_are_called_left_and_cost_survive_a_csv_file(tmp_path, left):
    panel = Panel.from_blocks({"ann": ["left", "cost"], "bob": ["cost"]}, cost=[1, 0], left=left)
    panel.save(tmp_path / "panel.csv")
    assert Panel.load(tmp_path / "panel.csv") == panel


@pytest.mark.parametrize(
    "text",
    [
        "doctor,skin,eye,ear,left\nann,x,x,,\nbob,,x,x,x\ncy,x,,x,no\n",
        "doctor,left at,skin,eye,ear\nann,,x,x,\nbob,2024-05-01,,x,x\ncy,-,x,,x\n",
        "class;ann;bob;cy\nskin;x;;x\neye;x;x;\near;;x;x\nausgeschieden;;ja;nein\n",
        'doctor,knows,gone\nann,"skin, eye",\nbob,"eye, ear",yes\ncy,"skin, ear",\n',
        "doctor,disease,left,cost\nann,skin,,1\nann,eye,,1\nbob,eye,x,1\nbob,ear,x,1\ncy,skin,,1\ncy,ear,,1\n",
    ],
    ids=["mark", "date", "transposed", "lists", "long"],
)
def test_tables_say_who_has_left(tmp_path, text, recwarn):
    (tmp_path / "panel.csv").write_text(text, encoding="utf-8")
    panel = Panel.load(tmp_path / "panel.csv")
    assert gone(panel) == ["bob"]
    assert sorted(panel.classes) == ["ear", "eye", "skin"]
    assert dict(zip(panel.names, map(set, panel.blocks()), strict=True)) == dict(
        zip(NAMES, map(set, PANEL.blocks()), strict=True)
    )
    assert not recwarn.list


def test_next_to_right_left_is_a_class(tmp_path):
    (tmp_path / "panel.csv").write_text("doctor,left,right\nann,x,x\nbob,x,\n")
    panel = Panel.load(tmp_path / "panel.csv")
    assert (panel.classes, gone(panel)) == (("left", "right"), [])


@pytest.mark.parametrize("left", ["yes", 1, None])
def test_other_values_of_left_are_rejected(tmp_path, left):
    data = PANEL.to_dict()
    data["experts"][1]["left"] = left
    (tmp_path / "panel.json").write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"panel.json.*'bob' has left = .*write true"):
        Panel.load(tmp_path / "panel.json")
    with pytest.raises(InputError, match="one True or False per expert"):
        Panel(["a"], [[1]], left=["yes"])


def test_answers_of_those_who_left_count():
    votes = Votes.from_table({"item": ["x"], "ann": [None], "bob": ["ear"], "cy": ["ear"]}, PANEL)
    assert decode(votes).value.tolist() == ["ear"]
    assert votes.answers == 2


def test_new_experts_take_the_place_of_those_who_left():
    assert PANEL.covers()
    assert PANEL.present.uncovered() == [("eye", "ear")]
    assert repr(PANEL) == "Panel(3 experts (1 of them has left), 3 classes, size 2, 1 pair uncovered)"
    whole = complete(PANEL, 2)
    assert whole.names == (*NAMES, "new-1")
    assert whole.blocks()[3] == ("eye", "ear")
    assert (gone(whole), whole.certificate.size) == (["bob"], 1)
    again = complete(Panel.from_dict({**whole.to_dict(), "experts": [
        {**one, "left": one["name"] in ("bob", "new-1")} for one in whole.to_dict()["experts"]
    ]}), 2)  # fmt: skip
    assert again.names == (*NAMES, "new-1", "new-2")
    taught = complete(PANEL, 3, teach=True)
    assert taught.present.covers()
    assert taught.blocks()[1] == PANEL.blocks()[1]


def test_those_who_left_are_neither_selected_nor_asked_nor_advised():
    assert select(complete(PANEL, 2)).names == ("ann", "cy", "new-1")
    asker = Asker(complete(PANEL, 2), ["x", "y", "z"])
    asked = {question.expert for question in asker.next()}
    assert asked
    assert "bob" not in asked
    assert advice(PANEL, "incomplete", "skin", [], {"ann": "skin"}) == (
        "No one who knows ear has answered: ask cy."
    )
    assert "No one knows both eye and ear" in advice(PANEL, "tied", None, ["eye", "ear"], {"ann": "eye"})
