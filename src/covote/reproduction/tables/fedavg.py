"""Figures: learning curves of FedAvg, compared with one-shot aggregation at equal compute."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import DataError
from covote.files.report.charts import COLOURS, new_figure
from covote.panel import Panel
from covote.reproduction import paper_values
from covote.reproduction.cores import in_processes
from covote.reproduction.datasets import TITLES, ImageSet
from covote.reproduction.experiment import METHODS, PAPER, SIZES, Context, decoded, paper_panel, subsets_of
from covote.reproduction.sections import Cell, Grid, Picture, Section
from covote.reproduction.trainers.neural import Local, require_torch
from covote.votes import Votes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from covote.reproduction import federated

SCHEMES: dict[str, int | None] = {"2 clients per round": 2, "all clients": None}
"""Who takes part in a round of federated averaging: clients drawn at random, or None for all."""
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
        Images that a measurement looks at: the first of the training and of the test images.
    """

    local: Local
    per_class: int | None
    epochs: int
    rounds: int | None = None
    beyond: float = 2.0
    points: int = 8
    items: tuple[int, int] = (1000, 2000)

    def rounds_of(self, clients: int, per_round: int | None) -> int:
        """Return the number of rounds for `clients` clients, of whom `per_round` take part."""
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

    @classmethod
    def from_dict(cls, told: dict[str, Any]) -> Curve:
        """Return a curve that was written down."""
        lists = {name: tuple(told[name]) for name in ("rounds", "seen", "train", "test")}
        return cls(**lists, seconds=float(told["seconds"]))

    def after(self, seen: int, split: str = "test") -> float:
        """Return the accuracy at the first measurement after at least `seen` images."""
        place = next((n for n, value in enumerate(self.seen) if value >= seen), len(self.seen) - 1)
        return float(getattr(self, split)[place])

    def at_round(self, number: int, split: str) -> float | None:
        """Return the accuracy after round `number`, if it was measured."""
        return float(getattr(self, split)[self.rounds.index(number)]) if number in self.rounds else None


@dataclass(frozen=True)
class Task:
    """One curve to be made: federated averaging by a scheme, or one-shot experts of a size."""

    size: int
    scheme: str
    plan: Plan
    seed: int

    def work(self) -> float:
        """Return about how long it takes, compared with others."""
        clients = len(paper_panel(self.size))
        if self.scheme == ONE_SHOT:
            return self.size * clients * self.plan.epochs
        per_round = SCHEMES[self.scheme]
        return self.size * self.plan.rounds_of(clients, per_round) * (per_round or clients)


SETS = ("mnist", "cifar10")
PLANS: dict[str, dict[str, Plan]] = {
    # Small batches, so that a client of two classes takes about as many steps in a round as in the paper.
    "quick": {
        "mnist": Plan(Local("strided", 16, 0.1), per_class=800, epochs=1, beyond=1.5),
        "cifar10": Plan(Local("strided", 16, 0.05), per_class=800, epochs=1, beyond=1.5),
    },
    "paper": {
        "mnist": Plan(Local("strided", 40, 0.1), per_class=2000, epochs=1, points=12),
        "cifar10": Plan(Local("strided", 40, 0.05), per_class=2000, epochs=1, points=12),
    },
    "full": {
        "mnist": Plan(
            Local("mnist_cnn", 128, 0.1), None, epochs=12, rounds=200, points=40, items=(10_000, 10_000)
        ),
        "cifar10": Plan(
            Local("tutorial_cnn", 32, 0.05), None, epochs=200, rounds=400, points=40, items=(10_000, 10_000)
        ),
    },
}
"""How long the curves are, by profile and image set."""


# The table


def build(context: Context) -> Section:
    """Return the curves."""
    found = {name: _of_set(context, name) for name in SETS}
    if not any(found.values()):
        raise DataError("no learning curve of FedAvg is kept; run again without --stored")
    plans = PLANS[context.profile]
    every = [curve for of_set in found.values() for curve in of_set.values()]
    return Section(
        grids=(*(_at_equal_compute(name, found[name]) for name in SETS), _printed(found)),
        pictures=tuple(_picture(name, found[name]) for name in SETS if found[name]),
        findings=tuple(sentence for name in SETS for sentence in _findings(name, found[name])),
        differences=_differences(context.profile, plans),
        models=", ".join(dict.fromkeys(f"{plan.local.network} network" for plan in plans.values())),
        surrogate=context.profile != "full",
        seconds=sum(curve.seconds for curve in every),
    )


