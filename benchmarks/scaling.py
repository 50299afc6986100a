# ruff: noqa: E501
"""Votes in 40 Parquet files, in any order, on four worker processes of this machine, next to one process.

    python benchmarks/scaling.py [--votes 20000000] [--methods learned,authority] [--folder FOLDER]

CPU seconds of whole process trees, with the start and the end of the cluster; the memory is the peak of the
largest worker, and of the one process. Labels, statuses and confidences (4 digits) are compared.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from files import make_files

PARTS, WORKERS = 40, 4
TICK = os.sysconf("SC_CLK_TCK")


def descendants(root: int) -> list[int]:
    """Return a process and everything below it that is there."""
    found = [root]
    for process in found:
        for task in Path(f"/proc/{process}/task").glob("*/children"):
            try:
                found += map(int, task.read_text().split())
            except OSError:
                continue
    return found


def watched(command: list[str]) -> tuple[float, dict[int, int]]:
    """Run a command; return the CPU seconds of all its processes, and the peak memory (MB) of each."""
    cpu: dict[int, float] = {}
    peak: dict[int, int] = {}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as running:
        while running.poll() is None:
            for process in descendants(running.pid):
                try:
                    times = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
                    status = Path(f"/proc/{process}/status").read_text()
                except OSError:
                    continue
                cpu[process] = sum(map(int, times)) / TICK
                if "VmHWM" in status:
                    peak[process] = int(status.partition("VmHWM:")[2].split()[0]) // 1000
            time.sleep(0.05)
    if running.returncode:
        raise SystemExit(f"failed: {command}")
    return sum(cpu.values()), peak


def scatter(folder: Path) -> None:
    """Write the rows of the long file to many files, in any order."""
    shutil.rmtree(folder / "parts", ignore_errors=True)
    (folder / "parts").mkdir()
    table = pq.read_table(folder / "long.parquet")
    table = table.take(np.random.default_rng(0).permutation(len(table)))
    pq.write_table(table, folder / "all.parquet")
    step = -(-len(table) // PARTS)
    for n in range(PARTS):
        pq.write_table(table.slice(n * step, step), folder / f"parts/{n:02}.parquet")


def compare(one: Path, other: Path) -> str:
    tables = [pq.read_table(path).sort_by("item") for path in (one, other)]
    names = [name for name in ("item", "label", "status") if all(
        table.column(name).to_pylist() == tables[0].column(name).to_pylist() for table in tables
    )]  # fmt: skip
    sure = [np.round(np.nan_to_num(np.asarray(table.column("confidence")), nan=-1), 4) for table in tables]
    return ", ".join([*names, *(["confidence"] if np.array_equal(*sure) else [])])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--votes", type=int, default=20_000_000)
    parser.add_argument("--methods", default="learned,authority")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        make_files(folder, arguments.votes)
        scatter(folder)
        print(
            f"{date.today()}, Python {platform.python_version()}, {os.cpu_count()} cores; {arguments.votes:,} votes\n"
        )
        print(
            "| method | one process, s | MB | cluster, s | largest worker, MB | equal |\n|---|---|---|---|---|---|"
        )
        for method in arguments.methods.split(","):
            command = [
                sys.executable,
                "-m",
                "covote",
                "decode",
                "--panel",
                str(folder / "panel.toml"),
                "--method",
                method,
            ]
            shutil.rmtree(folder / "labels", ignore_errors=True)
            here, own = watched([*command, str(folder / "all.parquet"), "-o", str(folder / "labels.parquet")])
            there, peaks = watched(
                [*command, str(folder / "parts/*.parquet"), "-o", str(folder / "labels"), "--engine", "dask",
                 "--workers", str(WORKERS)]
            )  # fmt: skip
            same = compare(folder / "labels.parquet", folder / "labels")
            workers = sorted(peaks.values())
            print(
                f"| {method} | {here:.1f} | {max(own.values())} | {there:.1f} | {workers[-1]} | {same} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
