"""Answers on disk: what was committed survives whatever happens to the process that writes."""

import datetime
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest

import covote
from covote import Panel
from covote.errors import FileError
from covote.files import VoteFile
from covote.labelling.answers_file import AnswersFile
from covote.tables.arrow_names import NONE_OF_MINE, NOT_ASKED
from covote.tables.stored_answers import NO_ANSWER, VERSION, StoredAnswers

KNOWS = ["ant", "bee", "cat"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.answers.sqlite"


def opened(path, experts=("ann",), items=10):
    file = AnswersFile(path)
    with file.transaction():
        for name in experts:
            file.add(name, KNOWS, {"model": f"python:{name}"})
        file.choose(experts)
        file.write_items([f"i{n}" for n in range(items)])
    return file


def keep(file, *said):
    with file.transaction():
        file.insert(*said)


@pytest.mark.parametrize("soft", [False, True])
def test_what_is_read_is_what_was_written(path, soft):
    label = np.array([2, NONE_OF_MINE, NO_ANSWER, NOT_ASKED, 0])
    chances = np.arange(15, dtype=np.float32).reshape(5, 3) / 15 if soft else None
    with closing(opened(path)) as file:
        keep(file, "ann", 3, label, chances, "answered 'Zoë'")
    with closing(AnswersFile(path)) as file:
        assert file.labels("ann", 2, 9).tolist() == [-1, *label.tolist(), -1]
        assert file.asked("ann", 10).nonzero()[0].tolist() == [3, 4, 5, 7]
        assert file.note("ann") == "answered 'Zoë'"
        assert file.has_probabilities("ann") is soft
        found = file.probabilities("ann", 3, 8, 3)
        kept = np.full((5, 3), np.nan)
        if soft:
            kept[label != NOT_ASKED] = chances[label != NOT_ASKED]
        np.testing.assert_array_equal(found, kept)


def test_the_first_answer_and_the_first_note_count(path):
    with closing(opened(path)) as file:
        keep(file, "ann", 0, np.array([0, 0, NOT_ASKED]), None, "first")
        keep(file, "ann", 1, np.array([1, 1]), None, "second")
        assert file.labels("ann", 0, 4).tolist() == [0, 0, 1, NOT_ASKED]
        assert file.note("ann") == "first"


def test_items_that_are_dates_are_kept_as_text(path):
    days = [datetime.date(2024, 2, day) for day in (1, 29)]
    with closing(opened(path)) as file:
        with file.transaction():
            file.write_items(days)
        assert file.items(0, 2) == ["2024-02-01", "2024-02-29"]


def test_names_that_look_alike_are_different_experts(path):
    names = [7, "7", "a/b", "a_b", "A_b", "é", "'; DROP TABLE answers; --", "x" * 300]
    with closing(opened(path, names)) as file:
        for n, name in enumerate(names):
            keep(file, name, n, np.array([1]))
        for n, name in enumerate(names):
            assert file.asked(name, 10).nonzero()[0].tolist() == [n]


def test_answers_move_with_their_items(path):
    with closing(opened(path, ["ann", "bob"])) as file:
        keep(file, "ann", 0, np.array([0, 1, 2, 0]), np.eye(4, 3, dtype=np.float32))
        keep(file, "bob", 0, np.array([2, 2, 2, 2]))
        with file.transaction():
            file.move("ann", np.array([2, -1, 0, 3, 9]))
        assert file.labels("ann", 0, 5).tolist() == [2, NOT_ASKED, 0, 0, NOT_ASKED]
        expected = [[0, 0, 1], [np.nan] * 3, [1, 0, 0]]
        np.testing.assert_array_equal(file.probabilities("ann", 0, 3, 3), expected)
        assert file.labels("bob", 0, 5).tolist() == [2, 2, 2, 2, NOT_ASKED]


def test_what_fails_inside_a_transaction_changes_nothing(path):
    with closing(opened(path)) as file:
        keep(file, "ann", 0, np.array([1]))
        with suppress(ZeroDivisionError), file.transaction():
            file.forget("ann")
            raise ZeroDivisionError
        assert file.has_answers("ann")


def test_one_run_writes_at_a_time(path):
    with closing(opened(path)) as file:
        keep(file, "ann", 0, np.array([1]))
        for kind in (AnswersFile, StoredAnswers):
            with pytest.raises(FileError, match="another run is writing to"):
                kind(path)
    AnswersFile(path).close()


def test_a_run_waits_for_who_reads_the_file(path, monkeypatch):
    with closing(opened(path)) as file:
        keep(file, "ann", 0, np.array([1]))
    reader = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM votes").fetchone()
    threading.Timer(0.5, reader.close).start()
    with closing(AnswersFile(path)) as file:
        assert file.count("ann") == 1
        keep(file, "ann", 1, np.array([2]))
    with closing(sqlite3.connect(path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM votes").fetchone()
        monkeypatch.setattr(sys.modules[AnswersFile.__module__], "WAIT", 0.1)
        with pytest.raises(FileError, match=r"another program has been reading .* close it there"):
            AnswersFile(path)


def test_a_closed_file_is_one_file_and_one_without_answers_is_removed(path):
    opened(path).close()
    assert list(path.parent.iterdir()) == []
    with closing(opened(path)) as file:
        keep(file, "ann", 0, np.array([1]))
    assert list(path.parent.iterdir()) == [path]


def test_everything_that_was_kept_before_a_kill_is_there_after_it(path):
    script = f"""
import os, signal, sys
import numpy as np
from pathlib import Path
from covote.labelling.answers_file import AnswersFile
file = AnswersFile(Path({str(path)!r}))
with file.transaction():
    file.add("ann", {KNOWS}, {{}})
    file.write_items(list(range(1000)))
for n in range(1000):
    with file.transaction():
        file.insert("ann", n, np.array([n % 3]))
    print(n, flush=True)
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(covote.__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, env=environment, text=True
    ) as process:
        said = [int(process.stdout.readline()) for _ in range(40)]
        process.send_signal(signal.SIGKILL)
        said += [int(line) for line in process.stdout if line.endswith("\n")]
    with closing(AnswersFile(path)) as file:
        kept = file.asked("ann", 1000).nonzero()[0].tolist()
        assert kept[: len(said)] == said == list(range(len(said)))
        assert len(kept) <= len(said) + 1  # kept, and not printed any more
        assert file.labels("ann", 0, len(kept)).tolist() == [n % 3 for n in kept]


def test_files_that_are_not_answers_are_named(path, tmp_path):
    with pytest.raises(FileError, match=r"no file .*labels\.answers\.sqlite"):
        StoredAnswers(path)
    path.write_bytes(b"item,label\n" * 1000)
    for kind in (AnswersFile, StoredAnswers):
        with pytest.raises(FileError, match="cannot be read as a file of answers"):
            kind(path)
    path.unlink()
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE songs (name)")
    with pytest.raises(FileError, match="not one of `covote label`"):
        AnswersFile(path)
    with pytest.raises(FileError, match="is a folder"):
        AnswersFile(tmp_path)
    with pytest.raises(FileError, match="cannot keep answers in"):
        AnswersFile(tmp_path / "nowhere" / "x.sqlite")


@pytest.mark.parametrize("kind", [StoredAnswers, AnswersFile])
@pytest.mark.parametrize("name", [b"run", b"knows", b"scores"])
def test_damage_that_sqlite_reports_in_letters_that_are_none_is_named(path, name, kind):
    with closing(opened(path)) as file:
        keep(file, "ann", 0, np.zeros(10, dtype=np.int64))
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE " + name, b"CREATE T\xed\xacLE " + name))
    with pytest.raises(FileError, match="cannot be read as a file of answers"):
        kind(path)


@pytest.mark.parametrize("soft", [False, True])
def test_damage_anywhere_is_named_or_changes_no_answer(path, soft):
    said = np.arange(400) % 3
    chances = np.random.default_rng(1).dirichlet(np.ones(3), 400).astype(np.float32) if soft else None
    with closing(opened(path, items=400)) as file:
        keep(file, "ann", 0, said, chances)
    whole, found = path.read_bytes(), 0
    for place in np.random.default_rng(0).integers(0, len(whole), 150).tolist():
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 5]) + whole[place + 1 :])
        try:
            with closing(StoredAnswers(path)) as file:
                assert file.labels("ann", 0, 400).tolist() == said.tolist()
                assert file.items(0, 400) == [f"i{n}" for n in range(400)]
                if soft:
                    np.testing.assert_array_equal(file.probabilities("ann", 0, 400, 3), chances)
        except FileError:
            found += 1
    assert found > 20


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("numbered", [False, True])
def test_a_file_of_answers_is_a_table_of_votes(path, soft, numbered):
    names = [30, 10, 20] if numbered else ["x", "b", "c"]
    panel = Panel.from_blocks(KNOWS, [["cat", "ant"], KNOWS], ["ann", "bob"])
    knows = dict(zip(panel.names, panel.blocks(), strict=True))
    said = {"ann": [1, NONE_OF_MINE, NO_ANSWER], "bob": [NOT_ASKED, 1, 2]}
    with closing(AnswersFile(path)) as file:
        with file.transaction():
            for name in (*panel.names, "gone"):
                file.add(name, knows.get(name, KNOWS), {})
            file.choose(panel.names)
            file.write_items(names)
        keep(file, "gone", 0, np.array([0, 0, 0]))
        for name, label in said.items():
            chances = np.full((3, len(knows[name])), 0.25, np.float32) if soft else None
            keep(file, name, 0, np.array(label), chances)
    votes = VoteFile(path, panel).read()
    assert votes.soft is soft
    found = {(row["item"], row["expert"]): row["label"] for row in votes.to_arrow("long").to_pylist()}
    expected = {
        (names[0], "ann"): knows["ann"][1],
        (names[1], "ann"): "none of mine",
        (names[1], "bob"): "bee",
        (names[2], "bob"): "cat",
    }
    assert found == expected
    with closing(sqlite3.connect(path)) as plain:  # as any other program sees it
        rows = plain.execute("SELECT item, expert, label FROM votes").fetchall()
    assert {(item, expert): label for item, expert, label in rows} == expected


def damage(path, *statements):
    """Change a finished file as an unfinished one: without its checksum."""
    with closing(AnswersFile(path)) as file:
        with file.transaction():
            file.add("ann", KNOWS, {})
            file.choose(["ann"])
            file.write_items(["x", "y"])
        keep(file, "ann", 0, np.array([0, 1]))
    with closing(sqlite3.connect(path, isolation_level=None)) as plain:
        for statement in (f"PRAGMA user_version = {VERSION}", *statements):
            plain.execute(statement)


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (["UPDATE items SET position = 1000000000000000 WHERE position = 1"], "1,000,000,000,000,000"),
        (["UPDATE items SET position = -1 WHERE position = 0"], "2 items, but one at position -1"),
        (["UPDATE answers SET label = 3"], "not one of the 3 that it knows"),
        (["UPDATE answers SET label = -9"], "not one of the 3 that it knows"),
        (
            [
                "DROP TABLE answers",
                "CREATE VIEW answers AS WITH RECURSIVE n(item) AS (SELECT 0 UNION ALL SELECT item + 1 "
                "FROM n) SELECT 1 AS expert, item, 0 AS label, NULL AS probabilities FROM n",
            ],
            "another version",
        ),
    ],
)
def test_a_file_that_would_take_forever_or_give_wrong_answers_is_refused(path, statements, message):
    damage(path, *statements)
    panel = Panel.from_blocks(KNOWS, [KNOWS], ["ann"])
    with pytest.raises(FileError, match=message):
        VoteFile(path, panel).read()
