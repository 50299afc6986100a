"""Rows in the order of their items: sorted in memory, and by DuckDB where they do not fit."""

import datetime
import sys

import numpy as np
import pyarrow as pa
import pytest

from covote.errors import InputError, MissingDependencyError
from covote.files import item_order

ITEMS = {
    "integers": [7, -3, 7, 2**62, 0, -3, 5],
    "text": ["b", "a", "é", "b", "B", "a", "aa"],
    "dates": [datetime.date(2020, 1, n) for n in (3, 1, 3, 2, 9, 1, 4)],
}


def batches(items, size=2):
    rows = pa.record_batch({"item": pa.array(items), "row": np.arange(1, len(items) + 1)})
    return (rows.slice(start, size) for start in range(0, len(items), size))


@pytest.fixture(params=["in memory", "DuckDB"])
def room(request, monkeypatch):
    if request.param == "DuckDB":
        monkeypatch.setattr(item_order, "IN_MEMORY", 1)


@pytest.mark.parametrize("kind", ITEMS)
def test_rows_come_in_the_order_of_their_items_and_then_as_they_were(room, kind):
    found = pa.Table.from_batches(item_order.by_item(batches(ITEMS[kind]), 3)).to_pylist()
    expected = sorted((item, row) for row, item in enumerate(ITEMS[kind], start=1))
    assert [(row["item"], row["row"]) for row in found] == expected


@pytest.mark.parametrize("kind", ITEMS)
def test_the_first_item_that_comes_again_is_named_with_its_rows(room, kind):
    items = ITEMS[kind]
    assert item_order.first_repeated(batches(items)) == (items[0], 1, items.index(items[0], 1) + 1)
    assert item_order.first_repeated(batches(list(dict.fromkeys(items)))) is None


def test_only_files_that_do_not_fit_into_memory_need_duckdb(monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    assert len(list(item_order.by_item(batches([2, 1]), 9))) == 1
    monkeypatch.setattr(item_order, "IN_MEMORY", 1)
    with pytest.raises(MissingDependencyError, match=r"pip install 'covote\[large\]'"):
        list(item_order.by_item(batches([2, 1]), 9))


def test_a_type_without_an_order_is_rejected():
    months = pa.array([pa.MonthDayNano([1, 0, 0]), pa.MonthDayNano([0, 30, 0])])
    with pytest.raises(InputError, match="cannot be sorted; name them by"):
        list(item_order.by_item(batches(months), 9))
