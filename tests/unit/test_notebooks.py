"""Votes and labels in notebooks and in other libraries."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from covote import CovoteError, Panel, decode, decode_file, design, simulate
from covote.decoding import Decoder, labels_from_scores
from covote.errors import InputError

PANEL = design(["a<b", "c", "d", "e"], 2)


def votes(items=30):
    truth = np.random.default_rng(0).integers(0, 4, items)
    names = [PANEL.classes[k] for k in truth]
    return simulate(PANEL, names, accuracy=0.8, seed=1)


def test_labels_take_positions_slices_and_masks():
    labels = decode(votes(), method="authority")
    few = labels[5:9]
    assert few.items.tolist() == [5, 6, 7, 8]
    assert few.value.tolist() == labels.value[5:9].tolist()
    tied = labels[labels.tied]
    assert [tied.tied_classes(n) for n in range(len(tied))] == [
        labels.tied_classes(int(n)) for n in np.flatnonzero(labels.tied)
    ]
    assert labels[3].items.tolist() == [3]
    assert labels[[7, 2]].items.tolist() == [7, 2]


def test_votes_take_positions_slices_and_masks():
    all_votes = votes()
    assert (all_votes[4:6].dense == all_votes.dense[4:6]).all()
    assert all_votes[np.arange(30) % 2 == 0].items.tolist() == list(range(0, 30, 2))


def test_notebooks_show_the_first_rows_and_escape_names():
    for shown in (votes()._repr_html_(), decode(votes())._repr_html_()):
        assert "a&lt;b" in shown
        assert "a<b" not in shown
        assert "10 of 30 shown" in shown
    assert "<table>" in decode(votes(), evidence=False)._repr_html_()


def test_arrow_stream_and_files_give_the_same_table(tmp_path):
    labels = decode(votes())
    assert pa.table(labels).column("item").to_pylist() == list(range(30))
    assert pa.table(votes()).num_rows == votes().answers
    assert votes().to_pandas("wide").shape == (30, 1 + len(PANEL))
    labels.save(tmp_path / "labels.csv")
    assert csv.read_csv(tmp_path / "labels.csv").column("status").to_pylist() == labels.status.tolist()
    votes().save(tmp_path / "votes.parquet")
    decode_file(tmp_path / "votes.parquet", tmp_path / "again.csv", PANEL)
    again = csv.read_csv(tmp_path / "again.csv")
    assert again.column("label").to_pylist() == [name or "" for name in labels.value]
    with pytest.raises(CovoteError, match=r"\.parquet, \.csv, \.jsonl or \.xlsx"):
        labels.save(tmp_path / "labels.txt")


def test_labels_draw_themselves():
    assert decode(votes()).plot().get_xlabel() == "confidence"


@dataclass(frozen=True)
class Shares(Decoder):
    """The authority score, written out."""

    def score(self, part, weights, evidence=True):
        counts = [(part.dense == k).sum(axis=1) for k in range(len(part.panel.classes))]
        return labels_from_scores(part, np.stack(counts, axis=1) / part.panel.knows.sum(axis=0), evidence)


class Mapping:
    """Something else that can score."""

    def score(self, votes, weights, evidence=True):
        return votes


@dataclass(frozen=True)
class Guesses(Decoder):
    """A decoder that returns class indices instead of labels."""

    def score(self, votes, weights, evidence=True):
        return [0] * len(votes)


@pytest.mark.parametrize(
    ("method", "message"),
    [
        (Mapping(), "a Mapping is not a decoder; make it a subclass of covote.decoding.Decoder"),
        (Decoder(), "a Decoder is not a decoder"),
        (Shares, r"method is the class Shares; give an object of it, Shares\(\)"),
        (Guesses(), "score of Guesses returned a list, not Labels; covote.decoding.labels_from_scores"),
        (3, "a int is not a decoder"),
    ],
)
def test_what_is_not_a_decoder_is_rejected_in_one_line(method, message):
    with pytest.raises(InputError, match=message) as caught:
        decode(votes(), method=method)
    assert "\n" not in str(caught.value)


def test_a_table_is_decoded_as_it_is():
    import pandas as pd

    table = pd.DataFrame({"item": ["x", "x", "y"], "expert": ["ann", "bob", "ann"], "label": ["cat"] * 3})
    panel = Panel(["cat", "dog"], [[1, 1], [1, 1]], ["ann", "bob"])
    assert decode(table).value.tolist() == decode(table, panel).value.tolist() == ["cat", "cat"]
    assert decode(pa.Table.from_pandas(table), panel).items.tolist() == ["x", "y"]


def test_a_decoder_of_ones_own_gets_all_that_stands_behind_labels():
    own, ours = decode(votes(), method=Shares(), workers=2), decode(votes(), method="authority")
    assert own.value.tolist() == ours.value.tolist()
    assert own.status.tolist() == ours.status.tolist()
    assert own.violations.tolist() == ours.violations.tolist()
    np.testing.assert_allclose(own.margin, ours.margin)
    assert own.runner_up.tolist() == ours.runner_up.tolist()
    for n in np.flatnonzero(own.tied):
        assert own.tied_classes(n) == ours.tied_classes(n)
    with pytest.raises(CovoteError, match="shape"):
        labels_from_scores(votes(), np.zeros((2, 2)))
