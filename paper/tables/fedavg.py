"""Figures 2 and 3: learning curves of FedAvg, compared with one-shot votes at equal compute."""

from __future__ import annotations

import hashlib
import time
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.colours import SERIES
from covote.errors import DataError, FileError
from covote.files.charts import new_figure
from paper import paper_values
from paper.cores import in_processes
from paper.datasets import TITLES, ImageSet
from paper.experiment import METHODS, PAPER, SIZES, Context, label_accuracy, paper_panel, subsets_of
from paper.sections import FAILS, HOLDS, OPEN, Cell, Claim, Grid, Picture, Section, judge, verdict
from paper.trainers.neural import Local, require_torch

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from paper.federated import Weights

SCHEMES: dict[str, int | None] = {"2 clients per round": 2, "all clients": None}
"""Who takes part in a round of federated averaging: clients drawn at random, or None for all."""
ONE_SHOT = "one-shot votes"


@dataclass(frozen=True)
class Plan:
    """How the curves of one image set are made.

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
    items
        Images that every measurement looks at: the first of the training and of the test images.
    """

    local: Local
    per_class: int | None
    epochs: int
    rounds: tuple[int, int]
    items: tuple[int, int] = (2_000, 10_000)

    def length(self, scheme: str) -> int:
        """Return the number of rounds of a scheme, or the number of epochs of one-shot experts."""
        return self.epochs if scheme == ONE_SHOT else self.rounds[list(SCHEMES).index(scheme)]


PLANS: dict[str, dict[str, Plan]] = {
    # Few images, so that rounds are cheap: 100 and 20 rounds for every R in minutes.
    "quick": {
        "mnist": Plan(Local("strided", 16, 0.1), 200, epochs=12, rounds=(100, 20), items=(1000, 2000)),
        "cifar10": Plan(Local("strided", 16, 0.05), 200, epochs=12, rounds=(100, 20), items=(1000, 2000)),
    },
    "paper": {
        "mnist": Plan(Local("mnist_cnn", 128, 0.1, bfloat16=True), None, epochs=12, rounds=(200, 20)),
        "cifar10": Plan(Local("tutorial_cnn", 32, 0.05, bfloat16=True), None, epochs=12, rounds=(400, 20)),
    },
}


