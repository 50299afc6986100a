"""Figures: learning curves of FedAvg, compared with one-shot aggregation at equal compute."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import DataError
from covote.files.report.charts import COLOURS, new_figure
from covote.panel import Panel
from paper import paper_values
from paper.cores import in_processes
from paper.datasets import TITLES, ImageSet
from paper.experiment import METHODS, PAPER, SIZES, Context, decoded, paper_panel, subsets_of
from paper.sections import Cell, Grid, Picture, Section
from paper.trainers.neural import Local, require_torch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from paper import federated

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
        Rounds of federated averaging, by scheme.
    points
        How often a curve is measured, about.
    items
        Images that a measurement looks at: the first of the training and of the test images.
    """

    local: Local
    per_class: int | None
    epochs: int
    rounds: tuple[int, int]
    points: int = 20
    items: tuple[int, int] = (1000, 2000)

    def length(self, scheme: str) -> int:
        """Return the number of rounds of a scheme, or the number of epochs of one-shot experts."""
        return self.epochs if scheme == ONE_SHOT else self.rounds[list(SCHEMES).index(scheme)]


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

    def by(self, seen: int) -> float:
        """Return the test accuracy at the last measurement after at most `seen` images (or at the first)."""
        return self.test[max(0, sum(value <= seen for value in self.seen) - 1)]

    @property
    def jumps(self) -> float:
        """How much the test accuracy changes between measurements, in the second half, on average.

        >>> Curve((1, 2, 3, 4), (1, 2, 3, 4), (), (10.0, 50.0, 60.0, 50.0), 0.0).jumps
        10.0
        """
        late = np.array(self.test[len(self.test) // 2 - 1 :])
        return float(np.abs(np.diff(late)).mean()) if len(late) > 1 else 0.0

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
        return self.size * self.plan.length(self.scheme) * (SCHEMES[self.scheme] or clients)


SETS = ("mnist", "cifar10")
PLANS: dict[str, dict[str, Plan]] = {
    # Few images, so that rounds are cheap: 100 and 20 rounds for every R in minutes.
    "quick": {
        "mnist": Plan(Local("strided", 16, 0.1), per_class=200, epochs=12, rounds=(100, 20)),
        "cifar10": Plan(Local("strided", 16, 0.05), per_class=200, epochs=12, rounds=(100, 20)),
    },
    "paper": {
        "mnist": Plan(Local("mnist_cnn", 128, 0.1), None, epochs=12, rounds=(200, 20)),
        "cifar10": Plan(Local("tutorial_cnn", 32, 0.05), None, epochs=12, rounds=(400, 20)),
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
        grids=(*(_grid(name, found[name], plans[name]) for name in SETS), _printed(found)),
        pictures=tuple(_picture(name, found[name]) for name in SETS if found[name]),
        findings=tuple(sentence for name in SETS for sentence in _findings(name, found[name], plans[name])),
        differences=_differences(plans),
        models=", ".join(dict.fromkeys(f"{plan.local.network} network" for plan in plans.values())),
        surrogate=True,
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


def _equal(found: Curves, size: int, scheme: str) -> tuple[float, float]:
    """Return the accuracies of one-shot votes and of FedAvg when both have trained on as many images."""
    shot, curve = found[size, ONE_SHOT], found[size, scheme]
    seen = min(shot.seen[-1], curve.seen[-1])
    return shot.by(seen), curve.by(seen)


def _grid(name: str, found: Curves, plan: Plan) -> Grid:
    """Return the accuracies in the end, and at equal compute."""
    lines = {f"one-shot votes, {plan.epochs} epochs": {n: found[n, ONE_SHOT].test[-1] for n in _sizes(found)}}
    for scheme in SCHEMES:
        end = f"FedAvg, {scheme}, {plan.length(scheme)} rounds"
        lines[end] = {size: found[size, scheme].test[-1] for size in _sizes(found)}
    for scheme in SCHEMES:
        for place, who in enumerate((ONE_SHOT, "FedAvg")):
            equal = {size: _equal(found, size, scheme)[place] for size in _sizes(found)}
            lines[f"{who} at equal compute, {scheme}"] = equal
    rows = [(text, tuple(Cell(values.get(size)) for size in SIZES)) for text, values in lines.items()]
    return Grid(
        f"{TITLES[name]}: test accuracy (%) in the end and at equal compute",
        tuple(f"R = {size}" for size in SIZES),
        tuple(rows),
        note="Equal compute: the last measurement at which each has trained on at most as many images, "
        "counted as often as they came, as the shorter of both in the end. The paper prints no such table.",
    )


def _printed(found: dict[str, Curves]) -> Grid:
    rows = []
    for name, size, scheme, split, number, value in paper_values.FEDAVG:
        where = f"{TITLES[name]}, R = {size}, {scheme}, {split}, round {number}"
        curve = found[name].get((size, scheme))
        ours = None if curve is None else curve.at_round(number, split)
        rows.append((where, (Cell(ours, value),)))
    for name, scheme, split, value in paper_values.FEDAVG_BEST:
        ends = [(one.test[-1], getattr(one, split)[-1]) for key, one in found[name].items() if scheme in key]
        best = max(ends)[1] if ends else None
        rows.append((f"{TITLES[name]}, best R, {scheme}, {split}, last round", (Cell(best, value),)))
    return Grid(
        "What the paper prints of its curves (accuracy, %)",
        ("accuracy",),
        tuple(rows),
        note="Without a value of ours, this profile has not run that many rounds. Its rounds are not the "
        "paper's: see what differs.",
    )


def _findings(name: str, found: Curves, plan: Plan) -> list[str]:
    """Say how the curves compare with the paper's four trends, and who is ahead of whom."""
    sizes, (two, everyone) = _sizes(found), SCHEMES
    if not sizes:
        return []

    def listed(value: Callable[[Curve], float], unit: str, note: str = "") -> str:
        ends = {who: ", ".join(f"{value(found[size, who]):.1f}" for size in sizes) for who in SCHEMES}
        order = f"R = {', '.join(map(str, sizes))}"
        return f"{order}, {two}: {ends[two]}{unit}; {everyone}{note}: {ends[everyone]}{unit}."

    said = [
        "Trend 1 of the paper, slower for small R. Here, test accuracy after half of the rounds, "
        + listed(lambda curve: curve.by(curve.seen[-1] // 2), "%"),
        "Trends 2 and 3 of the paper, more volatile for small R, smoother if all clients take part. Here, "
        "mean change between measurements in the second half, "
        + listed(lambda curve: curve.jumps, " points"),
        "Trend 4 of the paper, full participation is faster but ends no higher (on CIFAR-10, after as many "
        "rounds). Here, in the end, " + listed(lambda curve: curve.test[-1], "%", ", fewer rounds here"),
    ]
    for scheme in SCHEMES:
        groups: dict[str, list[str]] = {"one-shot votes ahead": [], "FedAvg ahead": [], "not told apart": []}
        for size in sizes:
            ours, theirs = _equal(found, size, scheme)
            # Not paired, so rather too wide than too narrow.
            spread = sum(share * (100 - share) for share in (ours, theirs)) / plan.items[1]
            sure = abs(ours - theirs) > 1.96 * spread**0.5
            who = ("one-shot votes ahead" if ours > theirs else "FedAvg ahead") if sure else "not told apart"
            groups[who].append(f"R = {size} ({ours:.1f} against {theirs:.1f}%)")
        verdict = "; ".join(f"{who}: {', '.join(those)}" for who, those in groups.items() if those)
        said.append(
            f"One-shot votes against FedAvg with {scheme} at equal compute, by 95% intervals over "
            f"{plan.items[1]:,} images: {verdict}."
        )
    return [f"{TITLES[name]}. {sentence}" for sentence in said]


def _differences(plans: dict[str, Plan]) -> tuple[str, ...]:
    said = []
    for name, plan in plans.items():
        images = "all training images" if plan.per_class is None else f"{plan.per_class} images per class"
        said.append(
            f"{TITLES[name]}: the {plan.local.network} network, batches of {plan.local.batch}, rate "
            f"{plan.local.rate}, {images}, one local epoch per round as in the paper, {plan.rounds[0]} "
            f"rounds with 2 clients and {plan.rounds[1]} with all, one-shot experts of {plan.epochs} epochs; "
            f"accuracies on the first {plan.items[1]:,} test images and {plan.items[0]:,} training images; "
            "one seed."
        )
    return (
        *said,
        "The paper runs 200 (MNIST) and 400 (CIFAR-10) rounds on all images.",
        "Intervals are over images, not over seeds or rounds: where a curve jumps by more than the two "
        "differ, as with two clients at R = 2, who is ahead may be chance.",
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
    mark = hashlib.sha256(f"version 2, {task}, {data.fingerprint}".encode()).hexdigest()[:10]
    return f"fedavg/{data.name}-{task.size}-{task.scheme.replace(' ', '-')}-{mark}"


def make(job: tuple[ImageSet, Task]) -> tuple[Task, Curve]:
    """Train one curve's clients, and measure them on the way."""
    from paper import federated
    from paper.trainers.networks import seeded

    started = time.process_time()
    data, task = job
    panel, plan = paper_panel(task.size), task.plan
    with seeded(task.seed):
        clients = federated.Clients(
            data.train_x, data.train_y, subsets_of(panel), len(data.classes), plan.local, task.seed
        )
        number = plan.length(task.scheme)
        if task.scheme == ONE_SHOT:
            course = federated.one_shot(clients, number)
            # A panel takes as long to ask as to train: its epochs are looked at more and more rarely.
            wanted = {1, 2, 4, 8, *range(16, number, 16), number}
        else:
            course = federated.rounds(clients, number, SCHEMES[task.scheme], task.seed)
            wanted = {1, *range(0, number, max(1, number // plan.points)), number}
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
    if len(next(iter(weights.values())).shape) == len(next(iter(clients.start.values())).shape):
        return 100 * float(np.mean(clients.answers(weights, images).argmax(axis=1) == truth))
    return 100 * decoded(clients.votes(weights, panel, images), truth, **METHODS[PAPER][1])
