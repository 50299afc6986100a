"""`python -m paper` as a person runs it: missing data, interrupts, full disks."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

DATA = os.environ.get("COVOTE_DATA", "")


def test_missing_data_is_explained_and_no_page_is_written(paper, tmp_path):
    ran = paper("mnist", "cifar10", "--data-dir", tmp_path / "data", "--output", "out")
    assert ran.status == 2
    expected = tmp_path / "data/mnist/train-images-idx3-ubyte.gz"
    assert f"mnist was not run: train-images-idx3-ubyte.gz is missing: expected at {expected}" in ran.err
    assert "cifar10 was not run: data_batch_1.bin is missing" in ran.err
    assert "--download" in ran.err
    assert "Nothing was run." in ran.out
    assert not any(Path("out").iterdir())


def test_a_wrong_checksum_is_explained(paper):
    Path("mnist").mkdir()
    Path("mnist/train-images-idx3-ubyte.gz").write_bytes(b"other")
    ran = paper("mnist", "--data-dir", ".", "--output", "out")
    assert ran.status == 2
    assert "is not the published train-images-idx3-ubyte.gz: its sha256 is" in ran.err


def test_the_list_and_mistakes(paper):
    assert "missing" in paper("--list").out
    assert "missing" in json.loads(paper("--list", "--json").out)
    ran = paper("misssing")
    assert (ran.status, "no table 'misssing' (did you mean 'missing'?)" in ran.err) == (2, True)
    ran = paper("mnist", "--profile", "slow")
    assert (ran.status, "invalid choice: 'slow' (choose from" in ran.err) == (2, True)


def test_an_interrupt_says_that_nothing_is_lost(paper, monkeypatch):
    from paper.tables import TABLES, Experiment

    def interrupted(context):
        raise KeyboardInterrupt

    monkeypatch.setitem(TABLES, "bounds", Experiment("Bounds", interrupted))
    ran = paper("bounds", "--output", "out", "--keep", "kept")
    assert ran.status == 130
    assert "what is trained is kept in kept, run the same command to resume" in ran.err


@pytest.mark.slow
def test_the_bounds_need_no_data_and_json_is_for_programs(paper):
    ran = paper("bounds", "--data-dir", "nowhere", "--output", "out", "--json")
    assert ran.status == 0, ran.err
    (section,) = json.loads(ran.out)["sections"]
    greedy = [row[2] for name, row in section["grids"][0]["rows"].items() if name.startswith("K = 10")]
    assert [cell["ours"] for cell in greedy] == [cell["paper"] for cell in greedy] == [45, 9, 5, 3]


# Trains made-up experts; before the expert whose number is the second argument, the process is killed.
TRAINS = """
import os, signal, sys
import numpy as np
from pathlib import Path
from paper.store import Store
from paper.trainers import TrainedExpert
from paper.tests.made_up import bars

class MadeUpTrainer:
    name, recipe, surrogate = "made up", "made up", True
    def train(self, data, subsets, progress, folder):
        for number, subset in enumerate(subsets):
            if str(number) == sys.argv[2]:
                os.kill(os.getpid(), signal.SIGKILL)
            p = np.random.default_rng(0).dirichlet((1, 1), 2000).astype(np.float32)
            yield TrainedExpert(subset, p, p, 0.0)

data = bars(2000, 2000)
experts = Store(Path(sys.argv[1])).experts(data, MadeUpTrainer(), [(0, k) for k in range(1, 10)], print)
print(len(experts.by_subset))
"""


def stored(folder):
    return sorted(path.name for path in Path(folder).rglob("[!.]*.parquet"))


def test_a_killed_run_keeps_every_expert_that_was_finished(tmp_path):
    command = [sys.executable, "-c", TRAINS, str(tmp_path)]
    killed = subprocess.run([*command, "3"], stdout=subprocess.DEVNULL, check=False)
    assert killed.returncode == -signal.SIGKILL
    kept = stored(tmp_path)
    assert len(kept) == 3
    done = subprocess.run([*command, "6"], capture_output=True, text=True, check=True)  # six are left
    assert done.stdout.split()[-1] == "9"
    assert set(kept) <= set(stored(tmp_path))


# Trains networks, and prints what came out.
NETWORKS = """
import signal, sys
from pathlib import Path
from paper.store import Store
from paper.trainers.neural import NeuralTrainer, Recipe
from paper.experiment import PAPER, panel_accuracy
from paper.tables import random
from paper.tests.made_up import bars

