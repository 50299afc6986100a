"""Rows written as CSV, against Python's own reader and writer."""

import csv
import io

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covote.errors import InputError
from covote.tables.writing import csv_bytes, open_writer

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=6)


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=20))
def test_text_comes_back_as_it_was(rows):
    batch = pa.record_batch({"one": [one for one, _ in rows], "two": [two for _, two in rows]})
    found = list(csv.reader(io.StringIO(csv_bytes(batch).decode(), newline="")))
    assert found == [list(row) for row in rows]


def test_only_what_needs_quotes_has_them_and_nothing_is_nothing():
    batch = pa.record_batch(
        {
            "name": pa.array(["plain", "a,b", 'say "x"', "", None]),
            "coded": pa.array(["x", "x", "y,z", None, "x"]).dictionary_encode(),
            "share": np.array([0.5, np.nan, 1, 0.25, 0], np.float32),
            "count": [1, 2, None, 4, 5],
        }
    )
    assert csv_bytes(batch).decode().splitlines() == [
        "plain,x,0.5,1",
        '"a,b",x,,2',
        '"say ""x""","y,z",1,',
        '"",,0.25,4',
        ",x,0,5",
    ]


def test_a_part_of_a_batch_is_that_part():
    whole = pa.record_batch({"n": np.arange(10), "text": [f"t{n}" for n in range(10)]})
    assert csv_bytes(whole.slice(3, 2)) == b"3,t3\n4,t4\n"
    assert csv_bytes(whole.slice(0, 0)) == b""


def test_what_has_no_text_is_rejected(tmp_path):
    lists = pa.record_batch({"item": [1], "lists": [[{"a": 1}]]})
    with (
        pytest.raises(InputError, match=r"cannot be written as CSV .*\.parquet"),
        open_writer(tmp_path / "rows.csv") as writer,
    ):
        writer.write_batch(lists)
    assert not list(tmp_path.iterdir())
