"""Worker processes of one's own: only this process can talk to them, and none of them stays behind."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

STAYS = """
import sys, time
from covote.engines import Dask

if __name__ == "__main__":
    engine = Dask(workers=2)
    print(*engine.map(abs, [-1]), engine._client.scheduler_info()["address"], flush=True)
    sys.stdin.readline()
    {then}
"""


@pytest.fixture
def started(tmp_path):
    processes = []

    def start(text):
        script = tmp_path / "script.py"
        script.write_text(text)
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        environment = {**os.environ, "TMPDIR": str(tmp_path)}
        processes.append(subprocess.Popen([sys.executable, script], text=True, env=environment, **pipes))
        return processes[-1]

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def family(process):
    """Return a process's children, their children, and so on."""
    tasks = Path(f"/proc/{process}/task").glob("*/children")
    children = [int(n) for task in tasks for n in task.read_text().split()]
    return children + [one for child in children for one in family(child)]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM, "exit", "close"])
def test_no_process_stays(started, tmp_path, end):
    process = started(STAYS.format(then="engine.close(); time.sleep(60)" if end == "close" else "pass"))
    said = process.stdout.readline().split()
    assert said[0] == "1"
    assert said[1].startswith("tls://127.0.0.1:")  # nobody else on this machine has the key
    workers = family(process.pid)
    assert len(workers) >= 2
    if isinstance(end, str):
        print(file=process.stdin, flush=True)
    else:
        process.send_signal(end)
    until = time.monotonic() + 60
    while left := [one for one in workers if Path(f"/proc/{one}/exe").exists() and end != "close"]:
        assert time.monotonic() < until, f"{left} of {workers} are still there"
        time.sleep(0.05)
    if end == signal.SIGTERM:
        assert process.wait(60) == 128 + signal.SIGTERM
        assert [path.name for path in tmp_path.iterdir() if path.name != "script.py"] == []
