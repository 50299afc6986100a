import datetime
import uuid
from contextlib import suppress

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covote import CovoteError, Panel, Votes, decode
from covote.errors import InputError
from covote.votes.problems import DroppedWarning

PANEL = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], ["ann", "bob", "cy"])
LONG = {
    "item": ["x", "y", "x", "x", "y"],
    "expert": ["ann", "cy", "bob", "cy", "ann"],
    "label": ["cat", "fox", "dog", "cat", None],
}
WIDE = {"item": ["x", "y"], "ann": ["cat", None], "bob": ["dog", None], "cy": ["cat", "fox"]}
DENSE = [[0, 1, 0], [-1, -1, 2]]


def duck(data):
    votes = pa.table(data)  # noqa: F841 (duckdb finds it by name)
    return duckdb.sql("select * from votes")


MAKERS = {
    "dict": dict,
    "pyarrow": pa.table,
    "reader": lambda data: pa.table(data).to_reader(),
    "batch": lambda data: pa.RecordBatch.from_pydict(data),
    "pandas": pd.DataFrame,
    "pandas, other index": lambda data: (
        pd.DataFrame(data).iloc[::1].set_index(pd.Index(range(5, 5 + len(data["item"]))))
    ),
    "pandas, categories": lambda data: pd.DataFrame(data).astype("category"),
    "polars": pl.DataFrame,
    "polars, categories": lambda data: pl.DataFrame(data).with_columns(pl.all().cast(pl.Categorical)),
    "duckdb": duck,
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_every_kind_of_table(make):
    for data in (LONG, WIDE):
        votes = Votes.from_table(make(data), PANEL)
        assert votes.dense.tolist() == DENSE
        assert votes.items.tolist() == ["x", "y"]


def test_crowd_kit_columns_and_other_names():
    names = {"item": "task", "expert": "worker", "label": "label"}
    assert Votes.from_table({names[c]: v for c, v in LONG.items()}, PANEL).dense.tolist() == DENSE
    other = {"doc": LONG["item"], "who": LONG["expert"], "says": LONG["label"]}
    votes = Votes.from_table(other, PANEL, item="doc", expert="who", label="says")
    assert votes.dense.tolist() == DENSE
    with pytest.raises(CovoteError, match="no column 'text'"):
        Votes.from_table(other, PANEL, item="text")


@pytest.mark.parametrize(
    "ids",
    [
        [7, 3],
        ["ü", "日本"],
        ["1", "01"],
        [1.5, 2.5],
        [datetime.date(2026, 1, 2), datetime.date(2025, 1, 2)],
        [datetime.datetime(2026, 1, 2, 3, 4), datetime.datetime(2025, 1, 2)],
        [uuid.UUID(int=5).bytes, uuid.UUID(int=6).bytes],
        [True, False],
    ],
    ids=lambda ids: type(ids[0]).__name__,
)
@pytest.mark.parametrize("shape", ["long", "wide"])
def test_item_ids_survive(ids, shape):
    table = pa.table({**WIDE, "item": ids})
    votes = Votes.from_table(table, PANEL)
    back = votes.to_arrow(shape)
    assert back.column("item").type == table.column("item").type
    again = Votes.from_table(back, PANEL)
    assert again.to_arrow("wide").column("item").to_pylist() == ids
    assert again.dense.tolist() == DENSE


@pytest.mark.parametrize("classes", [[5, 7, 9], ["5", "7", "9"], ["ä b", "β", "猫"], [5, "7", "x y"]])
def test_class_names_survive(classes):
    panel = Panel(classes, PANEL.knows, [1, 2, 3])
    votes = Votes.from_dense([[0, 1, -2], [1, -1, 2]], panel)
    for shape in ("long", "wide"):
        assert (Votes.from_table(votes.to_arrow(shape), panel).dense == votes.dense).all()


def test_text_that_could_be_two_names_is_not_guessed():
    panel = Panel([1, "1"], [[1, 1]], ["ann"])
    assert Votes.from_table({"item": [1], "ann": ["1"]}, panel).dense.tolist() == [[1]]
    assert Votes.from_table({"item": [1], "ann": [1]}, panel).dense.tolist() == [[0]]


def test_integers_with_gaps_come_as_floats():
    panel = Panel([5, 7], [[1, 1], [1, 1]], ["ann", "bob"])
    frame = pd.DataFrame({"item": [0, 1], "ann": [5, 7], "bob": [np.nan, 5]})
    assert Votes.from_table(frame, panel).dense.tolist() == [[0, -1], [1, 0]]


def test_none_of_mine_is_an_answer():
    table = {"item": [1], "ann": ["none of mine"], "bob": ["dog"]}
    assert Votes.from_table(table, PANEL).dense.tolist() == [[-2, 1, -1]]
    table = {"item": [1], "expert": ["ann"], "label": ["no idea"]}
    assert Votes.from_table(table, PANEL, none="no idea").dense.tolist() == [[-2, -1, -1]]


def test_an_item_whose_answers_are_dropped_stays():
    table = {
        "item": [1, 2, 2, 3],
        "expert": ["ann", "zoe", "bob", "bob"],
        "label": ["fox", "cat", "cat", "dog"],
    }
    with pytest.warns(DroppedWarning, match="3 of 4 answers were dropped"):
        votes = Votes.from_table(table, PANEL, unknown="drop")
    assert votes.items.tolist() == [1, 2, 3]
    assert votes.answers == 1


def test_votes_of_which_nothing_would_be_left_are_refused():
    table = {"item": [1, 2, 2], "expert": ["ann", "zoe", "bob"], "label": ["fox", "cat", "cat"]}
    with pytest.raises(InputError, match=r"only 0 of 3 answers would be left.*'zoe'.*'bob' said 'cat'"):
        Votes.from_table(table, PANEL, unknown="drop")


def test_a_word_is_no_panel():
    with pytest.raises(InputError, match="panel is 'all', not a Panel; make one with"):
        Votes.from_table({"item": [1], "expert": ["ann"], "label": ["cat"]}, "all")


def test_without_a_panel_everybody_knows_everything():
    votes = Votes.from_table(LONG)
    assert votes.panel == Panel(["cat", "dog", "fox"], [[1, 1, 1]] * 3, ["ann", "bob", "cy"])
    assert votes.dense.tolist() == DENSE


def mistake(table, **options):
    with pytest.raises(CovoteError) as caught:
        Votes.from_table(table, PANEL, **options)
    return str(caught.value)


def changed(row, **values):
    table = {name: list(column) for name, column in LONG.items()}
    for name, value in values.items():
        table[name][row] = value
    return table


class TestMistakes:
    def test_a_class_the_expert_does_not_know(self):
        message = mistake(changed(2, label="cat"))
        assert message.startswith(
            "classes that the expert does not know: 'bob' said 'cat' (1 answer, in row 3); 'bob' knows: dog,"
        )
        assert "unknown='drop'" in message
        assert "'bob' said 'cat' (1 answer, in row 2)" in mistake({**WIDE, "bob": ["dog", "cat"]})

    def test_a_class_nobody_has_heard_of(self):
        message = mistake(changed(2, label="doge"))
        assert message.startswith(
            "labels that are not classes of the panel: 'doge' (1 answer, in row 3) (did you mean 'dog'?);"
        )

    def test_an_unknown_expert(self):
        message = mistake(changed(4, expert="zoe", label="cat"))
        assert "experts that are not in the panel (the panel has: ann, bob, cy): 'zoe'" in message
        assert "columns of answers whose expert is not in the panel" in mistake(
            {**WIDE, "zoe": ["cat", "dog"]}
        )

    def test_two_answers(self):
        message = mistake(changed(3, expert="ann", label="dog"))
        assert "row 4: expert 'ann' answered 'dog' to item 'x', but 'cat' in row 1" in message
        twice = changed(3, expert="ann", label="dog")
        assert Votes.from_table(twice, PANEL, duplicates="first").dense[0].tolist() == [0, 1, -1]
        assert Votes.from_table(twice, PANEL, duplicates="last").dense[0].tolist() == [1, 1, -1]

    def test_the_same_answer_twice_counts_once(self):
        same = changed(3, expert="ann", label="cat")
        assert Votes.from_table(same, PANEL).dense[0].tolist() == [0, 1, -1]

    def test_a_missing_column(self):
        assert "no column 'label'" in mistake({"item": [1], "expert": ["ann"]})

    def test_a_row_without_an_item(self):
        assert "row 2: no item" in mistake(changed(1, item=None))

    def test_a_wide_table_with_an_item_twice(self):
        assert "'fox' to item 'x', but 'cat' in row 1" in mistake({**WIDE, "item": ["x", "x"]})

    def test_what_is_no_table(self):
        assert "cannot read votes from a int" in mistake(3)
        assert "load it: Votes.load('votes.csv')" in mistake("votes.csv")

    def test_a_word_that_is_no_choice(self):
        assert "duplicates='both'" in mistake(LONG, duplicates="both")


class TestProbabilities:
    def test_one_per_vote(self):
        table = {**LONG, "probability": [0.9, 0.8, 0.7, 0.6, None]}
        votes = Votes.from_table(table, PANEL).to_ragged()
        assert votes.vote_probability == pytest.approx([0.9, 0.7, 0.6, 0.8])
        again = Votes.from_table(votes.to_arrow(), PANEL).to_ragged()
        assert (again.vote_probability == votes.vote_probability).all()

    def test_one_per_known_class(self):
        lists = [[0.9, 0.1], [0.2, 0.8], [0.7, 0.3], [0.6, 0.4], None]
        votes = Votes.from_table({**LONG, "probabilities": lists}, PANEL).to_ragged()
        assert votes.class_probability == pytest.approx([0.9, 0.1, 0.7, 0.3, 0.6, 0.4, 0.2, 0.8])
        again = Votes.from_table(votes.to_arrow(), PANEL).to_ragged()
        assert (again.class_probability == votes.class_probability).all()

    @pytest.mark.parametrize(
        ("column", "given", "expected"),
        [
            ("probability", [0.9, None, 0.7, 0.6, None], [0.9, 0.7, 0.6, None]),
            (
                "probabilities",
                [[0.9, 0.1], None, [0.7, 0.3], [0.6, 0.4], None],
                [0.9, 0.1, 0.7, 0.3, 0.6, 0.4, None, None],
            ),
        ],
    )
    def test_an_answer_without_one_among_answers_with_one(self, column, given, expected):
        votes = Votes.from_table({**LONG, column: given}, PANEL).to_ragged()
        found = votes.vote_probability if column == "probability" else votes.class_probability
        np.testing.assert_allclose(found, np.array(expected, dtype=float), rtol=1e-6)
        labels = decode(votes)
        assert labels.to_arrow().column("label").to_pylist()[0] == "cat"
        assert labels.value.tolist() == decode(votes.to_dense()).value.tolist()

    def test_mistakes(self):
        assert "row 1: 1.5" in mistake({**LONG, "probability": [1.5, 0.5, 0.7, 0.6, None]})
        lists = [[0.9, 0.1], [0.2, 0.8], [0.7], [0.6, 0.4], None]
        assert "row 3: 1 probabilities of expert 'bob'" in mistake({**LONG, "probabilities": lists})
        lists = [[0.9, 0.1], [0.2, 0.8], [0.7, -0.3], [0.6, 0.4], None]
        assert "row 3: -0.3" in mistake({**LONG, "probabilities": lists})
        assert "must be numbers" in mistake({**LONG, "probability": ["a"] * 5})


def test_an_empty_table():
    for table in ({"item": [], "expert": [], "label": []}, {"item": [], "ann": []}):
        assert len(Votes.from_table(table, PANEL)) == 0


def test_names_of_the_same_text_are_not_mixed_up_in_a_table():
    panel = Panel(["x", "y"], [[1, 1], [1, 1]], [1, "1"])
    with pytest.raises(InputError, match="column '1' could be two experts"):
        Votes.from_table({"item": [5], "1": ["x"]}, panel)
    with pytest.raises(InputError, match="1 and '1' are the same text"):
        Votes.from_dense([[0, 1]], panel).to_arrow("wide")
    with pytest.raises(InputError, match="1 and '1' are the same text"):
        decode(Votes.from_dense([[0]], Panel([1, "1"], [[1, 1]]))).to_arrow()


def test_integers_beyond_64_bits_are_text_in_a_table():
    panel = Panel([10**30, 3], [[1, 1]], ["ann"])
    votes = Votes.from_dense([[0], [1]], panel)
    assert votes.to_arrow()["label"].to_pylist() == [str(10**30), "3"]
    assert Votes.from_table(votes.to_arrow(), panel).dense.tolist() == [[0], [1]]
    labels = decode(votes)
    assert labels.to_arrow()["label"].to_pylist() == [str(10**30), "3"]
    assert labels.to_pandas()["label"].tolist() == [10**30, 3]


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_an_item_that_is_no_number_is_missing_and_minus_zero_is_zero(shape):
    panel = Panel(["x", "y"], [[1, 1], [1, 1]], ["ann", "bob"])
    columns = {"expert": ["ann", "bob"], "label": ["x", "y"]} if shape == "long" else {"ann": ["x", "y"]}
    with pytest.raises(InputError, match="row 2: no item"):
        Votes.from_table(pa.table({"item": [1.0, float("nan")], **columns}), panel)
    zeros = pa.table({"item": [0.0, -0.0], **columns})
    if shape == "long":
        assert Votes.from_table(zeros, panel).dense.tolist() == [[0, 1]]
    else:
        with pytest.raises(InputError, match=r"row 2: .* to item 0.0, but 'x' in row 1"):
            Votes.from_table(zeros, panel)


@pytest.mark.parametrize("column", ["item", "ann"])
def test_lists_are_no_names(column):
    panel = Panel(["x", "y"], [[1, 1]], ["ann"])
    table = {"item": [1], "ann": ["x"], column: [["x"]]}
    with pytest.raises(InputError, match="list"):
        Votes.from_table(table, panel)


@pytest.mark.parametrize("column", ["item", "expert", "label"])
def test_indices_beyond_a_dictionary_are_refused(column):
    panel = Panel(["x", "y"], [[1, 1], [1, 1]], ["ann", "bob"])
    columns = {"item": ["1", "2"], "expert": ["ann", "bob"], "label": ["x", "y"]}
    broken = pa.DictionaryArray.from_arrays(pa.array([0, 1 << 20]), pa.array(columns[column]), safe=False)
    with pytest.raises(InputError, match="damaged table"):
        Votes.from_table(pa.table({**columns, column: broken}), panel)


ODD = {
    "uuid": pa.ExtensionArray.from_storage(
        pa.uuid(), pa.array([uuid.UUID(int=n).bytes for n in (2, 1)], pa.binary(16))
    ),
    "json": pa.ExtensionArray.from_storage(pa.json_(), pa.array(['{"a": 1}', "2"])),
    "views of text": pa.array(["so", "so"], pa.string_view()),
    "lists": pa.array([[1], [2]]),
    "structs": pa.array([{"a": 1}, {"a": 2}]),
    "months": pa.array([(1, 2, 3), (1, 2, 4)], pa.month_day_nano_interval()),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("with_panel", [True, False])
def test_columns_of_odd_types_next_to_wide_answers_are_ignored(tmp_path, kind, with_panel):
    table = pa.table({"item": ["x", "y"], "ann": ["cat", "cat"], "note": ODD[kind], "bob": ["dog", "cat"]})
    panel = Panel(["cat", "dog"], [[1, 1], [1, 1]], ["ann", "bob"]) if with_panel else None
    found = [Votes.from_table(table, panel)]
    with suppress(pa.ArrowNotImplementedError):  # Parquet has no months; views of text came with pyarrow 21
        pq.write_table(table, tmp_path / "votes.parquet")
        found.append(Votes.load(tmp_path / "votes.parquet", panel))
    for votes in found:
        if with_panel or kind != "views of text":
            assert votes.panel.names == ("ann", "bob")
            assert votes.dense.tolist() == [[0, 1], [0, 0]]


def test_experts_called_worker_and_label_have_columns_of_answers():
    panel = Panel(["cat", "dog"], [[1, 1], [1, 1], [1, 1]], ["worker", "label", "bob"])
    wide = {"item": ["x", "y"], "worker": ["cat", "dog"], "label": ["dog", None], "bob": ["cat", "cat"]}
    assert Votes.from_table(wide, panel).dense.tolist() == [[0, 1, 0], [1, -1, 0]]
    long = {"item": ["x", "x"], "worker": ["bob", "label"], "label": ["dog", "cat"]}
    assert Votes.from_table(long, panel).dense.tolist() == [[-1, 0, 1]]
