"""Ranges of numbered classes in the table of who knows what."""

import pytest

from covote import Panel
from covote.errors import InputError


def load(tmp_path, text, name="panel.csv"):
    (tmp_path / name).write_text(text)
    return Panel.load(tmp_path / name)


def test_ranges_of_numbers_are_the_classes_in_them(tmp_path):
    panel = load(tmp_path, 'expert,knows\nann,"1-40, 95-110"\nbob,"30-60"\ncy,7\n')
    assert panel.sizes.tolist() == [56, 31, 1]
    assert set(panel.blocks()[0]) == {*range(1, 41), *range(95, 111)}
    assert panel.blocks()[2] == (7,)


@pytest.mark.parametrize("dash", ["-", " - ", "–", "—", "..", " to ", " bis "])
def test_a_range_is_written_in_many_ways(tmp_path, dash):
    assert load(tmp_path, f"expert,knows\nann,3{dash}6\nbob,5\n").blocks() == [(3, 4, 5, 6), (5,)]


def test_numbers_stand_for_the_classes_that_are_numbered_so(tmp_path):
    panel = load(tmp_path, 'expert,knows\nann,"1 Robin, 2 Wren, 3. Owl, 12 Kite"\nbob,"1-3"\ncy,12\n')
    assert panel.blocks()[1:] == [("1 Robin", "2 Wren", "3. Owl"), ("12 Kite",)]
    assert len(panel.classes) == 4


@pytest.mark.parametrize("rows", ["ann,0-9\nbob,10-19\ncy,0-9\n", 'ann,"0-9, 10-19"\nbob,20-29\n'])
def test_ages_are_names_of_classes(tmp_path, rows):
    panel = load(tmp_path, "expert,knows\n" + rows)
    assert {"0-9", "10-19"} <= set(panel.classes)


def test_other_names_with_numbers_stay(tmp_path):
    panel = load(tmp_path, 'expert,knows\nann,"H1N1, 7-up, 9-3, COVID-19"\nbob,"7-up, 12"\n')
    assert panel.blocks()[0] == ("H1N1", "7-up", "9-3", "COVID-19")


def test_a_list_of_classes_in_a_panel_file_is_numbered_from_one(tmp_path):
    text = 'classes = ["Robin", "Wren", "Owl", "Kite"]\n[[experts]]\nname = "ann"\nknows = "1-2, 4"\n'
    assert load(tmp_path, text, "panel.toml").blocks() == [("Robin", "Wren", "Kite")]
    text = 'classes = [10, 11, 12, 13]\n[[experts]]\nknows = "11-13"\n'
    assert load(tmp_path, text, "panel.toml").blocks() == [(11, 12, 13)]
    text = 'classes = ["7 Robin", "8 Wren", "9 Owl"]\n[[experts]]\nknows = "8-9"\n'
    assert load(tmp_path, text, "panel.toml").blocks() == [("8 Wren", "9 Owl")]


@pytest.mark.parametrize(
    ("knows", "words"),
    [
        ("1-5", "'1-5' is beyond the classes, which are numbered 1 to 4"),
        ("0", "numbered 1 to 4"),
        ("Robin", "'Robin' is neither a number nor a range; write knows"),
        ("3-1", "'3-1' is neither a number nor a range"),
    ],
)
def test_mistakes_in_a_list_of_ranges_are_named(tmp_path, knows, words):
    text = f'classes = ["Robin", "Wren", "Owl", "Kite"]\n[[experts]]\nknows = "{knows}"\n'
    with pytest.raises(InputError, match=words):
        load(tmp_path, text, "panel.toml")