@dataclass(frozen=True)
class Curve:
    """Accuracy against work, after every round (or, for one-shot experts, every epoch).

    Attributes
    ----------
    seen
        Images that all clients together had trained on by then, counted as often as they came.
    train, test
        Accuracies in percent.
    seconds
        CPU time so far.
    """

    seen: tuple[float, ...] = ()
    train: tuple[float, ...] = ()
    test: tuple[float, ...] = ()
    seconds: tuple[float, ...] = ()

    def extended(self, images: int, train: float, test: float, seconds: float) -> Curve:
        """Return the curve with one more round."""
        before, spent = (self.seen[-1], self.seconds[-1]) if self.seen else (0.0, 0.0)
        return Curve(
            (*self.seen, before + images), (*self.train, train), (*self.test, test),
            (*self.seconds, spent + seconds),
        )  # fmt: skip

    def by(self, seen: float) -> float:
        """Return the test accuracy after the last round with at most `seen` images (or after the first).

        >>> Curve((10, 20, 30), (), (4.0, 5.0, 6.0)).by(29)
        5.0
        """
        return self.test[max(0, sum(value <= seen for value in self.seen) - 1)]

    @property
    def volatility(self) -> float:
        """How much the test accuracy changes from round to round, in the second half, on average.

        >>> Curve((1, 2, 3, 4), (), (10.0, 50.0, 60.0, 50.0)).volatility
        10.0
        """
        late = np.array(self.test[len(self.test) // 2 - 1 :])
        return float(np.abs(np.diff(late)).mean()) if len(late) > 1 else 0.0

    def at_round(self, number: int, split: str) -> float | None:
        """Return the accuracy after a round, if it was reached."""
        values: tuple[float, ...] = getattr(self, split)
        return values[number - 1] if number <= len(values) else None


Curves = Mapping[tuple[int, str], Curve]
"""By size (R), and scheme or `ONE_SHOT`."""


@dataclass(frozen=True)
class Task:
    """One curve to be made: federated averaging by a scheme, or one-shot experts of a size."""

    size: int
    scheme: str
    plan: Plan
    seed: int

    def file(self, folder: Path, data: ImageSet) -> Path:
        """Return where the curve and the weights at its end are stored; a longer plan continues the same."""
        recipe = f"version 3, {replace(self.plan, rounds=(0, 0), epochs=0)}, {self.seed}, {data.fingerprint}"
        mark = hashlib.sha256(recipe.encode()).hexdigest()[:10]
        return folder / "fedavg" / f"{data.name}-{self.size}-{self.scheme.replace(' ', '-')}-{mark}.npz"


def curves(context: Context, name: str) -> Curves:
    """Return the curves of an image set, as far as they go; those that the context wants are made."""
    plan = PLANS[context.profile][name]
    data = context.images(name).reduced(plan.per_class, context.seed)
    tasks = [Task(size, scheme, plan, context.seed) for scheme in (*SCHEMES, ONE_SHOT) for size in SIZES]
    folder = context.store.folder
    wanted = [
        task
        for task in tasks
        if context.train and context.curves(task.size, task.scheme)
        if len(read(task.file(folder, data)).seen) < plan.length(task.scheme)
    ]
    if wanted:
        require_torch("federated averaging")
        for n, task in enumerate(in_processes(partial(make, folder, data), wanted, context.workers), start=1):
            context.progress(n, len(wanted), f"{name}: {task.scheme}, R = {task.size}")
    found = {(task.size, task.scheme): read(task.file(folder, data)) for task in tasks}
    return {key: curve for key, curve in found.items() if curve.seen}


def read(file: Path, models: list[Weights] | None = None) -> Curve:
    """Return a stored curve, as far as it goes; `models` is filled with the weights at its end."""
    if not file.is_file():
        return Curve()
    try:
        with np.load(file, allow_pickle=False) as stored:
            curve = Curve(*(tuple(row) for row in stored["curve"].tolist()))
            if models is not None:
                import torch

                number = 1 + max(int(key.split("/")[0]) for key in stored.files if key != "curve")
                models.extend({} for _ in range(number))
                for key in stored.files:
                    if key != "curve":
                        model, name = key.split("/")
                        models[int(model)][name] = torch.from_numpy(stored[key])
            return curve
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise FileError(f"{file} cannot be read ({error!r}); remove it and run again") from error


def make(folder: Path, data: ImageSet, task: Task) -> Task:
    """Make a curve, or what is missing of it; it is stored after every round."""
    from paper import federated
    from paper.trainers.networks import seeded

    file, models, plan = task.file(folder, data), list[federated.Weights](), task.plan
    atomic.make_folder(file.parent, "--keep")
    curve = read(file, models)
    number, done = plan.length(task.scheme), len(curve.seen)
    panel = paper_panel(task.size)
    with seeded(task.seed):
        clients = federated.Clients(
            data.train_x, data.train_y, subsets_of(panel), len(data.classes), plan.local, task.seed
        )
        if task.scheme == ONE_SHOT:
            course = federated.one_shot(clients, number, models, done)
        else:
            start = models[0] if models else None
            course = federated.rounds(clients, number, SCHEMES[task.scheme], task.seed, start, done)

        def right(models: Sequence[Weights], images: NDArray[np.uint8], truth: NDArray[np.int64]) -> float:
            if len(models) == 1:
                return 100 * float(np.mean(clients.answers(models[0], images).argmax(axis=1) == truth))
            return 100 * label_accuracy(clients.votes(models, panel, images), truth, **METHODS[PAPER][1])

        started = time.process_time()
        for models, images in course:
            train = right(models, data.train_x[: plan.items[0]], data.train_y[: plan.items[0]])
            test = right(models, data.test_x[: plan.items[1]], data.test_y[: plan.items[1]])
            curve = curve.extended(images, train, test, time.process_time() - started)
            started = time.process_time()
            weights = {
                f"{c}/{name}": w.cpu().numpy() for c, one in enumerate(models) for name, w in one.items()
            }
            rows = np.array([curve.seen, curve.train, curve.test, curve.seconds])
            with atomic.replacing(file) as temporary, temporary.open("wb") as sink:
                np.savez(sink, curve=rows, **weights)
    return task


# The section


def build(context: Context) -> Section:
    """Return the curves."""
    plans = PLANS[context.profile]
    found = {name: curves(context, name) for name in plans}
    if not any(found.values()):
        raise DataError("no learning curve of FedAvg is stored; run again without --stored")
    return Section(
        grids=(*(_grid(name, found[name]) for name in plans if found[name]), _printed(found)),
        pictures=tuple(_picture(name, found[name]) for name in plans if found[name]),
        claims=tuple(
            claim
            for name in plans
            if found[name]
            for claim in _claims(TITLES[name], found[name], plans[name])
        ),
        differences=_differences(plans),
        models=", ".join(dict.fromkeys(f"{plan.local.network} network" for plan in plans.values())),
        surrogate=context.profile == "quick",
        seconds=sum(curve.seconds[-1] for of_set in found.values() for curve in of_set.values()),
    )


def _at_equal_compute(found: Curves, size: int, scheme: str) -> tuple[float, float]:
    """Return the accuracies of one-shot votes and of FedAvg when both have trained on as many images."""
    shot, curve = found[size, ONE_SHOT], found[size, scheme]
    seen = min(shot.seen[-1], curve.seen[-1])
    return shot.by(seen), curve.by(seen)


def _grid(name: str, found: Curves) -> Grid:
    """Return the accuracies in the end, and at equal compute."""
    rows = []
    for scheme in (*SCHEMES, ONE_SHOT):
        unit = "epochs" if scheme == ONE_SHOT else "rounds"
        there = {size: found[size, scheme] for size in SIZES if (size, scheme) in found}
        done = tuple(Cell(text=f"{len(there[size].seen)}" if size in there else "–") for size in SIZES)
        ends = tuple(Cell(there[size].test[-1] if size in there else None) for size in SIZES)
        rows += [(f"{scheme}: {unit}", done), (f"{scheme}: test accuracy", ends)]
    for scheme in SCHEMES:
        for place, who in enumerate((ONE_SHOT, "FedAvg")):
            both = [size for size in SIZES if (size, ONE_SHOT) in found and (size, scheme) in found]
            equal = {size: _at_equal_compute(found, size, scheme)[place] for size in both}
            rows.append((f"{who} at equal compute, {scheme}", tuple(Cell(equal.get(s)) for s in SIZES)))
    return Grid(
        f"{TITLES[name]}: test accuracy (%) in the end and at equal compute",
        tuple(f"R = {size}" for size in SIZES),
        tuple(rows),
        note="Equal compute: the last round at which each has trained on at most as many images, "
        "counted as often as they came, as the shorter of both in the end. The paper prints no such table.",
    )


def _printed(found: Mapping[str, Curves]) -> Grid:
    rows = []
    for name, size, scheme, split, number, value in paper_values.FEDAVG:
        where = f"{TITLES[name]}, R = {size}, {scheme}, {split}, round {number}"
        rows.append((where, (Cell(found[name].get((size, scheme), Curve()).at_round(number, split), value),)))
    for name, scheme, split, value in paper_values.FEDAVG_BEST:
        ends = [(one.test[-1], getattr(one, split)[-1]) for key, one in found[name].items() if scheme in key]
        best = max(ends)[1] if ends else None
        where = f"{TITLES[name]}, best R of {len(ends)}, {scheme}, {split}, last round"
        rows.append((where, (Cell(best, value),)))
    note = "Without a value of ours, that round has not been reached."
    return Grid("What the paper prints of its curves (accuracy, %)", ("accuracy",), tuple(rows), note)


def _claims(title: str, found: Curves, plan: Plan) -> list[Claim]:
    """Say whether the paper's trends hold, and who is ahead of whom."""
    by_scheme = {scheme: [size for size in SIZES if (size, scheme) in found] for scheme in SCHEMES}
    (two, in_two), (everyone, in_all) = by_scheme.items()

    def listed(value: Callable[[Curve], float | None], scheme: str, unit: str) -> str:
        values = {size: value(found[size, scheme]) for size in by_scheme[scheme]}
        reached = (f"R = {size}: {x:.1f}{unit}" for size, x in values.items() if x is not None)
        return ", ".join(reached) or "not reached yet"

    def half(*shares: float) -> float:
        """Half the width of the 95% interval of a difference; not paired, so rather too wide."""
        return float(1.96 * np.sqrt(sum(share * (100 - share) for share in shares) / plan.items[1]))

    def ahead(first: float, second: float) -> str:
        return judge(first - second, half(first, second))

    halfway, slower, volatile = plan.rounds[0] // 2, OPEN, OPEN
    if len(in_two) > 1 and min(len(found[size, two].test) for size in in_two) >= halfway:
        small, large = (found[size, two] for size in (in_two[0], in_two[-1]))
        slower = ahead(large.test[halfway - 1], small.test[halfway - 1])
        volatile = HOLDS if small.volatility > large.volatility else FAILS
    both = [size for size in in_two if size in in_all]
    last = {size: min(len(found[size, scheme].test) for scheme in SCHEMES) for size in both}
    jumps = {
        s: [replace(found[s, who], test=found[s, who].test[: last[s]]).volatility for who in (everyone, two)]
        for s in both
    }
    smoother = {f"R = {s}": HOLDS if one < other else FAILS for s, (one, other) in jumps.items()}
    faster = {
        f"R = {s}": ahead(found[s, everyone].test[last[s] - 1], found[s, two].test[last[s] - 1]) for s in both
    }
    claims = [
        Claim(
            f"{title}, 2 clients: slower for small R",
            slower,
            f"test accuracy after round {halfway}: "
            + listed(lambda c: c.at_round(halfway, "test"), two, "%"),
        ),
        Claim(
            f"{title}, 2 clients: more volatile for small R",
            volatile,
            f"mean change per round in the second half: {listed(lambda c: c.volatility, two, '')}; one seed",
        ),
        Claim(
            f"{title}: smoother if all clients take part",
            verdict(smoother),
            "the same, in equally many rounds, all and 2 clients: "
            + (", ".join(f"R = {s}: {a:.1f} and {b:.1f}" for s, (a, b) in jumps.items()) or "not run yet"),
        ),
        Claim(
            f"{title}: faster if all clients take part",
            verdict(faster),
            "test accuracy after equally many rounds, all and 2 clients: "
            + (
                ", ".join(
                    f"R = {s}, round {last[s]}: {found[s, everyone].test[last[s] - 1]:.1f} and "
                    f"{found[s, two].test[last[s] - 1]:.1f}%"
                    for s in both
                )
                or "not run yet"
            ),
        ),
    ]
    for scheme in SCHEMES:
        compared = [size for size in by_scheme[scheme] if (size, ONE_SHOT) in found]
        pairs = {size: _at_equal_compute(found, size, scheme) for size in compared}
        claims.append(
            Claim(
                f"{title}: votes are ahead of FedAvg, {scheme}, at equal compute",
                verdict({f"R = {size}": ahead(*pair) for size, pair in pairs.items()}),
                ", ".join(f"R = {size}: {one:.1f} and {other:.1f}%" for size, (one, other) in pairs.items())
                or "not run yet",
            )
        )
    return claims


def _differences(plans: Mapping[str, Plan]) -> tuple[str, ...]:
    said = []
    for name, plan in plans.items():
        images = "all training images" if plan.per_class is None else f"{plan.per_class} images per class"
        said.append(
            f"{TITLES[name]}: the {plan.local.network} network, batches of {plan.local.batch}, rate "
            f"{plan.local.rate} (the paper does not print it), {images}, one local epoch per round as in the "
            f"paper, {plan.rounds[0]} rounds with 2 clients and {plan.rounds[1]} with all, one-shot experts "
            f"of {plan.epochs} epochs; accuracies on the first {plan.items[1]:,} test images and "
            f"{plan.items[0]:,} training images; one seed."
        )
    return (
        *said,
        "The paper runs 200 (MNIST) and 400 (CIFAR-10) rounds on all images, also with all clients.",
        "Intervals are over images, not over seeds or rounds: where a curve jumps by more than the two "
        "differ, as with two clients at R = 2, who is ahead may be chance.",
    )


def _picture(name: str, found: Curves) -> Picture:
    caption = (
        f"FedAvg on {TITLES[name]}: accuracy after each round. Crosses: what the paper prints. Dotted: "
        "one-shot votes of the same network after all of their training."
    )
    return Picture(f"fedavg-{name}", draw(name, found), caption)


def draw(name: str, found: Curves) -> Figure:
    """Draw training and test curves, one panel per scheme, with the paper's printed numbers."""
    schemes = [scheme for scheme in SCHEMES if any((size, scheme) in found for size in SIZES)] or [*SCHEMES]
    figure, panels = new_figure(4.2 * len(schemes), 6.0, rows=2, columns=len(schemes), sharey=True)
    panels = np.reshape(panels, (2, -1))
    for row, split in zip(panels, ("train", "test"), strict=True):
        for axes, scheme in zip(row, schemes, strict=True):
            for size, colour in zip(SIZES, SERIES[1:], strict=True):
                values = getattr(found.get((size, scheme), Curve()), split)
                if values:
                    rounds = range(1, len(values) + 1)
                    axes.plot(rounds, values, color=colour, linewidth=1, label=f"R = {size}")
                if (size, ONE_SHOT) in found:
                    level = getattr(found[size, ONE_SHOT], split)[-1]
                    axes.axhline(level, color=colour, linestyle=":", linewidth=1)
                marks = [
                    (number, value)
                    for images, of_size, who, part, number, value in paper_values.FEDAVG
                    if (images, of_size, who, part) == (name, size, scheme, split)
                ]
                if marks:
                    axes.plot(*zip(*marks, strict=True), "x", color=colour, markersize=8, label="paper")
            axes.set_ylim(0, 103)
            axes.set_title(f"{scheme}, {split}", fontsize=10)
            axes.grid(alpha=0.25)
    for axes in panels[-1]:
        axes.set_xlabel("round")
    for axes in panels[:, 0]:
        axes.set_ylabel("accuracy (%)")
    panels[1, 0].legend(frameon=False, fontsize=8)
    return figure
