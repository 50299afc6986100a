"""An empty or NaN probability means that the expert gave none, through every door into `Votes`."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from covote import Panel, Votes, decode
from covote.errors import InputError

PANEL = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], ["ann", "bob", "eve"])
ANSWERS = np.array([[0, 1, 0], [1, 1, 2], [0, 2, 2]])
ONE = np.array([[0.9, np.nan, 0.8], [np.nan, 0.7, 0.6], [np.nan] * 3], dtype=np.float32)
EACH = np.stack([np.where(np.arange(2) == 0, ONE[..., None], 1 - ONE[..., None])], axis=0)[0]
EACH = np.where((ANSWERS == [0, 1, 0])[..., None], EACH, EACH[..., ::-1])  # the answer has the larger one


def frame(column, values):
    names = [(f"i{n}", PANEL.names[i], PANEL.classes[ANSWERS[n, i]]) for n in range(3) for i in range(3)]
    table = pd.DataFrame(names, columns=["item", "expert", "label"])
    table[column] = values
    return table


def lists(empty):
    return [empty if np.isnan(some[0]) else some.tolist() for some in EACH.reshape(-1, 2)]


def from_file(suffix):
    def load(tmp_path):
        table, path = frame("probability", ONE.ravel()), tmp_path / f"votes.{suffix}"
        if suffix == "csv":
            table.to_csv(path, index=False)
        elif suffix == "xlsx":
            table.to_excel(path, index=False)
        elif suffix == "jsonl":
            table.to_json(path, orient="records", lines=True)
        else:
            table.to_parquet(path, index=False)
        return Votes.load(path, PANEL)

    return load


def with_nan_as_text(tmp_path):
    frame("probability", ONE.ravel()).to_csv(tmp_path / "votes.csv", index=False, na_rep="NaN")
    return Votes.load(tmp_path / "votes.csv", PANEL)


def from_lists(empty):
    def load(tmp_path):
        table = pa.Table.from_pandas(frame("probability", ONE.ravel()).drop(columns="probability"))
        table = table.append_column("probabilities", pa.array(lists(empty), pa.list_(pa.float64())))
        parquet.write_table(table, tmp_path / "votes.parquet")
        return Votes.load(tmp_path / "votes.parquet", PANEL)

    return load


RUNS = np.arange(0, 10, 3), np.tile(np.arange(3), 3), ANSWERS.ravel(), PANEL
DOORS = {
    "array": lambda _: Votes.from_dense(ANSWERS, PANEL, probabilities=ONE),
    "array of classes": lambda _: Votes.from_dense(ANSWERS, PANEL, probabilities=EACH.reshape(3, 6)),
    "ragged": lambda _: Votes.from_ragged(*RUNS, probabilities=ONE.ravel()),
    "ragged classes": lambda _: Votes.from_ragged(*RUNS, probabilities=EACH.ravel()),
    "data frame": lambda _: Votes.from_table(frame("probability", ONE.ravel()), PANEL),
    "csv": from_file("csv"),
    "csv with NaN": with_nan_as_text,
    "xlsx": from_file("xlsx"),
    "jsonl": from_file("jsonl"),
    "parquet": from_file("parquet"),
    "lists of NaN": from_lists([np.nan, np.nan]),
    "empty lists": from_lists([]),
    "no list": from_lists(None),
}


@pytest.mark.parametrize("door", DOORS)
def test_an_answer_without_a_probability_is_a_plain_one(door, tmp_path):
    votes = DOORS[door](tmp_path).to_ragged()
    if votes.vote_probability is not None:
        assert np.array_equal(votes.vote_probability, ONE.ravel(), equal_nan=True)
    else:
        assert np.allclose(votes.class_probability, EACH.ravel(), equal_nan=True)
    assert votes.ragged.label.tolist() == ANSWERS.ravel().tolist()
    assert decode(votes).index.tolist() == [0, 1, 2]


def test_votes_without_any_probability_are_plain_votes():
    nothing = Votes.from_ragged(*RUNS, probabilities=np.full(9, np.nan))
    plain = Votes.from_dense(ANSWERS, PANEL)
    assert decode(nothing).confidence.tolist() == pytest.approx(decode(plain).confidence.tolist(), rel=1e-5)


def test_a_number_that_is_no_probability_is_refused_all_the_same():
    for wrong in (-0.1, 1.1, np.inf):
        with pytest.raises(InputError, match="not between 0 and 1"):
            Votes.from_ragged(*RUNS, probabilities=np.where(np.isnan(ONE), wrong, ONE).ravel())
