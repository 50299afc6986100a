"""JSON-lines say no types: names stay as they were written, and nothing in them ends the process."""

import json

import pytest

from covote import Panel
from covote.errors import FileError, InputError
from covote.files import VoteFile, decode_file

PANEL = Panel.from_blocks(
    ["2020-01-01", "eye"], [["2020-01-01", "eye"], ["2020-01-01", "eye"]], ["ann", "bob"]
)


def votes(path, items, label="eye", **more):
    path.write_text(
        "".join(json.dumps({"item": i, "expert": "ann", "label": label, **more}) + "\n" for i in items)
    )
    return VoteFile(path, PANEL).read()


def test_text_that_looks_like_a_time_is_text(tmp_path):
    items = ["2020-01-01", "2020-01-01 00:00", "2020-01-01T00:00:00", "2020-01-01 00:00:00"]
    read = votes(tmp_path / "v.jsonl", items, label="2020-01-01")
    assert sorted(map(str, read.items)) == sorted(items)
    assert read.dense[:, 0].tolist() == [0] * 4


def test_integers_beyond_64_bits_are_refused_instead_of_merged(tmp_path):
    with pytest.raises(InputError, match=r"column 'item' has numbers with too many digits .* as text, in"):
        votes(tmp_path / "v.jsonl", [2**63, 2**63 + 1])
    read = votes(tmp_path / "v.jsonl", [str(2**63), str(2**63 + 1)])
    assert len(read) == 2


def test_integers_of_64_bits_are_kept_apart(tmp_path):
    assert votes(tmp_path / "v.jsonl", [2**63 - 1, 2**63 - 2, 2**53 + 1, 2**53]).items.tolist() == [
        2**63 - 1, 2**63 - 2, 2**53 + 1, 2**53,
    ]  # fmt: skip


@pytest.mark.parametrize("bracket", ["[", '{"a":', '[[],{"b":'])
@pytest.mark.parametrize("where", ["label", "other"])
def test_deep_nesting_is_refused(tmp_path, bracket, where):
    path = tmp_path / "v.jsonl"
    path.write_text(
        '{"item": 1, "expert": "ann", "label": "eye"}\n{"item": 2, "' + where + '": ' + bracket * 200_000
    )
    with pytest.raises(FileError, match="levels deep"):
        decode_file(path, None, PANEL)


def test_brackets_in_text_are_text(tmp_path):
    assert len(votes(tmp_path / "v.jsonl", ["[" * 500, '"{\\' * 500])) == 2


@pytest.mark.parametrize(
    "text", ["null\n", "\n null\n", "null{}\n", "\ufeffnull null\n", '{"item": 1}\nnull\n']
)
def test_a_line_that_is_null_is_refused(tmp_path, text):
    """Arrow's parser ends the process if a block begins with null."""
    path = tmp_path / "votes.jsonl"
    path.write_text(text + '{"item": 1, "expert": "a", "label": "x"}\n', encoding="utf-8")
    with pytest.raises(FileError, match="has a line that is null"):
        VoteFile(path, PANEL)
