"""A file of votes is the same votes, whatever its format, its shape, its order and its batches."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import Panel, Votes, decode
from covote.errors import InputError
from covote.files import VoteFile, decode_file
from covote.tables import ReadOptions, table_file
from covote.votes import NONE_OF_MINE, NOT_ASKED, item_index
from tests.methods import PLAIN

FORMATS = ["csv", "parquet", "jsonl"]
names = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=4)


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """So small that items, and runs of equal items, are cut everywhere."""
    monkeypatch.setattr(table_file, "ROWS", 7)
    monkeypatch.setattr(item_index, "MERGED", 5)


@st.composite
def cases(draw):
    """Draw a panel, item ids and a matrix of votes."""
    reserved = {"item", "task", "expert", "worker", "label", "none of mine"}
    known = names.filter(lambda name: name not in reserved)
    classes = draw(st.one_of(st.integers(2, 5), st.lists(known, min_size=2, max_size=5, unique=True)))
    size = classes if isinstance(classes, int) else len(classes)
    experts = draw(st.lists(known, min_size=1, max_size=4, unique=True))
    knows = [draw(st.sets(st.integers(0, size - 1), min_size=1)) for _ in experts]
    panel = Panel(classes, [[k in row for k in range(size)] for row in knows], experts)
    ids = draw(
        st.one_of(
            st.lists(st.integers(-50, 50), min_size=1, max_size=25, unique=True),
            st.lists(names, min_size=1, max_size=25, unique=True),
        )
    )
    answers = [[draw(st.sampled_from([NOT_ASKED, NONE_OF_MINE, *sorted(row)])) for row in knows] for _ in ids]
    return panel, ids, np.array(answers)


def name(panel, v):
    return None if v == NOT_ASKED else "none of mine" if v == NONE_OF_MINE else panel.classes[v]


def write(path, columns, rows):
    kind = path.suffix[1:]
    if kind == "csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows([["" if cell is None else cell for cell in row] for row in rows])
    elif kind == "jsonl":
        lines = [json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        data = {column: [row[c] for row in rows] for c, column in enumerate(columns)}
        pq.write_table(pa.table(data), path, row_group_size=6)


def mixed(panel, votes):
    """Whether a column would hold both integers and the words for "none of mine"."""
    return isinstance(panel.classes[0], int) and (votes == NONE_OF_MINE).any()


def by_item(votes):
    return {item: row.tolist() for item, row in zip(votes.items.tolist(), votes.dense, strict=True)}


@settings(max_examples=40)
@given(
    cases(), st.sampled_from(FORMATS), st.sampled_from(["long", "wide"]), st.randoms(use_true_random=False)
)
def test_every_file_gives_the_same_votes(tmp_path_factory, case, kind, shape, random):
    panel, ids, votes = case
    if kind != "csv" and mixed(panel, votes):
        votes = np.where(votes == NONE_OF_MINE, NOT_ASKED, votes)
    if shape == "wide":
        columns = ["item", *panel.names]
        rows = [[i, *(name(panel, v) for v in row)] for i, row in zip(ids, votes, strict=True)]
    else:
        columns = ["task", "worker", "label"]
        rows = [
            [i, expert, name(panel, v)]
            for i, row in zip(ids, votes, strict=True)
            for expert, v in zip(panel.names, row, strict=True)
        ]
    random.shuffle(rows)
    path = tmp_path_factory.mktemp("votes") / f"votes.{kind}"
    write(path, columns, rows)
    read = VoteFile(path, panel).read()
    expected = dict(zip(ids, votes.tolist(), strict=True))
    if kind == "csv" and not all(isinstance(i, int) for i in ids) and all(_integer(i) for i in ids):
        expected = {int(i): row for i, row in expected.items()}
    assert by_item(read) == expected
    assert list(map(str, read.items)) == list(dict.fromkeys(str(row[0]) for row in rows))
    loaded = Votes.load(path, panel)
    assert loaded.items.tolist() == read.items.tolist()
    assert (loaded.dense == read.dense).all()


def _integer(text):
    return (
        str(text).lstrip("-").isascii() and str(text).lstrip("-").isdecimal() and str(int(text)) == str(text)
    )


def _bytes(item):
    return item.encode() if isinstance(item, str) else item


@settings(max_examples=30)
@given(cases(), st.sampled_from(["long", "wide"]), st.sampled_from(PLAIN))
def test_streamed_labels_are_those_in_memory(tmp_path_factory, case, shape, method):
    panel, ids, matrix = case
    if mixed(panel, matrix):
        matrix = np.where(matrix == NONE_OF_MINE, NOT_ASKED, matrix)
    votes = Votes.from_dense(matrix, panel, items=ids)
    folder = tmp_path_factory.mktemp("labels")
    table = votes.to_arrow(shape)
    if not table.num_rows:
        return
    pq.write_table(table, folder / "votes.parquet", row_group_size=6)
    outcome = decode_file(folder / "votes.parquet", folder / "labels.parquet", panel, method=method)
    written = pq.read_table(folder / "labels.parquet").to_pylist()
    # An item without any answer is not in a long table.
    heard = (matrix != NOT_ASKED).any(axis=1)
    expected = decode(
        votes if shape == "wide" else votes.subset(np.flatnonzero(heard)), method=method
    ).to_arrow()
    assert {row["item"]: repr(row) for row in written} == {
        row["item"]: repr(row) for row in expected.to_pylist()
    }
    assert outcome.items == len(written)
    assert outcome.votes.answers == (matrix != NOT_ASKED).sum()


def answers(panel, ids, votes, random):
    """Return rows of a long file: every expert asked answers, some of them twice."""
    rows = []
    for i, row in zip(ids, votes.tolist(), strict=True):
        for e, v in enumerate(row):
            known = [NONE_OF_MINE, *np.flatnonzero(panel.knows[e]).tolist()]
            for _ in range(random.choice([1, 1, 1, 2])):
                rows.append([i, panel.names[e], name(panel, random.choice(known) if v != NOT_ASKED else v)])
    return rows


def plain_votes(panel, rows, keep):
    """Gather rows with a dictionary; None where an expert gives two answers and neither is to be kept."""
    codes = {k: n for n, k in enumerate(panel.classes)} | {"none of mine": NONE_OF_MINE}
    found = {}
    for item, expert, label in rows:
        votes = found.setdefault(item, [NOT_ASKED] * len(panel))
        e = panel.names.index(expert)
        if label is None or (votes[e] != NOT_ASKED and keep == "first"):
            continue
        if votes[e] not in (NOT_ASKED, codes[label]) and keep == "error":
            return None
        votes[e] = codes[label]
    return found


@settings(max_examples=60)
@given(
    cases(),
    st.sampled_from(["first", "last", "error"]),
    st.sampled_from(["as it lies", "in order", "shuffled"]),
    st.randoms(use_true_random=False),
)
def test_repeated_answers_in_any_order(tmp_path_factory, case, keep, lie, random):
    panel, ids, votes = case
    rows = answers(
        panel, ids, np.where(votes == NONE_OF_MINE, 0, votes) if mixed(panel, votes) else votes, random
    )
    if isinstance(panel.classes[0], int):
        rows = [row for row in rows if row[2] != "none of mine"]
    if lie == "shuffled":
        random.shuffle(rows)
    if lie == "in order":
        rows.sort(key=lambda row: _bytes(row[0]))
    if not rows:
        return
    path = tmp_path_factory.mktemp("votes") / "votes.parquet"
    write(path, ["item", "expert", "label"], rows)
    file = VoteFile(path, panel, ReadOptions(duplicates=keep))
    expected = plain_votes(panel, rows, keep)
    if expected is None:
        with pytest.raises(InputError, match=r"row \d+: expert .* answered .* but .* in row \d+"):
            file.read()
        return
    assert list(by_item(file.read()).items()) == list(expected.items())
