"""Votes on a real Dask cluster get the labels that they get in one process."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from covote import CovoteError, Panel, Votes, decode, simulate
from covote.engines import dask as engine
from covote.errors import EngineError, InputError
from covote.tables import ReadOptions
from covote.votes.problems import DroppedWarning

pytest.importorskip("distributed")
PANEL = Panel(6, [[(k + i) % 6 < 4 for k in range(6)] for i in range(7)], [f"e{i}" for i in range(7)])
MANY = Panel(60, np.random.default_rng(5).random((40, 60)) < 0.3)  # answer rows do not fit into 64 bits


@pytest.fixture(scope="module")
def client():
    with engine.connected(workers=3) as made:
        yield made


def votes_of(panel, items=4000, **model):
    truth = np.random.default_rng(1).integers(0, len(panel.classes), items)
    ids = np.array([f"item-{n:05}" for n in np.random.default_rng(2).permutation(items)])
    votes = simulate(panel, truth, **{"accuracy": 0.8, "missing": 0.2, "none_rate": 0.1, "seed": 3, **model})
    return votes.to_arrow("long"), votes.to_arrow("wide"), ids


def write(folder, panel, shape="long", parts=5, **model):
    """Write votes in parts, in any order: the answers about an item are in several files."""
    long, wide, ids = votes_of(panel, **model)
    table = long if shape == "long" else wide
    names = np.array(ids)[np.asarray(table.column("item"))]
    table = table.set_column(0, "item", [names])
    table = table.take(np.random.default_rng(4).permutation(len(table)))
    (folder / "votes").mkdir()
    step = -(-len(table) // parts)
    for n in range(parts):
        pq.write_table(table.slice(n * step, step), folder / f"votes/{n}.parquet")
    pq.write_table(table, folder / "all.parquet")
    return folder / "votes/*.parquet"


def rows_of(table):
    """Return {item: (label, status, confidence with 4 digits, violations)}."""
    columns = ("item", "label", "status", "confidence", "violations")
    rows = zip(*(table.column(name).to_pylist() for name in columns), strict=True)
    return {item: (label, status, f"{sure:.4f}", lies) for item, label, status, sure, lies in rows}


@pytest.mark.parametrize("method", ["learned", "authority", "em"])
@pytest.mark.parametrize(("panel", "shape"), [(PANEL, "long"), (PANEL, "wide"), (MANY, "long")])
def test_a_cluster_gives_the_labels_of_one_process(tmp_path, client, panel, shape, method):
    files = write(tmp_path, panel, shape, items=1500 if panel is MANY else 4000)
    counts = engine.decode(files, panel, tmp_path / "labels", client, method=method)
    labels = decode(pq.read_table(tmp_path / "all.parquet"), panel, method=method)
    assert rows_of(pq.read_table(tmp_path / "labels")) == rows_of(labels.to_arrow())
    assert counts == labels.count()
    assert sum(len(pq.read_table(part)) for part in (tmp_path / "labels").iterdir()) == len(labels)


def test_gold_and_unknown_names_count_as_in_one_process(tmp_path, client):
    files = write(tmp_path, PANEL, accuracy=0.6)
    gold = {f"item-{n:05}": int(n % 6) for n in range(0, 900, 3)}
    table = pq.read_table(tmp_path / "all.parquet")
    engine.decode(files, PANEL, tmp_path / "gold", client, gold=gold)
    labels = decode(table, PANEL, gold=gold)
    assert rows_of(pq.read_table(tmp_path / "gold")) == rows_of(labels.to_arrow())
    assert labels.count()["given"] == 300
    few = PANEL.without("e6")
    engine.decode(files, few, tmp_path / "few", client, reading=ReadOptions(unknown="drop"), odds=2.0)
    with pytest.warns(DroppedWarning):
        votes = Votes.from_table(table, few, unknown="drop")
    assert rows_of(pq.read_table(tmp_path / "few")) == rows_of(decode(votes, odds=2.0).to_arrow())
    with pytest.raises(InputError, match="none of the 1 items whose class is known"):
        engine.decode(files, PANEL, tmp_path / "other", client, gold={"nowhere": 0})


def listening(processes):
    """Return the addresses at which processes listen, as the system writes them."""
    sockets = {
        os.readlink(file)[8:-1]
        for process in processes
        for file in Path(f"/proc/{process}/fd").iterdir()
        if file.exists() and os.readlink(file).startswith("socket:")
    }
    rows = [
        line.split()
        for name in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]
    ]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and row[9] in sockets}


def test_nothing_listens_to_other_machines(client):
    assert client.submit(abs, -1).result() == 1
    assert listening([os.getpid(), *family(os.getpid())]) == {"0100007F"}  # 127.0.0.1


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask itself
def test_a_dask_frame_is_read_like_files(tmp_path, client):
    import dask.dataframe

    files = write(tmp_path, PANEL)
    frame = dask.dataframe.read_parquet(str(files)).rename(columns={"item": "image", "expert": "doctor"})
    engine.decode(frame, PANEL, tmp_path / "labels", client)
    labels = decode(pq.read_table(tmp_path / "all.parquet"), PANEL)
    assert rows_of(pq.read_table(tmp_path / "labels")) == rows_of(labels.to_arrow())


def test_mistakes_leave_nothing_behind(tmp_path, client):
    files = write(tmp_path, PANEL)
    with pytest.raises(CovoteError, match=r"experts that are not in the panel .*'e6'"):
        engine.decode(files, PANEL.without("e6"), tmp_path / "labels", client)
    with pytest.raises(InputError, match="no column"):
        engine.decode(files, PANEL, tmp_path / "labels", client, reading=ReadOptions(item="picture"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["all.parquet", "votes"]
    (tmp_path / "labels").mkdir()
    with pytest.raises(InputError, match="labels exists"):
        engine.decode(files, PANEL, tmp_path / "labels", client)
    with pytest.raises(InputError, match="at least 1, not 0"), engine.connected(workers=0):
        pass
    with pytest.raises(EngineError, match=r"no Dask scheduler answers at 127\.0\.0\.1"):  # noqa: SIM117
        with engine.connected("127.0.0.1"):
            pass


def killed_once(votes, place):
    """Kill the worker the first time that a partition is looked at."""
    if not place.exists():
        place.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return len(votes)


def test_the_work_of_a_lost_worker_is_done_again(tmp_path, client):
    files = write(tmp_path, PANEL)
    votes = engine._votes_by_item(client, files, PANEL, ReadOptions())
    parts = engine._Parts(client, votes, PANEL)
    assert sum(parts.map(partial(killed_once, place=tmp_path / "killed"))) == 4000


def test_the_command_labels_files_on_processes_of_its_own(tmp_path):
    files = write(tmp_path, PANEL, items=300)
    PANEL.save(tmp_path / "panel.toml")
    command = [sys.executable, "-m", "covote", "decode", str(files), "--panel", "panel.toml", "-o", "labels"]
    command += ["--engine", "dask", "--workers", "2"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("300 items: ")
    labels = decode(pq.read_table(tmp_path / "all.parquet"), PANEL)
    assert rows_of(pq.read_table(tmp_path / "labels")) == rows_of(labels.to_arrow())
    again = subprocess.run([*command, "--report", "x.html"], cwd=tmp_path, capture_output=True, text=True)
    assert (again.returncode, "leave out --report" in again.stderr) == (2, True)


SCRIPT = """
from covote.engines.dask import connected
import time
if __name__ == "__main__":
    with connected(workers=2) as client:
        print(client.submit(abs, -1).result(), client.scheduler_info()["address"], flush=True)
        time.sleep(60)
"""


def family(process):
    """Return a process's children, their children, and so on."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    children = [int(n) for task in tasks for n in task.read_text().split()]
    return children + [one for child in children for one in family(child)]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_stays(tmp_path, end):
    (tmp_path / "script.py").write_text(SCRIPT)
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, str(tmp_path / "script.py")]
    with subprocess.Popen(command, text=True, env=environment, stdout=subprocess.PIPE) as process:
        answer, address = process.stdout.readline().split()
        assert answer == "1"
        assert address.startswith("tls://127.0.0.1:")  # nobody else on this machine has the key
        workers = family(process.pid)
        assert len(workers) >= 2
        process.send_signal(end)
        until = time.monotonic() + 60
        while left := [one for one in workers if Path(f"/proc/{one}/exe").exists()]:
            assert time.monotonic() < until, f"{left} of {workers} are still there"
            time.sleep(0.05)
    if end == signal.SIGTERM:
        assert process.returncode == 128 + signal.SIGTERM
        assert [path.name for path in tmp_path.iterdir() if path.name != "script.py"] == []
