"""Files that would run code if they were loaded as their formats allow: none of it runs without --trust."""

import json
import pickle
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covote import Panel
from covote.tables.stored_answers import APPLICATION, VERSION

VOTES = {"item": ["i1", "i1", "i2"], "expert": ["x", "y", "x"], "label": ["a", "a", "b"]}
MARK = "Path('ran').open('a').write(__name__)"


class Bomb:
    """Opens a file when it is unpickled."""

    def __reduce__(self):
        return (open, ("ran", "w"))


def as_objects(path):
    np.save(path, np.array([Bomb()], dtype=object), allow_pickle=True)


def as_archive(path):
    with path.open("wb") as file:
        np.savez(file, head=np.array([Bomb()], dtype=object), item=np.zeros(1), allow_pickle=True)


def as_parquet(path):
    metadata = {  # pyarrow's own extension types were pickles once
        "ARROW:extension:name": "arrow.py_extension_type",
        "ARROW:extension:metadata": pickle.dumps(Bomb()),
    }
    table = pa.table(VOTES)
    fields = [pa.field("item", pa.string(), metadata=metadata), table.schema.field(1), table.schema.field(2)]
    pq.write_table(pa.Table.from_arrays(table.columns, schema=pa.schema(fields)), path)


def as_dataset(path):
    path.mkdir()
    (path / f"{path.name}.py").write_text(f"from pathlib import Path\n{MARK}\n")  # a loading script
    (path / "dataset_infos.json").write_text("{}")


def as_answers(path):
    with closing(sqlite3.connect(path)) as made:
        made.execute(f"PRAGMA application_id = {APPLICATION}")
        made.execute(f"PRAGMA user_version = {VERSION}")
        made.execute("CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID")
        made.execute("CREATE VIEW items AS SELECT load_extension('./bomb.so') AS position, 'i' AS name")
        made.commit()


def as_pickle(path):
    path.write_bytes(pickle.dumps(Bomb()))


FILES = {
    "an array of objects": (as_objects, "data.npy", "label data.npy --panel panel.toml -o out.csv"),
    "a state of asking": (as_archive, "state.npz", "ask --panel panel.toml --state state.npz"),
    "a type of Arrow": (as_parquet, "typed.parquet", "decode typed.parquet --panel panel.toml"),
    "a loading script": (as_dataset, "dataset", "decode dataset --panel panel.toml"),
    "a view of kept answers": (
        as_answers, "kept.answers.sqlite", "decode kept.answers.sqlite --panel panel.toml"
    ),
    "a pickle as a table": (as_pickle, "votes.parquet", "decode votes.parquet --panel panel.toml"),
    "a pickle as a workbook": (as_pickle, "votes.xlsx", "decode votes.xlsx --panel panel.toml"),
    "a pickle as a panel": (as_pickle, "bomb.json", "check bomb.json"),
    "a pickle as statistics": (
        as_pickle, "stats.json", "decode votes.csv --panel panel.toml --load-stats stats.json"
    ),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Panel.from_blocks(list("ab"), [["a", "b"]] * 2, ["x", "y"]).save("panel.toml")
    rows = zip(*VOTES.values(), strict=True)
    Path("votes.csv").write_text("item,expert,label\n" + "".join(",".join(row) + "\n" for row in rows))
    return tmp_path


@pytest.mark.parametrize("name", FILES)
def test_a_file_runs_no_code(covote, folder, name):
    make, place, line = FILES[name]
    make(folder / place)
    ran = covote(*line.split())
    assert not Path("ran").exists()
    assert ran.status in (0, 2), ran.err


def test_the_bomb_is_a_bomb(folder):
    pickle.loads(pickle.dumps(Bomb())).close()
    assert Path("ran").exists()


def test_modules_and_settings_in_the_working_folder_are_not_taken(folder):
    for name in ("bisect", "json", "numpy", "pandas", "covote", "typer", "duckdb", "sitecustomize"):
        Path(f"{name}.py").write_text(f"from pathlib import Path\n{MARK}\nraise SystemExit(9)\n")
    Path("matplotlibrc").write_text("text.usetex: True\nbackend: module://bisect\n")
    line = ["decode", "votes.csv", "--panel", "panel.toml", "--report", "report.html", "--json"]
    call = f"import sys; sys.argv = ['covote', *{line!r}]; from covote.cli import main; main()"
    ran = subprocess.run([sys.executable, "-P", "-c", call], capture_output=True, text=True)
    assert not Path("ran").exists()
    assert (ran.returncode, json.loads(ran.stdout)["items"]) == (0, 2), ran.stderr
