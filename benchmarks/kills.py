"""Kill commands at random moments, start them again, compare bytes: ``python benchmarks/kills.py 1000``.

A case is a number. It starts a command in a forked process, kills it (SIGKILL) after a random time that is
at most as long as the command takes, does so once to six times, and then lets it run to its end. Outputs
have to be the same bytes as those of a run that nobody killed, nothing half-written may lie around, and
of what was asked before the kill at most one batch may be asked again. The studio has its own (studio.py).

Kills add up: every case is written down at once (results/kills.json), and the next start goes on behind the
last one until there are as many as asked for; ``--anew`` begins again. A thousand take about 20 minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pages import replace_table

from covote import Panel, atomic, simulate

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "kills.md"
DONE = RESULTS.with_suffix(".json")
BATCH, ITEMS = 20, 400
CLASSES = ["ant", "bee", "cat", "dog"]
BLOCKS = [["ant", "bee", "cat"], ["ant", "dog"], ["bee", "dog"], ["cat", "dog"]]
EXPERTS = """
import os
from pathlib import Path

CLASSES = ["ant", "bee", "cat", "dog"]
LOG = os.open(Path(__file__).parent / "asked.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

def expert(name, known):
    def answer(batch):
        os.write(LOG, f"{name} {len(batch)}\\n".encode())
        x = [CLASSES[int(k)] for k in batch[:, 0]]
        return [label if label in known else known[0] for label in x]
    return answer

a = expert("a", ["ant", "bee", "cat"])
b, c, d = expert("b", ["ant", "dog"]), expert("c", ["bee", "dog"]), expert("d", ["cat", "dog"])
"""


@dataclass
class Task:
    """A command in a folder: what it needs, how it is run, which files it makes."""

    prepare: Callable[[Path], None]
    run: Callable[[], None]
    outputs: str
    most_again: int
    """How many questions may be asked again for each kill; lines of asked.log end in numbers of them."""


def main_with(*argv: str) -> Callable[[], None]:
    """Return what runs a command of covote in this process."""

    def run() -> None:
        from covote.cli import main

        sys.argv = ["covote", *argv]
        main()

    return run


def panel(models: bool) -> Panel:
    """Return four experts of four classes."""
    names = ["a", "b", "c", "d"]
    return Panel.from_blocks(
        CLASSES, BLOCKS, names, models=[f"python:killed:{n}" for n in names] if models else None
    )


def prepare_label(folder: Path) -> None:
    """Write an array, a panel and its models."""
    truth = np.random.default_rng(1).integers(0, 4, ITEMS)
    np.save(folder / "data.npy", np.column_stack([truth, np.arange(ITEMS)]))
    (folder / "killed.py").write_text(EXPERTS)
    panel(models=True).save(folder / "panel.toml")


def prepare_decode(folder: Path) -> None:
    """Write votes in no order, and labels of yesterday."""
    votes = simulate(panel(models=False), np.random.default_rng(1).integers(0, 4, 4000), accuracy=0.9, seed=1)
    table = votes.to_arrow("long")
    order = np.random.default_rng(2).permutation(len(table))
    pq.write_table(table.take(pa.array(order)), folder / "votes.parquet")
    panel(models=False).save(folder / "panel.toml")
    (folder / "labels.parquet").write_bytes(b"labels of yesterday")


def prepare_ask(folder: Path) -> None:
    """Write a panel."""
    panel(models=False).save(folder / "panel.toml")


def run_ask() -> None:
    """Answer thirty questions of `covote ask` as experts who are right would."""
    from covote.cli import ask

    def answer(asker: Any, question: Any) -> str:
        if asker.answers >= 30:
            return "quit"
        with Path("asked.log").open("a") as log:
            log.write(f"{question.item} {question.expert} 1\n")
        truth = CLASSES[(7 * question.item) % 4]
        return truth if truth in question.classes else "none"

    ask._prompt = answer
    main_with("ask", "--panel", "panel.toml", "--state", "state.npz")()


def run_reproduce() -> None:
    """Train the experts of one table into the store of the paper's experiments."""
    sys.path.insert(0, str(ROOT))
    from paper.store import Store
    from paper.tests.made_up import bars
    from paper.trainers import TrainedExpert

    class Quick:
        name, recipe, surrogate = "quick", "quick", True

        def train(self, data: Any, subsets: Any, progress: Any, folder: Any = None) -> Any:
            for subset in subsets:
                with Path("asked.log").open("a") as log:
                    log.write(f"{subset} 1\n")
                chance = np.random.default_rng(list(subset)).dirichlet((1, 1), 500).astype(np.float32)
                yield TrainedExpert(subset, chance, chance, 0.0)

    subsets = [(j, k) for k in range(1, 10) for j in range(k)]
    Store(Path("store")).experts(bars(500, 500), Quick(), subsets, lambda *_: None)


TASKS = {
    "label": Task(
        prepare_label,
        main_with(
            "label", "data.npy", "--panel", "panel.toml", "-o", "labels.parquet", "--trust", "--batch",
            str(BATCH),
        ),
        "labels.parquet",
        BATCH,
    ),
    "decode": Task(
        prepare_decode,
        main_with(
            "decode", "votes.parquet", "--panel", "panel.toml", "-o", "labels.parquet", "--method", "em",
            "--save-stats", "stats.json",
        ),
        "labels.parquet",
        0,
    ),
    "ask": Task(prepare_ask, run_ask, "state.npz", 1),
    "reproduce": Task(lambda folder: None, run_reproduce, "store/**/*.parquet", 1),
}  # fmt: skip


def started(task: Task, folder: Path) -> int:
    """Run a task in a forked process, in its folder; return its id."""
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        with (
            open(os.devnull, "w") as out,
            open("errors.log", "a") as errors,
            redirect_stdout(out),
            redirect_stderr(errors),
        ):
            try:
                task.run()
                status = 0
            except SystemExit as end:
                status = int(end.code or 0)
    except BaseException as error:
        (folder / "errors.log").write_text(repr(error))
    os._exit(status)


def outputs(task: Task, folder: Path) -> dict[str, str]:
    """Return checksums of what a task has written."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob(task.outputs))
    }


def asked(folder: Path) -> int:
    """Return how many questions were asked."""
    log = folder / "asked.log"
    return sum(int(line.split()[-1]) for line in log.read_text().splitlines()) if log.exists() else 0


def strays(folder: Path) -> list[str]:
    """Return files that a write left behind: their names begin with a dot."""
    return sorted(path.name for path in folder.rglob(".*"))


def computed(process: int) -> float:
    """Return how many seconds a process has computed: where many run, moments are counted so."""
    words = Path(f"/proc/{process}/schedstat").read_text().split()
    return int(words[0]) / 1e9


class Reference:
    """A run that nobody killed: what it wrote, asked, and how long it took."""

    def __init__(self, task: Task) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="covote-kills-"))
        task.prepare(self.folder)
        _, status, used = os.wait4(started(task, self.folder), 0)
        self.seconds = used.ru_utime + used.ru_stime
        if status:
            raise RuntimeError((self.folder / "errors.log").read_text())
        self.outputs, self.asked = outputs(task, self.folder), asked(self.folder)
        shutil.rmtree(self.folder)


def case(number: int, task: Task, reference: Reference) -> tuple[int, int, list[str]]:
    """Kill and go on; return (kills that hit, questions asked again, what is wrong)."""
    rng = np.random.default_rng([2026, number])
    folder = Path(tempfile.mkdtemp(prefix="covote-kills-"))
    task.prepare(folder)
    before = outputs(task, folder)
    hits, wrong = 0, []
    for _ in range(int(rng.integers(1, 7))):
        child = started(task, folder)
        limit = float(rng.uniform(0, reference.seconds))
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and computed(child) < limit:
            time.sleep(0.001)
        if ended == (0, 0):
            os.kill(child, signal.SIGKILL)
            hits += os.WIFSIGNALED(os.waitpid(child, 0)[1])
        for name, content in outputs(task, folder).items():
            if content not in (before.get(name), reference.outputs.get(name)) and name != "state.npz":
                wrong.append(f"{name} is neither old nor complete")
    if os.waitpid(started(task, folder), 0)[1]:
        wrong.append(f"the last run failed: {(folder / 'errors.log').read_text()[-300:]}")
    if outputs(task, folder) != reference.outputs:
        wrong.append("other bytes than the run that nobody killed")
    again = asked(folder) - reference.asked
    if again > hits * task.most_again:
        wrong.append(f"{again} questions were asked again after {hits} kills")
    left = strays(folder)
    if left:
        wrong.append(f"left behind: {left}")
    shutil.rmtree(folder)
    return hits, max(0, again), wrong


@dataclass
class Row:
    """What came of all cases of a task so far."""

    cases: int = 0
    kills: int = 0
    again: int = 0
    wrong: int = 0


def rows_so_far(anew: bool) -> dict[str, Row]:
    """Return what earlier starts have found."""
    found = {} if anew or not DONE.exists() else json.loads(DONE.read_text())
    return {name: Row(**found.get(name, {})) for name in TASKS}


def write(rows: dict[str, Row], references: dict[str, Reference]) -> str:
    """Write down all rows, for the next start and as a table; return the table."""
    atomic.write_text(DONE, json.dumps({name: asdict(row) for name, row in rows.items()}, indent=1) + "\n")
    lines = [
        "| command | cases | kills | questions | asked again, all kills | allowed | wrong |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, row in rows.items():
        lines.append(
            f"| {name} | {row.cases} | {row.kills} | {references[name].asked} a run | {row.again} | "
            f"{row.kills * TASKS[name].most_again} | {row.wrong} |"
        )
    replace_table(RESULTS, lines)
    return "\n".join(lines)


def main() -> None:
    """Run cases until the kills are done or the time is over; write a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "kills", nargs="?", type=int, default=1000, help="kills in all, of earlier starts too"
    )
    parser.add_argument("--minutes", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--anew", action="store_true", help="forget earlier starts")
    options = parser.parse_args()
    # What every forked process would load again.
    import covote.cli.app
    import covote.decoding.methods.em
    import covote.files.report
    import covote.labelling  # noqa: F401

    end = time.monotonic() + 60 * options.minutes
    rows = rows_so_far(options.anew)
    references = {name: Reference(task) for name, task in TASKS.items()}
    share = options.kills / len(TASKS)
    while time.monotonic() < end and any(row.kills < share for row in rows.values()):
        name = min(rows, key=lambda task: rows[task].kills)
        number = sum(row.cases for row in rows.values())
        hits, again, wrong = case(number, TASKS[name], references[name])
        row = rows[name]
        rows[name] = Row(row.cases + 1, row.kills + hits, row.again + again, row.wrong + bool(wrong))
        for text in wrong:
            print(f"case {number} ({name}): {text}", file=sys.stderr, flush=True)
        write(rows, references)
    print(write(rows, references))
    sys.exit(any(row.wrong for row in rows.values()))


if __name__ == "__main__":
    main()
