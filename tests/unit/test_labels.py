import gc
import pickle
import sys
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from covote import CovoteError, Panel, Votes, decode, expert_report
from covote.errors import InputError, MissingDependencyError
from covote.labels import Labels
from tests.methods import PLAIN

PANEL = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], ["ann", "bob", "cy"])
ROWS = [
    [0, 1, 0],  # sure: cat
    [0, 1, 2],  # everybody says something else
    [0, -1, -1],  # cat, but nobody who knows fox and cat was asked
    [-1, -1, -1],  # nobody was asked
    [-2, 1, -2],  # only bob names a class
]
COLUMNS = ["item", "label", "confidence", "margin", "runner_up", "violations", "status"]


@pytest.fixture
def labels():
    return decode(Votes.from_dense(ROWS, PANEL, items=["a", "b", "c", "d", "e"]), method="authority")


def test_every_item_has_a_value_and_its_evidence(labels):
    assert labels.value.tolist() == ["cat", None, "cat", None, "dog"]
    assert labels.index.tolist() == [0, -1, 0, -1, 1]
    assert labels.status.tolist() == ["agreed", "tied", "incomplete", "incomplete", "conflict"]
    assert labels.violations.tolist() == [0, 1, 0, 0, 1]
    assert labels.tied.tolist() == [False, True, False, False, False]
    assert labels.count() == {"agreed": 1, "tied": 1, "conflict": 1, "incomplete": 2, "given": 0}


def test_a_shared_second_place_is_nobodys(labels):
    # cat 2/2, then dog 1/2 and fox 0/2; and for "e": dog 1/2, fox 0/2 and cat 0/2 share the next place.
    assert labels.runner_up[0] == "dog"
    assert labels.margin[0] == 0.5
    assert labels.runner_up[4] is None
    assert labels.margin[4] == 0.5


def test_the_tied_classes_are_at_hand(labels):
    assert labels.tied_classes(1) == ("cat", "dog", "fox")
    assert labels.tied_classes(0) == ("cat",)
    assert labels.tied_classes(3) == ()
    with pytest.raises(CovoteError, match="no item at position 5"):
        labels.tied_classes(5)


def test_tables_have_the_seven_columns(labels):
    table = labels.to_arrow()
    assert table.column_names == COLUMNS
    assert table.column("label").to_pylist() == ["cat", None, "cat", None, "dog"]
    assert table.column("item").to_pylist() == ["a", "b", "c", "d", "e"]
    assert table.column("status").to_pylist() == labels.status.tolist()
    frame = labels.to_pandas()
    assert list(frame) == COLUMNS
    assert frame["label"].isna().tolist() == [False, True, False, True, False]
    assert frame.loc[4, "violations"] == 1


def test_a_data_frame_may_have_the_probabilities():
    votes = Votes.from_dense(ROWS, PANEL)
    labels = decode(votes, method="em", proba=True)
    frame = labels.to_pandas(proba=True)
    assert list(frame) == [*COLUMNS, "proba_cat", "proba_dog", "proba_fox"]
    assert (frame[["proba_cat", "proba_dog", "proba_fox"]].to_numpy() == labels.proba).all()
    with pytest.raises(InputError, match="proba=True"):
        decode(votes, method="em").to_pandas(proba=True)


def test_integer_names_stay_integers():
    panel = Panel([10, 20, 30], PANEL.knows)
    labels = decode(Votes.from_dense(ROWS, panel), method="authority")
    assert labels.value.tolist() == [10, None, 10, None, 20]
    assert labels.to_arrow().column("label").type == pa.int64()
    assert labels.to_arrow().column("label").to_pylist() == [10, None, 10, None, 20]
    assert labels.to_pandas()["label"].dtype == pd.Int64Dtype()
    assert labels.to_pandas()["item"].tolist() == [0, 1, 2, 3, 4]


def test_ids_keep_their_arrow_type():
    ids = pa.array([1, 2], pa.uint16())
    votes = Votes.from_table(pa.table({"item": ids, "ann": ["cat", "dog"]}), PANEL)
    assert decode(votes).to_arrow().column("item").type == pa.uint16()


def test_labels_of_parts_are_the_labels_of_the_whole(labels):
    whole = decode(
        Votes.from_dense(ROWS, PANEL, items=["a", "b", "c", "d", "e"]), method="authority", workers=3
    )
    assert whole.to_pandas().equals(labels.to_pandas())
    assert whole.tied_classes(1) == ("cat", "dog", "fox")


