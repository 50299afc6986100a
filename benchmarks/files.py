# ruff: noqa: E501
"""Files of votes: `covote decode` next to DuckDB that reads and counts the same file.

    python benchmarks/files.py [--votes 50000000] [--repeats 3] [--folder FOLDER]

CPU time of whole processes. Everything runs in processes of its own, turn about, DuckDB with one thread; of the
repeats the least CPU time counts (the others were disturbed). DuckDB counts the votes of every expert for every
class, and reads the items too. `start` is the CPU time that `covote decode` needs for a thousand items: Python,
libraries and compiled code.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

import numpy as np

EXPERTS, CLASSES, SIZE = 9, 10, 4
COLUMNS = [f"expert-{i + 1}" for i in range(EXPERTS)]
PART = 200_000

UNPIVOT = "(UNPIVOT '{file}' ON COLUMNS(* EXCLUDE item) INTO NAME expert VALUE label)"
COUNTS = {
    "wide": f"SELECT expert, label, count(*), max(item) FROM (FROM {UNPIVOT}) GROUP BY ALL",
    "long": "SELECT expert, label, count(*), max(item) FROM '{file}' GROUP BY ALL",
    "shuffled": "SELECT expert, label, count(*), max(item) FROM '{file}' GROUP BY ALL",
}
OTHERS = {
    "wide": ("histogram of every column", "SELECT " + ", ".join(f'histogram("{c}")' for c in COLUMNS) + ", max(item) FROM '{file}'"),
    "long": ("votes per item and class", "SELECT count(*) FROM (SELECT item, label, count(*) FROM '{file}' GROUP BY ALL)"),
    "shuffled": ("votes per item and class", "SELECT count(*) FROM (SELECT item, label, count(*) FROM '{file}' GROUP BY ALL)"),
}  # fmt: skip


def make_files(folder: Path, votes: int) -> None:
    """Write the same simulated votes wide, long, and long in random order."""
    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    from covote.panel import Panel
    from covote.simulation import simulate
    from covote.votes import Votes

    knows = np.random.default_rng(0).random((EXPERTS, CLASSES)).argsort(axis=1) < SIZE
    panel = Panel([f"class-{k}" for k in range(CLASSES)], knows)
    panel.save(folder / "panel.toml")
    items = -(-votes // EXPERTS)
    writers: dict[str, pq.ParquetWriter] = {}
    for start in range(0, items, PART):
        truth = np.random.default_rng([0, start]).integers(0, CLASSES, min(PART, items - start))
        drawn = simulate(panel, truth, seed=start)
        part = Votes.from_dense(drawn.dense, panel, items=np.arange(start, start + len(truth)))
        for shape in ("wide", "long"):
            table = part.to_arrow(shape)
            names = [name for name in table.column_names if name != "item"]
            kind = pa.dictionary(pa.int32(), pa.string())
            table = table.cast(pa.schema([("item", pa.int64()), *((name, kind) for name in names)]))
            if shape not in writers:
                writers[shape] = pq.ParquetWriter(folder / f"{shape}.parquet", table.schema)
            writers[shape].write_table(table)
    for writer in writers.values():
        writer.close()
    pq.write_table(pq.read_table(folder / "wide.parquet").slice(0, 1000), folder / "tiny.parquet")
    connection = duckdb.connect()
    connection.execute("SET memory_limit = '4GB'; SET preserve_insertion_order = false")
    connection.execute(
        f"COPY (SELECT * FROM '{folder}/long.parquet' ORDER BY hash(item, expert)) TO '{folder}/shuffled.parquet'"
    )


def run(command: list[str]) -> tuple[float, float]:
    """Return (CPU seconds, peak memory in GB) of a process."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
    # As people run it: after the first run, Python keeps what it compiled.
    usual = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**usual, **threads})
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise SystemExit(f"failed: {command}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1e6


def duck(query: str, file: Path) -> list[str]:
    code = f"import duckdb; c = duckdb.connect(); c.execute('SET threads = 1'); c.execute({query.format(file=file)!r}).fetchall()"
    return [sys.executable, "-c", code]


def decode(folder: Path, name: str, *more: str) -> list[str]:
    panel, output = folder / "panel.toml", folder / "labels.parquet"
    command = [sys.executable, "-m", "covote", "decode", str(folder / f"{name}.parquet")]
    return [*command, "--panel", str(panel), "-o", str(output), *more]


def best(commands: dict[str, list[str]], repeats: int) -> dict[str, tuple[float, float]]:
    """Run the commands turn about; return the least CPU time and the most memory of each."""
    seen: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            seen[name].append(run(command))
    return {name: (min(cpu for cpu, _ in runs), max(peak for _, peak in runs)) for name, runs in seen.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--votes", type=int, default=50_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--shapes", default="wide,long,shuffled")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        folder.mkdir(exist_ok=True, parents=True)
        if not (folder / "shuffled.parquet").exists():
            # A process of its own: children would report the memory of the one that started them as theirs.
            context = multiprocessing.get_context("spawn")
            maker = context.Process(target=make_files, args=(folder, arguments.votes))
            maker.start()
            maker.join()
            if maker.exitcode:
                raise SystemExit("the files could not be made")
        start, _ = best({"start": decode(folder, "tiny")}, arguments.repeats + 1)["start"]
        import duckdb
        import pyarrow as pa

        print(f"python benchmarks/files.py --votes {arguments.votes} --repeats {arguments.repeats}")
        print(
            f"{date.today()}, Python {platform.python_version()}, DuckDB {duckdb.__version__}, pyarrow {pa.__version__}; "
            f"{arguments.votes:,} votes, {EXPERTS} experts, {CLASSES} classes; CPU seconds of whole processes; "
            f"start of covote decode: {start:.2f}\n"
        )
        print(
            "| file | method | covote decode | without start | peak GB | DuckDB counts votes | ratio | ratio without start | DuckDB, other question |"
        )
        print("|---|---|---|---|---|---|---|---|---|")
        for shape in arguments.shapes.split(","):
            other, query = OTHERS[shape]
            file = folder / f"{shape}.parquet"
            results = best(
                {
                    "paper": decode(folder, shape, "--method", "authority"),
                    "default": decode(folder, shape),
                    "count": duck(COUNTS[shape], file),
                    "other": duck(query, file),
                },
                arguments.repeats,
            )
            for method, text in (
                ("paper", "authority"),
                ("default", "learned"),
            ):
                cpu, peak = results[method]
                count = results["count"][0]
                print(
                    f"| {shape} | {text} | {cpu:.2f} | {cpu - start:.2f} | {peak:.2f} | {count:.2f} | {cpu / count:.2f} "
                    f"| {(cpu - start) / count:.2f} | {other}: {results['other'][0]:.2f} |"
                )


if __name__ == "__main__":
    main()
