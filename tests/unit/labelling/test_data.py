"""Data to be labelled: what experts see of tables, arrays and images."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covote.errors import FileError, InputError
from covote.labelling.data import DataPlace, content_digest, open_data, refuse_repeated, stat_digest
from covote.models.batches import matrix
from covote.tables.column_roles import id_column


def opened(path, **options):
    return open_data(DataPlace(path, **options))


def test_columns_come_as_numpy_has_them(tmp_path):
    table = pa.table(
        {
            "whole": pa.array([1, 2, 3], pa.int16()),
            "gaps": pa.array([1, None, 3]),
            "part": pa.array([0.5, None, 2.5], pa.float32()),
            "yes": pa.array([True, False, None]),
            "text": pa.array(["a", None, "ü"]),
            "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
            "vector": pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], pa.list_(pa.float32())),
            "fixed": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int8(), 2)),
            "money": pa.array([1, 2, 3]).cast(pa.decimal128(22, 2)),
        }
    )
    pq.write_table(table, tmp_path / "data.parquet")
    rows = opened(tmp_path / "data.parquet").read(0, 3)
    assert rows["whole"].dtype == np.int16
    np.testing.assert_array_equal(rows["gaps"], [1, np.nan, 3])
    np.testing.assert_array_equal(rows["part"], np.array([0.5, np.nan, 2.5], np.float32))
    np.testing.assert_array_equal(rows["yes"], [1, 0, np.nan])
    assert rows["text"].tolist() == ["a", None, "ü"]
    assert rows["kind"].tolist() == ["x", "y", "x"]
    np.testing.assert_array_equal(rows["vector"], [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(rows["fixed"], [[1, 2], [3, 4], [5, 6]])
    assert rows["money"].tolist() == [1.0, 2.0, 3.0]


def test_any_rows_can_be_read_across_groups(tmp_path):
    values = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    table = pa.table({name: values[:, k] for k, name in enumerate("abc")})
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=7)
    data = opened(tmp_path / "data.parquet", columns=("c", "a"))
    assert data.items == 100
    for start, stop in [(0, 100), (3, 5), (6, 8), (13, 30), (99, 100), (7, 14)]:
        rows = data.read(start, stop)
        assert list(rows) == ["c", "a"]
        np.testing.assert_array_equal(rows["c"], values[start:stop, 2])
        assert matrix(rows).dtype == np.float32
        np.testing.assert_array_equal(matrix(rows), values[start:stop, [2, 0]])
    assert data.ids().tolist() == list(range(100))


def test_lists_of_unequal_length_are_no_matrix(tmp_path):
    pq.write_table(pa.table({"v": pa.array([[1.0], [1.0, 2.0]])}), tmp_path / "data.parquet")
    with pytest.raises(InputError, match="'v' have unequal lengths"):
        opened(tmp_path / "data.parquet").read(0, 2)


@pytest.mark.parametrize(("name", "text"), [
    ("data.csv", "id,x,word\n007,1,a\n8,2.5,NA\n"),
    ("data.tsv", "id\tx\tword\n007\t1\ta\n8\t2.5\tNA\n"),
    ("data.jsonl", '{"id": "007", "x": 1.0, "word": "a"}\n{"id": "8", "x": 2.5, "word": "NA"}\n'),
    ("data.csv.gz", "id,x,word\n007,1,a\n8,2.5,NA\n"),
])  # fmt: skip
def test_text_has_types_and_names_of_items_stay_as_written(tmp_path, name, text):
    content = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
    (tmp_path / name).write_bytes(content)
    data = opened(tmp_path / name, id="id")
    assert data.ids().to_pylist() == ["007", "8"]
    assert data.read(0, 2)["x"].tolist() == [1.0, 2.5]
    assert data.read(0, 2)["word"].tolist() == ["a", "NA"]


def test_whole_numbers_as_names_of_items_are_numbers(tmp_path):
    (tmp_path / "data.csv").write_text("id,x\n7,1\n-8,2\n")
    assert opened(tmp_path / "data.csv", id="id").ids().to_pylist() == [7, -8]


def test_items_without_a_name_and_with_the_name_of_another_are_refused(tmp_path):
    (tmp_path / "data.csv").write_text("id,x\na,1\n,2\n")
    with pytest.raises(InputError, match="row 2: no item"):
        opened(tmp_path / "data.csv", id="id")
    pq.write_table(pa.table({"id": ["a", "b", "c", "b"], "x": [1, 2, 3, 4]}), tmp_path / "data.parquet")
    place = DataPlace(tmp_path / "data.parquet", id="id")
    with pytest.raises(FileError, match="'b' of column 'id' is in row 2 and again in row 4"):
        refuse_repeated(open_data(place).ids(), place)


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(1)])
def test_items_named_by_bytes_are_refused(tmp_path, kind):
    pq.write_table(pa.table({"id": pa.array([b"a", b"\xff"], kind), "x": [1, 2]}), tmp_path / "data.parquet")
    with pytest.raises(InputError, match="column 'id' holds bytes; items are named by text or numbers"):
        opened(tmp_path / "data.parquet", id="id").ids()


def test_arrays_of_any_rank(tmp_path):
    array = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
    np.save(tmp_path / "data.npy", array)
    data = opened(tmp_path / "data.npy")
    np.testing.assert_array_equal(data.read(1, 3), array[1:3])
    np.save(tmp_path / "object.npy", np.array([{}, {}]), allow_pickle=True)
    np.save(tmp_path / "one.npy", np.array(3))
    with pytest.raises(FileError, match="cannot be read as an array"):
        opened(tmp_path / "object.npy")
    with pytest.raises(InputError, match="one entry per item"):
        opened(tmp_path / "one.npy")


def test_a_fingerprint_is_of_the_content(tmp_path):
    one, two = tmp_path / "one.npy", tmp_path / "two.npy"
    np.save(one, [1, 2])
    np.save(two, [1, 2])
    assert content_digest([one]) == content_digest([two])
    assert stat_digest([one]) != stat_digest([two])
    before = content_digest([one, two])
    two.rename(tmp_path / "three.npy")
    assert content_digest([one, tmp_path / "three.npy"]) != before
    np.save(one, [1, 3])
    assert content_digest([one]) != content_digest([tmp_path / "three.npy"])


def test_an_array_that_is_none_is_refused_without_advice_to_run_it(tmp_path):
    path = tmp_path / "data.npy"
    for content in (b"garbage", b""):
        path.write_bytes(content)
        with pytest.raises(FileError, match="cannot be read as an array of numbers") as caught:
            open_data(DataPlace(path))
        assert "pickle" not in str(caught.value)


def test_the_column_of_names_is_found_in_any_case():
    assert id_column(["text", "ID"], None) == "ID"
    assert id_column(["id", "Task", "item"], None) == "item"
    assert id_column(["text", "key"], None) is None
    assert id_column(["text", "id"], "text") == "text"
