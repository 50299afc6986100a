"""Language models as experts against a stub server: time next to the ideal, and kills.

    python benchmarks/chat.py [--items 10000] [--seconds 0.05] [--in-flight 32] [--kills 20]

The stub is a process of its own that answers every call after this many seconds. *Ideal* is items * seconds /
calls at a time. Killed runs have to give the same labels; calls that are paid twice are counted. Where other
programs use the machine, `chrt --rr 5` in front of the command gives it the processors.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import covote
from covote import Panel

ROOT = Path(__file__).parents[1]
CLASSES = ["ant", "bee", "cat", "dog"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(covote.__file__).parents[1])}


def prepare(folder: Path, port: str, items: int, in_flight: int) -> None:
    """Write items and a panel of one language model."""
    truth = np.random.default_rng(0).integers(0, 4, items)
    rows = [f"q{n},item {n} truth: {CLASSES[k]}\n" for n, k in enumerate(truth)]
    (folder / "items.csv").write_text("id,text\n" + "".join(rows))
    model = {"use": f"chat:http://127.0.0.1:{port}/v1", "in_flight": in_flight}
    Panel(CLASSES, [[1, 1, 1, 1]], ["model"], models=[model]).save(folder / "panel.toml")


def label(folder: Path, output: str) -> list[str]:
    """Return the command that labels the items."""
    return [sys.executable, "-m", "covote", "label", "items.csv", "--panel", "panel.toml", "-o", output]


def spent() -> float:
    """Return the CPU seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--in-flight", type=int, default=32)
    parser.add_argument("--kills", type=int, default=20)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="covote-chat-"))
    log = folder / "answered.log"
    stub = [sys.executable, str(ROOT / "tests" / "chat_stub.py"), str(options.seconds)]
    environment = {**ENVIRONMENT, "STUB_LOG": str(log)}
    with subprocess.Popen(
        stub, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        prepare(folder, server.stdout.readline().strip(), options.items, options.in_flight)
        started, before = time.monotonic(), spent()
        subprocess.run(label(folder, "whole.csv"), cwd=folder, env=ENVIRONMENT, check=True)
        wall, ideal = time.monotonic() - started, options.items * options.seconds / options.in_flight
        print(
            f"{options.items} items in {wall:.1f} s ({spent() - before:.1f} CPU s), "
            f"ideal {ideal:.1f} s: {wall / ideal:.2f} x"
        )
        paid = Counter(log.read_text().split())
        rng = np.random.default_rng(1)
        for at in np.sort(rng.integers(0, options.items, options.kills)).tolist():
            process = subprocess.Popen(label(folder, "killed.csv"), cwd=folder, env=ENVIRONMENT)
            while process.poll() is None and len(log.read_text().split()) < options.items + at:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            process.wait()
        if options.kills:
            subprocess.run(label(folder, "killed.csv"), cwd=folder, env=ENVIRONMENT, check=True)
            again = (Counter(log.read_text().split()) - paid).total() - options.items
            same = (folder / "killed.csv").read_bytes() == (folder / "whole.csv").read_bytes()
            print(f"{options.kills} kills: {again} calls paid twice, labels the same: {same}")
        server.stdin.close()
        before = spent()
    print(f"The stub took {spent() - before:.1f} CPU s.")


if __name__ == "__main__":
    main()
