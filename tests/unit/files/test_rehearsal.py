"""A rehearsal loads what decoding needs, and does nothing else."""

import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq

from covote import Panel, simulate
from covote.files.rehearsal import rehearse

PANEL = Panel.from_blocks(3, [[0, 1], [0, 2], [1, 2]])
LOADS = """
import sys
from covote import Panel
from covote.files import kernels, packed_kernels
from covote.files.rehearsal import rehearse

loops = [packed_kernels.of_runs, packed_kernels.number, kernels.tally_columns]
assert not any(loop.signatures for loop in loops)
rehearse(sys.argv[1], Panel.load(sys.argv[2]))
assert all(loop.signatures for loop in loops)
assert "pandas" not in sys.modules
"""


def write(path):
    truth = np.arange(5000) % 3
    pq.write_table(simulate(PANEL, truth, accuracy=0.8, seed=0).to_arrow("long"), path, row_group_size=1000)


def test_compiled_loops_are_loaded(tmp_path):
    write(tmp_path / "votes.parquet")
    PANEL.save(tmp_path / "panel.toml")
    before = sorted(path.name for path in tmp_path.iterdir())
    command = [sys.executable, "-c", LOADS, tmp_path / "votes.parquet", tmp_path / "panel.toml"]
    subprocess.run(command, check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_what_is_wrong_is_told_later(tmp_path):
    rehearse(tmp_path / "nowhere.parquet", PANEL)
    (tmp_path / "votes.parquet").write_text("no Parquet")
    rehearse(tmp_path / "votes.parquet", PANEL)
    write(tmp_path / "votes.parquet")
    rehearse(tmp_path / "votes.parquet", Panel(2, [[True, True]]))
    rehearse(tmp_path / "votes.parquet", PANEL, method="supervised")