Curves = dict[tuple[int, str], Curve]


def _of_set(context: Context, name: str) -> Curves:
    plan = PLANS[context.profile][name]
    tasks = [Task(size, scheme, plan, context.seed) for size in SIZES for scheme in (ONE_SHOT, *SCHEMES)]
    made = curves(context, name, tasks)
    found = {(task.size, task.scheme): curve for task, curve in made.items()}
    whole = {size for size in SIZES if all((size, scheme) in found for scheme in (ONE_SHOT, *SCHEMES))}
    return {key: curve for key, curve in found.items() if key[0] in whole}


def _sizes(found: Curves) -> list[int]:
    return [size for size in SIZES if (size, ONE_SHOT) in found]


def _at_equal_compute(name: str, found: Curves) -> Grid:
    rows, there = [], _sizes(found)
    for scheme in (ONE_SHOT, *SCHEMES):
        cells = tuple(
            Cell(found[size, scheme].after(found[size, ONE_SHOT].seen[-1])) if size in there else Cell()
            for size in SIZES
        )
        rows.append((scheme if scheme == ONE_SHOT else f"FedAvg, {scheme}", cells))
    return Grid(
        f"{TITLES[name]}: test accuracy (%) at equal compute",
        tuple(f"R = {size}" for size in SIZES),
        tuple(rows),
        note="Equal compute: the first round after which all clients together have trained on as many "
        "images, counted as often as they came, as the one-shot experts. The paper prints no such table.",
    )


def _printed(found: dict[str, Curves]) -> Grid:
    rows = []
    for name, size, scheme, split, number, value in paper_values.FEDAVG:
        where = f"{TITLES[name]}, R = {size}, {scheme}, {split}, round {number}"
        curve = found[name].get((size, scheme))
        ours = None if curve is None else curve.at_round(number, split)
        rows.append((where, (Cell(ours, value),)))
    for name, scheme, value in paper_values.FEDAVG_BEST:
        best = max((found[name][size, scheme].test[-1] for size in _sizes(found[name])), default=None)
        rows.append((f"{TITLES[name]}, best R, {scheme}, test, last round", (Cell(best, value),)))
    return Grid(
        "What the paper prints of its curves (accuracy, %)",
        ("accuracy",),
        tuple(rows),
        note="Without a value of ours, this profile has not run that many rounds. Its rounds are not the "
        "paper's: see what differs.",
    )


def _findings(name: str, found: Curves) -> list[str]:
    sentences = []
    for scheme in SCHEMES if found else ():
        ahead: list[str] = []
        behind: list[str] = []
        for size in _sizes(found):
            seen = found[size, ONE_SHOT].seen[-1]
            ours, theirs = found[size, ONE_SHOT].after(seen), found[size, scheme].after(seen)
            text = f"R = {size} ({ours:.1f} against {theirs:.1f}%)"
            (ahead if ours > theirs else behind).append(text)
        said = f"{TITLES[name]}, {scheme}: at equal compute one-shot votes are "
        if ahead:
            said += f"ahead of FedAvg for {', '.join(ahead)}"
        if behind:
            said += f"{'; ' if ahead else ''}not ahead for {', '.join(behind)}"
        sentences.append(said + ".")
    return sentences


def _differences(profile: str, plans: dict[str, Plan]) -> tuple[str, ...]:
    if profile == "full":
        return ("The paper does not print the clients' learning rate; ours is in the recipe.",)
    said = []
    for name, plan in plans.items():
        said.append(
            f"{TITLES[name]}: the {plan.local.network} network, batches of {plan.local.batch}, rate "
            f"{plan.local.rate}, {plan.per_class} training images per class, one local epoch per round as in "
            f"the paper, one-shot experts of {plan.epochs} epoch{'s' * (plan.epochs > 1)}, FedAvg up to "
            f"{plan.beyond:g} times their compute; accuracies on the first {plan.items[1]:,} test images and "
            f"{plan.items[0]:,} training images."
        )
    return (
        *said,
        "The paper runs 200 (MNIST) and 400 (CIFAR-10) rounds on all images.",
        "One-shot experts train one epoch here, the paper's 12 and 200: so little work leaves FedAvg few "
        "rounds, and the order at equal compute depends on this choice (see docs/reproduction.md).",
    )


