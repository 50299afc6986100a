"""Kept answers become votes at once, or a part at a time."""

from contextlib import closing

import numpy as np

from covote import Panel, decode
from covote.files import Output, decode_votes
from covote.labelling import kept_votes
from covote.labelling.answers_file import AnswersFile
from covote.labelling.kept_votes import KeptVotes
from covote.labelling.strategy import doubtful
from covote.labels import Labels

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


def test_kept_answers_get_the_labels_of_votes(tmp_path):
    said = np.random.default_rng(0).integers(0, 2, (2, 50))
    with closing(AnswersFile(tmp_path / "a.sqlite")) as kept:
        for name, knows, labels in zip(PANEL.names, PANEL.blocks(), said, strict=True):
            with kept.transaction():
                kept.add(name, knows, {})
            with kept.transaction():
                kept.insert(name, 0, labels)
        votes = KeptVotes(PANEL, kept, np.arange(50), [None, None])
        gold = {0: "a", 49: "b"}
        decode_votes(votes.whole(), Output(tmp_path / "labels.csv"), gold=gold, method="em")
        expected = decode(votes.whole(), gold=gold, method="em")
    assert Labels.load(tmp_path / "labels.csv", PANEL).value.tolist() == expected.value.tolist()


def test_the_word_of_one_expert_leaves_an_item_in_doubt():
    with closing(AnswersFile(None)) as kept:
        for name, knows, said in zip(PANEL.names, PANEL.blocks(), ([0, 1, 1], [0, 1, 2]), strict=True):
            with kept.transaction():
                kept.add(name, knows, {})
                kept.insert(name, 0, np.array(said))
        ids, wanted = np.arange(3), [None, None]
        assert doubtful(KeptVotes(PANEL, kept, ids, wanted, [1])).tolist() == [True, True, True]
        assert doubtful(KeptVotes(PANEL, kept, ids, wanted)).tolist() == [False, False, True]
