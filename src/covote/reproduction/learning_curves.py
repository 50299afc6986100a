"""Learning curves of federated averaging beside one-shot experts, kept as they are finished."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.errors import FileError
from covote.panel import Panel
from covote.reproduction.accuracy import METHODS, PAPER, decoded
from covote.reproduction.context import paper_panel, subsets_of
from covote.reproduction.cores import in_processes
from covote.reproduction.datasets import ImageSet
from covote.reproduction.trainers import Progress
from covote.reproduction.trainers.neural import require_torch
from covote.reproduction.trainers.recipes import Local
from covote.votes import Votes

if TYPE_CHECKING:
    from covote.reproduction import federated

SCHEMES: dict[str, int | None] = {"2 clients per round": 2, "all clients": None}
"""Who takes part in a round of federated averaging: so many clients drawn at random, or all."""
ONE_SHOT = "one-shot votes"


@dataclass(frozen=True)
class Plan:
    """How long the curves of one image set are.

    Attributes
    ----------
    local
        How a client trains.
    per_class
        Training images of each class; None for all.
    epochs
        How often each one-shot expert goes through its images.
    rounds
        Rounds of federated averaging; None for as many as `beyond` times the one-shot experts' work pays for.
    points
        How often a curve is measured, about.
    items
        Images that a measurement looks at: the first so many of the training and of the test images.
    """

    local: Local
    per_class: int | None
    epochs: int
    rounds: int | None = None
    beyond: float = 2.0
    points: int = 8
    items: tuple[int, int] = (1000, 2000)

    def rounds_of(self, clients: int, per_round: int | None) -> int:
        """Return the number of rounds for so many clients, of whom `per_round` take part."""
        if self.rounds is not None:
            return self.rounds
        return max(1, round(self.beyond * self.equal_round(clients, per_round)))

    def equal_round(self, clients: int, per_round: int | None) -> int:
        """Return the first round after which the clients have worked as much as the one-shot experts."""
        return -(-self.epochs * clients // (per_round or clients))


@dataclass(frozen=True)
class Curve:
    """Accuracy against work.

    Attributes
    ----------
    rounds
        Rounds (or, for one-shot experts, epochs) done at each measurement.
    seen
        Images that all clients together had trained on by then, counted as often as they came.
    train, test
        Accuracies in percent.
    seconds
        CPU time it took.
    """

    rounds: tuple[int, ...]
    seen: tuple[int, ...]
    train: tuple[float, ...]
    test: tuple[float, ...]
    seconds: float

    def after(self, seen: int, split: str = "test") -> float:
        """Return the accuracy at the first measurement after at least `seen` images."""
        place = next((n for n, value in enumerate(self.seen) if value >= seen), len(self.seen) - 1)
        return float(getattr(self, split)[place])

    def at_round(self, number: int, split: str) -> float | None:
        """Return the accuracy measured after so many rounds, if it was."""
        return float(getattr(self, split)[self.rounds.index(number)]) if number in self.rounds else None


@dataclass(frozen=True)
class Task:
    """One curve to be made: federated averaging by a scheme, or one-shot experts of a size."""

    size: int
    scheme: str
    plan: Plan
    seed: int

    def work(self) -> float:
        """Return about how long it takes, beside others."""
        clients = len(paper_panel(self.size))
        if self.scheme == ONE_SHOT:
            return self.size * clients * self.plan.epochs
        per_round = SCHEMES[self.scheme]
        return self.size * self.plan.rounds_of(clients, per_round) * (per_round or clients)


def curves(
    data: ImageSet, tasks: Sequence[Task], keep: Path, progress: Progress, *, train: bool = True
) -> dict[Task, Curve]:
    """Return every curve; those that an earlier run has finished are read from the folder `keep`.

    Without `train`, only those.
    """
    cut = {key: _reduced(data, *key) for key in {(task.plan.per_class, task.seed) for task in tasks}}
    images = {task: cut[task.plan.per_class, task.seed] for task in tasks}
    places = {task: keep / file_name(images[task], task) for task in tasks}
    missing = [task for task in tasks if train and not places[task].is_file()]
    total = sum(task.work() for task in missing)
    done = 0.0
    for task, curve in _made([(images[task], task) for task in missing]):
        atomic.write_text(places[task], json.dumps(asdict(curve)) + "\n")
        done += task.work()
        progress(round(100 * done / total), 100, f"{data.name}: {task.scheme}, R = {task.size}")
    return {task: read(places[task]) for task in tasks if places[task].is_file()}


def _reduced(data: ImageSet, per_class: int | None, seed: int) -> ImageSet:
    return data if per_class is None else data.reduced(per_class, seed)


def _made(jobs: Sequence[tuple[ImageSet, Task]]) -> Iterator[tuple[Task, Curve]]:
    if not jobs:
        return
    require_torch("federated averaging")
    # The longest first: the last ones are short, so that no core waits long for another.
    ordered = sorted(jobs, key=lambda job: -job[1].work())
    yield from in_processes(make, ordered)


def make(job: tuple[ImageSet, Task]) -> tuple[Task, Curve]:
    """Train one curve's clients, and measure them on the way."""
    from covote.reproduction import federated
    from covote.reproduction.trainers.fitting import seeded

    started = time.process_time()
    data, task = job
    panel, plan = paper_panel(task.size), task.plan
    with seeded(task.seed):
        clients = federated.Clients(
            data.train_x, data.train_y, subsets_of(panel), len(data.classes), plan.local, task.seed
        )
        if task.scheme == ONE_SHOT:
            number, course = plan.epochs, federated.one_shot(clients, plan.epochs)
            also = 0
        else:
            per_round = SCHEMES[task.scheme]
            number = plan.rounds_of(len(panel), per_round)
            course = federated.rounds(clients, number, per_round, task.seed)
            also = plan.equal_round(len(panel), per_round)
        wanted = {1, also, *range(0, number, max(1, number // plan.points)), number}
        rows = [
            (n, seen, *(_right(clients, weights, panel, *part) for part in _parts(data, plan)))
            for n, (weights, seen) in enumerate(course, start=1)
            if n in wanted
        ]
    rounds, seen_by_all, train, test = zip(*rows, strict=True)
    return task, Curve(rounds, seen_by_all, train, test, time.process_time() - started)


def _parts(data: ImageSet, plan: Plan) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    first, second = plan.items
    yield data.train_x[:first], data.train_y[:first]
    yield data.test_x[:second], data.test_y[:second]


def _right(
    clients: federated.Clients,
    weights: federated.Weights,
    panel: Panel,
    images: NDArray[np.uint8],
    truth: NDArray[np.int64],
) -> float:
    """Return the accuracy in percent, of one network, or of a panel by the paper's vote."""
    if not clients.is_stacked(weights):
        return 100 * float(np.mean(clients.answers(weights, images).argmax(axis=1) == truth))
    votes = np.empty((len(images), len(panel)), dtype=np.int8)
    for i, known in enumerate(panel.knows):
        answers = clients.answers({name: value[i] for name, value in weights.items()}, images)
        votes[:, i] = np.where(known, answers, -np.inf).argmax(axis=1)
    return 100 * decoded(Votes.from_dense(votes, panel), truth, **METHODS[PAPER][1])


def file_name(data: ImageSet, task: Task) -> str:
    """Return where a curve is kept; another plan, seed or image set has another place."""
    mark = hashlib.sha256(f"version 1, {task}, {data.fingerprint}".encode()).hexdigest()[:10]
    return f"{data.name}-{task.size}-{task.scheme.replace(' ', '-')}-{mark}.json"


def read(path: Path) -> Curve:
    """Read a curve back."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        lists = {name: tuple(told[name]) for name in ("rounds", "seen", "train", "test")}
        return Curve(**lists, seconds=float(told["seconds"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path} is not a learning curve ({error}); remove it and run again") from error
