"""The Dask engine with four worker processes on this machine, next to one process.

    python benchmarks/scaling.py [--votes 50000000] [--repeats 3] [--folder FOLDER]

CPU time of whole process trees: of `covote decode`, and of everything it starts. `running cluster` is a
scheduler with four workers that was there before, and had decoded a file: the CPU time that it and `covote
decode` take for one more; its workers have loaded what they need, as after a first job. Of the repeats,
which alternate between the ways, the least CPU time counts. Memory is the peak of the largest worker.
The labels are compared byte for byte.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
from files import make_files

WORKERS = 4
TICK = os.sysconf("SC_CLK_TCK")
METHODS = {"learned": [], "authority": ["--method", "authority"], "em": ["--method", "em"]}
CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(n_workers={workers}, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def descendants(root: int) -> list[int]:
    """Return a process and everything below it that is there."""
    parents = {}
    for place in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(place.name)] = int((place / "stat").read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found = [root]
    for process in found:
        found += [child for child, parent in parents.items() if parent == process]
    return found


def cpu(processes: list[int]) -> float:
    """Return the CPU seconds of processes and of children that have ended."""
    total = 0
    for process in processes:
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += sum(map(int, fields[11:15]))
    return total / TICK


def peak(process: int) -> float:
    """Return the most memory that a process ever had, in MB."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return next((int(line.split()[1]) / 1e3 for line in lines if line.startswith("VmHWM")), 0.0)


def run(command: list[str]) -> tuple[float, float]:
    """Return (CPU seconds of the whole tree, peak MB of its largest process but the first)."""
    before = os.times()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    largest: dict[int, float] = {}
    while process.poll() is None:
        for child in descendants(process.pid)[1:]:
            largest[child] = max(largest.get(child, 0.0), peak(child))
        time.sleep(0.3)
    if process.returncode:
        raise SystemExit(f"failed: {command}")
    for child in largest:  # what it left behind has become ours, and counts when it has ended
        with suppress(ChildProcessError):
            os.waitpid(child, 0)
    after = os.times()
    used = after.children_user + after.children_system - before.children_user - before.children_system
    return used, max(largest.values(), default=0.0)


@contextmanager
def cluster() -> Iterator[tuple[str, int]]:
    """Start a cluster that stays; give its address and its process."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "cluster.py"
        script.write_text(CLUSTER.format(workers=WORKERS))
        process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.communicate()


def run_there(command: list[str], address: str, root: int) -> tuple[float, float]:
    """Return the same of a command that uses a running cluster."""
    tree = descendants(root)
    before, times = cpu(tree), os.times()
    subprocess.run(
        [*command, "--engine", "dask", "--scheduler", address], stdout=subprocess.DEVNULL, check=True
    )
    after = os.times()
    own = after.children_user + after.children_system - times.children_user - times.children_system
    return own + cpu(tree) - before, max(peak(process) for process in tree[1:])


def vote_files(folder: Path, votes: int) -> dict[int, Path]:
    """Return files with a tenth of the votes, and with all."""
    whole = folder / "long.parquet"
    if not whole.exists():
        make_files(folder, votes)
    tenth = folder / "tenth.parquet"
    if not tenth.exists():
        reader = pq.ParquetFile(whole)
        writer = pq.ParquetWriter(tenth, reader.schema_arrow)
        left = -(-votes // 10)
        for group in range(reader.num_row_groups):
            table = reader.read_row_group(group).slice(0, left)
            if table.num_rows:
                writer.write_table(table)
            left -= table.num_rows
        writer.close()
    return {votes // 10: tenth, votes: whole}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--votes", type=int, default=50_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--methods", default="+".join(METHODS))
    arguments = parser.parse_args()
    # Processes that outlive their parent become ours, so that their CPU time is counted.
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)
    import distributed

    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(exist_ok=True, parents=True)
        print(f"{date.today()}, {arguments.repeats} repeats, load {os.getloadavg()[0]:.0f}, ", end="")
        print(f"Python {platform.python_version()}, distributed {distributed.__version__}\n")
        print(
            "| votes | method | local | own cluster | ratio | running, first job | later jobs | ratio ",
            end="",
        )
        print("| largest worker, own | running |\n|---|---|---|---|---|---|---|---|---|---|")
        for votes, file in vote_files(folder, arguments.votes).items():
            for name in arguments.methods.split("+"):
                print(measured(folder, file, votes, name, METHODS[name], arguments.repeats), flush=True)


def measured(folder: Path, file: Path, votes: int, name: str, options: list[str], repeats: int) -> str:
    """Return a row of the table."""
    seen: dict[str, list[tuple[float, float]]] = {"local": [], "own": [], "first": [], "running": []}
    outputs = {way: folder / f"labels-{way}.parquet" for way in seen}

    def command(way: str) -> list[str]:
        head = [sys.executable, "-m", "covote", "decode", str(file), "--panel", str(folder / "panel.toml")]
        return [*head, "-o", str(outputs[way]), *options]

    with cluster() as (address, root):
        seen["first"].append(run_there(command("first"), address, root))
        for _ in range(repeats):
            seen["running"].append(run_there(command("running"), address, root))
            seen["local"].append(run(command("local")))
            seen["own"].append(run([*command("own"), "--engine", "dask", "--workers", str(WORKERS)]))
    if len({path.read_bytes() for path in outputs.values()}) > 1:
        raise SystemExit(f"{name}: the labels differ")
    least = {way: min(used for used, _ in runs) for way, runs in seen.items()}
    most = {way: max(memory for _, memory in runs) for way, runs in seen.items()}
    ratio = {way: least[way] / least["local"] for way in seen}
    return (
        f"| {votes:,} | {name} | {least['local']:.2f} | {least['own']:.2f} | {ratio['own']:.2f} "
        f"| {least['first']:.2f} | {least['running']:.2f} | {ratio['running']:.2f} "
        f"| {most['own']:.0f} MB | {most['running']:.0f} MB |"
    )


if __name__ == "__main__":
    main()