def test_no_items():
    labels = decode(Votes.from_dense([], PANEL))
    assert len(labels) == 0
    assert labels.to_arrow().num_rows == len(labels.to_pandas()) == 0
    assert repr(labels) == "Labels(0 items, 0 without a label)"
    assert sum(labels.count().values()) == 0


def test_labels_without_evidence_say_how_to_get_it():
    votes = Votes.from_dense(ROWS, PANEL)
    bare, labels = decode(votes, method="authority", evidence=False), decode(votes, method="authority")
    assert (bare.index == labels.index).all()
    assert [bare.tied_classes(n) for n in range(len(bare))] == [
        labels.tied_classes(n) for n in range(len(labels))
    ]
    for ask in (lambda: bare.confidence, lambda: bare.status, bare.count, bare.to_arrow, bare.to_pandas):
        with pytest.raises(InputError, match="decode with evidence=True"):
            ask()


@pytest.mark.parametrize("method", PLAIN)
def test_labels_can_be_pickled_and_keep_no_votes_alive(method):
    votes = Votes.from_dense(ROWS[:2], PANEL)
    gone = weakref.ref(votes)
    labels = decode(votes, method=method)
    del votes
    gc.collect()
    assert gone() is None
    again = pickle.loads(pickle.dumps(labels))
    pd.testing.assert_frame_equal(again.to_pandas(), labels.to_pandas())
    assert again.tied_classes(0) == labels.tied_classes(0)


def test_the_chance_of_a_tie_is_that_of_a_fair_draw():
    labels = decode(Votes.from_dense(ROWS, PANEL), method="authority", evidence=False)
    for k, name in enumerate(PANEL.classes):
        expected = [
            (name in labels.tied_classes(n)) / max(len(labels.tied_classes(n)), 1) for n in range(len(labels))
        ]
        assert labels.expected_score([k] * len(labels)).tolist() == expected


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "xlsx"])
@pytest.mark.parametrize("ids", [["a", "b, 2", "c", '"d"', "e"], [5, 4, 3, 2, 1]])
def test_labels_come_back_from_every_kind_of_file(tmp_path, ending, ids):
    labels = decode(Votes.from_dense(ROWS, PANEL, items=ids), method="authority")
    path = tmp_path / f"labels.{ending}"
    labels.save(path)
    again = Labels.load(path, PANEL)
    assert again.items.tolist() == ids
    for name in ("index", "value", "status", "runner_up", "tied"):
        assert getattr(again, name).tolist() == getattr(labels, name).tolist(), name
    close = 0 if ending in ("parquet", "jsonl") else 0.01
    np.testing.assert_allclose(again.confidence, labels.confidence, atol=close + 1e-7)
    assert set(Labels.load(path).panel.classes) <= set(PANEL.classes)


def test_what_is_not_a_file_of_labels_is_rejected(tmp_path):
    path = tmp_path / "labels.csv"
    for text, words in (
        ("item,expert\n1,ann\n", "a file of labels has item and label"),
        ("item,label\n1,hen\n", "'hen' is not a class of the panel"),
        ("item,label,confidence,status\n1,cat,0.5,sure\n", "'sure' is not one of agreed"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=words):
            Labels.load(path, PANEL)


def test_a_csv_file_is_for_people(tmp_path):
    panel = Panel(["cat", "dog", 'the "fox"'], PANEL.knows)
    labels = decode(Votes.from_dense(ROWS, panel, items=["a", "b, 2", "c", "d", "e"]), method="authority")
    sure = labels.evidence._replace(confidence=np.array([0.999, np.nan, 0.5, np.nan, 1.0], np.float32))
    labels = replace(labels, evidence_or_none=sure)
    labels.save(tmp_path / "labels.csv")
    assert (tmp_path / "labels.csv").read_text().splitlines() == [
        "item,label,confidence,runner_up,status",
        "a,cat,0.99,dog,agreed",
        '"b, 2",,,,tied',
        "c,cat,0.50,dog,incomplete",
        "d,,,,incomplete",
        "e,dog,1.00,,conflict",
    ]


def test_a_data_frame_without_pandas_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    votes = Votes.from_dense(ROWS, PANEL)
    for ask in (decode(votes).to_pandas, votes.to_pandas, expert_report(votes).to_pandas):
        with pytest.raises(MissingDependencyError, match="pip install pandas"):
            ask()