def _picture(name: str, found: Curves) -> Picture:
    caption = (
        f"FedAvg on {TITLES[name]} (lines) and one-shot votes of the same network (stars: all of their "
        "training; dotted: the level they reach). Left of a star, FedAvg has worked less; right of it, more."
    )
    return Picture(f"fedavg-{name}", draw(found), caption)


def draw(found: Curves) -> Figure:
    """Draw training and test curves, one panel per scheme."""
    figure, panels = new_figure(8.4, 6.0, rows=2, columns=len(SCHEMES), sharex=True, sharey=True)
    top = 1.08 * max(max(*curve.train, *curve.test) for curve in found.values())
    for row, split in zip(panels, ("train", "test"), strict=True):
        for axes, scheme in zip(row, SCHEMES, strict=True):
            for size, colour in zip(SIZES, COLOURS[1:], strict=True):
                if (size, ONE_SHOT) not in found:
                    continue
                curve, shot = found[size, scheme], found[size, ONE_SHOT]
                axes.plot(
                    curve.seen, getattr(curve, split), "o-", color=colour, markersize=2.5, label=f"R = {size}"
                )
                level = getattr(shot, split)[-1]
                axes.plot(shot.seen[-1], level, "*", color=colour, markersize=11, markeredgecolor="black")
                axes.axhline(level, color=colour, linestyle=":", linewidth=1)
            axes.set_xscale("log")
            axes.set_ylim(0, top)
            axes.set_title(f"{scheme}, {split}", fontsize=10)
            axes.grid(alpha=0.25)
    for axes in panels[-1]:
        axes.set_xlabel("images trained on by all clients together")
    for axes in panels[:, 0]:
        axes.set_ylabel("accuracy (%)")
    panels[0, 0].legend(frameon=False, fontsize=8)
    return figure


# The curves


def curves(context: Context, name: str, tasks: Sequence[Task]) -> dict[Task, Curve]:
    """Return every curve of an image set; those that an earlier run has finished are read from the store.

    Where nothing may be trained, only those.
    """
    data, store = context.images(name), context.store
    cut = {key: data.reduced(*key) for key in {(task.plan.per_class, task.seed) for task in tasks}}
    images = {task: cut[task.plan.per_class, task.seed] for task in tasks}
    names = {task: curve_name(images[task], task) for task in tasks}
    found = {task: store.kept("runs", names[task], Curve.from_dict) for task in tasks}
    # The longest first: the last ones are short, so that no core waits long for another.
    missing = sorted((task for task in tasks if found[task] is None), key=lambda task: -task.work())
    if missing and context.train:
        require_torch("federated averaging")
        total, done = sum(task.work() for task in missing), 0.0
        for task, curve in in_processes(make, [(images[task], task) for task in missing]):
            store.keep("runs", names[task], asdict(curve))
            found[task] = curve
            done += task.work()
            context.progress(round(100 * done / total), 100, f"{name}: {task.scheme}, R = {task.size}")
    return {task: curve for task, curve in found.items() if curve is not None}


def curve_name(data: ImageSet, task: Task) -> str:
    """Return the name under which a curve is kept; another plan, seed or image set has another."""
    mark = hashlib.sha256(f"version 1, {task}, {data.fingerprint}".encode()).hexdigest()[:10]
    return f"fedavg/{data.name}-{task.size}-{task.scheme.replace(' ', '-')}-{mark}"


def make(job: tuple[ImageSet, Task]) -> tuple[Task, Curve]:
    """Train one curve's clients, and measure them on the way."""
    from covote.reproduction import federated
    from covote.reproduction.trainers.networks import seeded

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
