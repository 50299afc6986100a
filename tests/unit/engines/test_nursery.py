"""Worker processes are forks of one that has loaded everything; none of them stays behind.

A process that runs no threads can fork, so everything happens in processes of its own.
"""

import subprocess
import sys
import time
from pathlib import Path

import pytest

REHEARSED = """
import sys, threading
from covote.engines import Dask

def loaded(_):
    return "plistlib" in sys.modules

def load():
    import plistlib

if __name__ == "__main__":
    with Dask(workers=2, rehearsal=load) as cluster:
        assert set(cluster.map(loaded, range(8))) == {True}, "forks have what was loaded"
    assert loaded(0)
    done = threading.Event()
    threading.Thread(target=done.wait, daemon=True).start()
    with Dask(workers=1, rehearsal=load) as cluster:
        assert set(cluster.map(loaded, range(3))) == {False}, "a process with threads is not forked"
    with Dask(workers=1) as cluster:
        assert set(cluster.map(loaded, range(3))) == {False}, "nor without a rehearsal"
"""
STAYS = """
import sys, time
from covote.engines import Dask

if __name__ == "__main__":
    engine = Dask(workers=2, rehearsal={rehearsal})
    print(*engine.map(abs, [-1]), flush=True)
    sys.stdin.readline()
    {then}
"""
CANNOT_START = """
import dask
from covote.engines import Dask
from covote.errors import EngineError

dask.config.set({"%s": "%s"})
try:
    list(Dask(workers=2, rehearsal=list).map(abs, [1]))
except EngineError as error:
    print(error)
"""


@pytest.fixture
def started(tmp_path):
    processes = []

    def start(text):
        script = tmp_path / "script.py"
        script.write_text(text)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        processes.append(subprocess.Popen([sys.executable, script], text=True, **pipes))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def children(process):
    return [int(n) for n in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def test_workers_find_what_the_rehearsal_has_loaded(started):
    process = started(REHEARSED)
    _, told = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, "")


@pytest.mark.parametrize(
    ("rehearsal", "then"),
    [("list", "killed"), ("None", "killed"), ("list", "pass"), ("None", "engine.close(); time.sleep(60)")],
)
def test_no_process_stays(started, rehearsal, then):
    process = started(STAYS.format(rehearsal=rehearsal, then=then))
    assert process.stdout.readline() == "1\n"
    # Beside the nursery there may be a process that Python starts to watch over shared memory.
    family = max(([nursery, *children(nursery)] for nursery in children(process.pid)), key=len)
    assert len(family) == 3
    if then == "killed":
        process.kill()
    else:
        print(file=process.stdin, flush=True)
    until = time.monotonic() + 30
    while left := [one for one in family if Path(f"/proc/{one}/exe").exists()]:
        assert time.monotonic() < until, f"{left} of {family} are still there"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("temporary-directory", "/proc/nowhere", "a Dask cluster cannot be started on this machine: "),
        ("distributed.worker.preload", "no_such_module", "no worker process could be started"),
    ],
)
def test_a_cluster_that_cannot_start_is_reported(started, setting, value, message):
    said, told = started(CANNOT_START % (setting, value)).communicate(timeout=60)
    assert said.startswith(message)
    assert value in said + told
