"""A stored table of probabilities is one more expert, next to people who give none."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covote import Panel, Votes, decode, decode_file
from covote.errors import InputError
from covote.files.stored_probabilities import add_tables, read_probabilities, with_probabilities
from covote.votes import NOT_ASKED

CLASSES = ["ant", "bee", "cat"]


@pytest.fixture
def votes():
    panel = Panel(CLASSES, [[1, 1, 0], [0, 1, 1]], ["ann", "bob"])
    return Votes.from_dense([[0, 1], [1, 2], [NOT_ASKED, 1]], panel, items=["a", "b", "c"])


def write(path, rows, names=("item", *CLASSES)):
    columns = list(zip(*rows, strict=True))
    table = pa.table({name: list(column) for name, column in zip(names, columns, strict=True)})
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    else:
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
        path.write_text("\n".join([",".join(names), *lines]) + "\n")
    return path


ROWS = [("b", 0.1, 0.2, 0.7), ("a", 0.8, 0.1, 0.1), ("d", 0.0, 1.0, 0.0), ("c", None, None, None)]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_a_table_answers_for_its_items_and_adds_those_nobody_answered(votes, tmp_path, ending):
    place = write(tmp_path / f"camera.{ending}", ROWS)
    found = add_tables(votes, tmp_path, [place])
    assert found.panel.names == ("ann", "bob", "camera")
    assert list(found.ids) == ["a", "b", "c", "d"]
    dense = found.to_dense()
    assert dense.by_expert.T.tolist() == [[0, 1, 0], [1, 2, 2], [-1, 1, -1], [-1, -1, 1]]
    given = dense.class_probability.T  # ann: 2 classes, bob: 2, camera: 3
    assert np.isnan(given[:2, :4]).all()  # people said nothing about it
    np.testing.assert_allclose(given[[0, 1, 3], 4:], [[0.8, 0.1, 0.1], [0.1, 0.2, 0.7], [0, 1, 0]])
    assert decode(found).value.tolist()[3] == "bee"


def test_a_line_in_the_panel_names_the_table(votes, tmp_path):
    write(tmp_path / "camera.csv", ROWS, ("id", "cat", "bee", "ant"))
    panel = Panel(CLASSES, [[1, 1, 0], [0, 1, 1], [1, 1, 1]], ["ann", "bob", "trap"],
                  models=[None, None, "table:camera.csv"])  # fmt: skip
    panel.save(tmp_path / "panel.toml")
    (tmp_path / "answers.csv").write_text("item,ann,bob\na,ant,bee\nb,bee,cat\nc,,bee\n")
    outcome = decode_file(tmp_path / "answers.csv", tmp_path / "labels.csv", tmp_path / "panel.toml")
    assert outcome.answers.tolist() == [2, 3, 3]
    assert "d,bee" in (tmp_path / "labels.csv").read_text()
    Panel(CLASSES, [[1, 1, 0], [0, 1, 1], [1, 0, 1]], panel.names, models=panel.models).save(
        tmp_path / "panel.toml"
    )
    with pytest.raises(InputError, match="panel and the table of expert 'trap' disagree about bee"):
        decode_file(tmp_path / "answers.csv", tmp_path / "labels.csv", tmp_path / "panel.toml")


def test_classes_are_added_if_nobody_said_which_there_are(votes, tmp_path):
    stored = read_probabilities(write(tmp_path / "m.csv", [("a", 0.5, 0.5)], ("item", "ant", "dog")), None)
    found = with_probabilities(votes, "m", stored, more_classes=True)
    assert found.panel.classes == ("ant", "bee", "cat", "dog")
    assert found.panel.blocks()[2] == ("ant", "dog")


def test_answers_that_had_probabilities_keep_them(votes, tmp_path):
    soft = Votes.from_dense(
        votes.to_dense().by_expert.T, votes.panel, items=["a", "b", "c"], probabilities=[[0.9, 0.6]] * 3
    )
    given = add_tables(soft, tmp_path, [write(tmp_path / "m.csv", ROWS)]).to_dense().class_probability.T
    np.testing.assert_allclose(given[0], [0.9, 0.1, 0.6, 0.4, 0.8, 0.1, 0.1], atol=1e-6)


@pytest.mark.parametrize(("rows", "names", "words"), [
    ([("a", 80, 10, 10)], ("item", *CLASSES), "row 1: the probabilities add up to 100"),
    ([("a", 1.5, -0.5, 0)], ("item", *CLASSES), "or one is below 0"),
    ([("a", 0.5, 0.5, 0), ("a", 0.5, 0.5, 0)], ("item", *CLASSES), "item 'a' is there twice"),
    ([("a", 0.5, 0.5, 0)], ("item", "ant", "bea", "cat"), "'bea' is not a class of the panel .did you mean"),
    ([("a", 0.5, "x", 0)], ("item", *CLASSES), "'bee' is a class of the panel, but has no probabilities"),
    ([(0.5, 0.5, 0)], CLASSES, "which column names the items"),
    ([("a", 0.5, 0.5, 0)], ("item", "x", "y", "z"), "no columns of probabilities for two or more classes"),
])  # fmt: skip
def test_mistakes_are_named(votes, tmp_path, rows, names, words):
    with pytest.raises(InputError, match=words):
        add_tables(votes, tmp_path, [write(tmp_path / "m.csv", rows, names)])


def test_an_expert_has_answers_or_a_table(votes, tmp_path):
    with pytest.raises(InputError, match="expert 'ann' has answers and a table"):
        add_tables(votes, tmp_path, [write(tmp_path / "ann.csv", [("a", 0.5, 0.5)], ("item", "ant", "bee"))])


@pytest.mark.parametrize("heading", ["photo", "Image ID", "camera picture"])
def test_the_items_may_have_another_heading(votes, tmp_path, heading):
    rows = [(f"img {name}", *rest) for name, *rest in ROWS]
    place = write(tmp_path / "m.csv", rows, (heading, *CLASSES))
    assert read_probabilities(place, votes.panel.classes).items == ["img b", "img a", "img d", "img c"]
    place = write(tmp_path / "n.csv", [(*row, row[0]) for row in rows], ("what", *CLASSES, "which"))
    with pytest.raises(InputError, match=r"which column names the items\? .* what, ant, bee, cat, which"):
        read_probabilities(place, votes.panel.classes)
