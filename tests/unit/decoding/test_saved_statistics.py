"""Statistics that come from a file are checked before anything is learned from them."""

import json

import numpy as np
import pytest

from covote import Panel
from covote.decoding.linear import ONE
from covote.decoding.statistics import Statistics
from covote.errors import FileError

PANEL = Panel.from_blocks(["skin", "eye", "ear"], [["skin", "eye"], ["eye", "ear"], ["skin", "ear"]])


def saved(path, **changes):
    """Save statistics of five items, with other entries."""
    Statistics(PANEL, "em", 5, np.full(3, ONE), np.full((9, 3), ONE)).save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    return path


def test_what_was_saved_is_read(tmp_path):
    assert Statistics.load(saved(tmp_path / "s.json")).items == 5


@pytest.mark.parametrize(
    "changes",
    [
        {"items": -1},
        {"items": 2**40},
        {"share": [-ONE, ONE, ONE]},
        {"share": [2**62, ONE, ONE]},
        {"coins": [[ONE] * 3, [ONE] * 3]},
        {"keys": [0], "values": [-1]},
        {"keys": [10**6], "values": [1]},
        {"keys": [2**70], "values": [1]},
        {"panel": {"classes": []}},
        {"format": None},
    ],
)
def test_counts_that_cannot_be_are_refused(tmp_path, changes):
    with pytest.raises(FileError, match="holds no statistics"):
        Statistics.load(saved(tmp_path / "s.json", **changes))


def test_damaged_bytes_are_refused_or_change_nothing(tmp_path):
    path = tmp_path / "s.json"
    Statistics(PANEL, "em", 5, np.full(3, ONE), np.full((9, 3), ONE)).save(path)
    whole = path.read_bytes()
    for place in range(0, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x41]) + whole[place + 1 :])
        try:
            found = Statistics.load(path)
        except FileError:
            continue
        assert found.share.tolist() == [ONE] * 3
