"""Votes that are read again and again take no more memory than they may."""

import gc
import weakref
from contextlib import closing

import numpy as np
import pytest

from covote import Panel, Votes
from covote.files import decoding_files
from covote.labelling import kept_votes
from covote.labelling.answers_file import AnswersFile
from covote.labelling.kept_votes import KeptVotes
from covote.progress import Work

PANEL = Panel.from_blocks(["a", "b", "c"], [["a", "b"], ["a", "b", "c"]])


def test_kept_answers_come_in_parts_of_bounded_size(tmp_path, monkeypatch):
    monkeypatch.setattr(kept_votes, "_ITEMS", 16)
    items = 50
    said = np.arange(items) % 2
    with closing(AnswersFile(tmp_path / "a.sqlite")) as kept:
        for name, knows in zip(PANEL.names, PANEL.blocks(), strict=True):
            with kept.transaction():
                kept.add(name, knows, {})
            for start in range(0, items, 4):
                with kept.transaction():
                    kept.insert(name, start, said[start : start + 4])
        votes = KeptVotes(PANEL, kept, np.arange(items), [None, None])
        parts = list(votes.parts())
    assert max(len(part) for part in parts) == 16
    assert np.concatenate([part.dense for part in parts]).tolist() == [[k, k] for k in said]


class Source:
    """Votes of which only what is needed should stay alive."""

    panel = PANEL

    def __init__(self):
        self.made, self.passes = [], 0

    def parts(self, progress=None):
        self.passes += 1
        for _ in range(6):
            part = Votes.from_dense(np.zeros((100, 2), np.int8), PANEL)
            self.made.append(weakref.ref(part))
            yield part
            del part

    def alive(self):
        gc.collect()
        return sum(made() is not None for made in self.made)


@pytest.mark.parametrize("room", [1 << 20, 500])
def test_votes_are_kept_between_passes_only_where_they_are_small(monkeypatch, room):
    monkeypatch.setattr(decoding_files, "_ROOM", room)
    source = Source()
    here = decoding_files.Here(source, Work(1, None))
    alive = [source.alive() for _ in here.map(len)]
    assert sum(here.map(len)) == 600
    small = room > 6 * 200
    assert source.passes == (1 if small else 2)
    assert max(alive) == (6 if small else 3)  # two parts of 200 bytes fit, and one is being looked at
    assert source.alive() == (6 if small else 0)
