"""`covote decode` as a process: killed, started, started for the first time."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from covote import Panel
from covote.simulation import simulate

PANEL = Panel.from_blocks(
    ["skin", "eye", "ear", "lung"],
    [["skin", "eye", "ear"], ["skin", "lung"], ["eye", "lung"], ["ear", "lung"]],
    ["dr-lee", "dr-ng", "ann", "bob"],
)


def test_a_killed_run_leaves_nothing(tmp_path):
    votes = simulate(PANEL, np.arange(400_000) % 4)
    pq.write_table(votes.to_arrow("long"), tmp_path / "votes.parquet")
    PANEL.save(tmp_path / "panel.toml")
    before = {path.name for path in tmp_path.iterdir()}
    command = [
        sys.executable,
        "-m",
        "covote",
        "decode",
        "votes.parquet",
        "--panel",
        "panel.toml",
        "-o",
        "labels.csv",
    ]
    process = subprocess.Popen(command, cwd=tmp_path)
    descriptors = Path(f"/proc/{process.pid}/fd")
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.002)
        # Killed as soon as it has begun to write.
        try:
            if any(
                str(tmp_path) in os.readlink(fd) and "deleted" in os.readlink(fd)
                for fd in descriptors.iterdir()
            ):
                break
        except OSError:
            continue
    process.send_signal(signal.SIGKILL)
    process.wait()
    after = {path.name for path in tmp_path.iterdir()}
    assert after - before <= {"labels.csv"}
    if "labels.csv" in after:  # it was done before the signal came
        assert (tmp_path / "labels.csv").read_text().count("\n") == 400_001


@pytest.mark.parametrize("classes", [PANEL.classes, range(len(PANEL.classes))], ids=["text", "integers"])
@pytest.mark.parametrize("votes", ["votes.parquet", "votes.csv"])
@pytest.mark.parametrize("labels", ["labels.parquet", "labels.csv"])
def test_decoding_starts_without_libraries_that_it_does_not_use(
    tmp_path, monkeypatch, classes, votes, labels
):
    monkeypatch.chdir(tmp_path)
    panel = Panel(classes, PANEL.knows, PANEL.names)
    panel.save("panel.toml")
    simulate(panel, [*panel.classes] * 7).save(votes)
    unused = ("numba", "scipy", "pandas", "sklearn", "matplotlib", "duckdb", "dask", "http")
    code = f"""
import sys
from covote.cli.app import app
app(["decode", "{votes}", "--panel", "panel.toml", "-o", "{labels}"], standalone_mode=False)
print([name for name in {unused} if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines()[-1:] == ["[]"], ran.stderr
    assert ran.returncode == 0, ran.stderr