recipe = Recipe(
    "whitened", batch=64, rate=0.3, epochs=3, schedule="triangle", momentum=0.85, bias_rate=16.0,
    smoothing=0.2, augment="flips and shifts", centre="channels",
)
trainer = NeuralTrainer("small", recipe, True, workers=1)
data = bars(1500, 50)
import paper.trainers.networks
# After so much CPU time, at whatever moment that is, the process is killed; 0 is never.
signal.setitimer(signal.ITIMER_PROF, float(sys.argv[2]))
subsets = [subset for size in (6, 8) for subset in random.draws(size, 0)[0]]
experts = Store(Path(sys.argv[1])).experts(data, trainer, subsets, lambda *_: None)
print([panel_accuracy(experts, subsets, split, PAPER) for split in ("train", "test")])
"""


def answers(folder):
    """Return every expert's stored votes and probabilities."""
    return {path.name: pq.read_table(path).to_pydict() for path in Path(folder).rglob("*.parquet")}


# Averages what clients learn, and prints the curve and the weights at its end.
AVERAGES = """
import signal, sys
from pathlib import Path
from paper.tables.fedavg import Plan, Task, make, read
from paper.tests.made_up import bars
from paper.trainers.neural import Local
import paper.federated

plan = Plan(Local("mnist_cnn", 32, 0.1, bfloat16=True), None, epochs=12, rounds=(40, 10), items=(50, 50))
data = bars(1500, 50)
signal.setitimer(signal.ITIMER_PROF, float(sys.argv[2]))
for scheme in ("2 clients per round", "one-shot votes"):
    task, models = make(Path(sys.argv[1]), data, Task(8, scheme, plan, 0)), []
    curve = read(task.file(Path(sys.argv[1]), data), models)
    print(curve.train, curve.test, [w.double().sum().item() for one in models for w in one.values()])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "ITIMER_PROF"), reason="needs timers of CPU time")
@pytest.mark.parametrize("program", [NETWORKS, AVERAGES], ids=["experts", "averages"])
def test_a_run_that_is_killed_twenty_times_at_random_gives_the_same_numbers(program, tmp_path):
    whole, again = ([sys.executable, "-c", program, str(tmp_path / name)] for name in ("whole", "killed"))
    expected = subprocess.run([*whole, "0"], capture_output=True, text=True, check=True).stdout
    rng = np.random.default_rng(0)
    kills = 0
    for _ in range(20):
        killed = subprocess.run([*again, str(rng.uniform(0.01, 1))], capture_output=True, check=False)
        kills += killed.returncode == -signal.SIGPROF
    assert kills > 5, "most of the runs were killed before their end"
    assert subprocess.run([*again, "0"], capture_output=True, text=True, check=True).stdout == expected
    assert answers(tmp_path / "whole") == answers(tmp_path / "killed")


@pytest.mark.skipif(not hasattr(signal, "SIGXFSZ"), reason="needs file size limits")
def test_a_full_disk_is_explained_and_nothing_half_written_is_left(tmp_path):
    limit = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", limit + TRAINS, str(tmp_path), ""], capture_output=True, text=True, check=False
    )
    assert "FileError: cannot write" in done.stderr
    assert "File too large; nothing was written" in done.stderr
    assert stored(tmp_path) == []
    assert not list(tmp_path.rglob(".*.parquet"))


@pytest.mark.slow
@pytest.mark.skipif(
    not (DATA and Path(DATA).is_dir()), reason="set COVOTE_DATA to the folder of the data sets"
)
def test_mnist_from_the_real_files(paper):
    ran = paper("mnist", "--data-dir", DATA, "--output", "out", "--json")
    assert ran.status == 0, ran.err
    (section,) = json.loads(ran.out)["sections"]
    accuracy = [cell["ours"] for cell in section["grids"][0]["rows"]["test, paper's vote"]]
    assert accuracy[1] >= 98.9
    assert all(value >= accuracy[-1] - 0.5 for value in accuracy)
