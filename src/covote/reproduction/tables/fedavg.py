"""Figures: learning curves of FedAvg, beside one-shot aggregation at equal compute."""

from __future__ import annotations

from typing import TYPE_CHECKING

from covote.errors import DataError, InputError
from covote.reproduction import paper_values, pictures
from covote.reproduction.context import SIZES, Context
from covote.reproduction.datasets import TITLES
from covote.reproduction.learning_curves import ONE_SHOT, SCHEMES, Curve, Plan, Task, curves
from covote.reproduction.result import Cell, Grid, Picture, Section
from covote.reproduction.tables import TABLES, Needs
from covote.reproduction.trainers.recipes import Local

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETS = ("mnist", "cifar10")
PLANS: dict[str, dict[str, Plan]] = {
    # Small batches, so that a client of two classes takes about as many steps in a round as in the paper.
    "quick": {
        "mnist": Plan(Local("strided", 16, 0.1), per_class=800, epochs=1, beyond=1.5),
        "cifar10": Plan(Local("strided", 16, 0.05), per_class=800, epochs=1, beyond=1.5),
    },
    "medium": {
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


def needs(context: Context) -> Needs:
    """Return nothing: the clients are trained here, by the same steps with and without averaging."""
    return {}


def build(context: Context) -> Section:
    """Return the curves."""
    found = {name: _of_set(context, name) for name in SETS}
    if not any(found.values()):
        raise DataError("no learning curve of FedAvg is kept; run again without --stored")
    plans = _plans(context)
    every = [curve for of_set in found.values() for curve in of_set.values()]
    return Section(
        "fedavg",
        TABLES["fedavg"],
        grids=(*(_at_equal_compute(name, found[name]) for name in SETS), _printed(found)),
        pictures=tuple(_picture(name, found[name]) for name in SETS if found[name]),
        findings=tuple(sentence for name in SETS for sentence in _findings(name, found[name])),
        differences=_differences(context.profile, plans),
        models=", ".join(dict.fromkeys(f"{plan.local.network} network" for plan in plans.values())),
        surrogate=context.profile != "full",
        seconds=sum(curve.seconds for curve in every),
    )


Curves = dict[tuple[int, str], Curve]


def _plans(context: Context) -> dict[str, Plan]:
    if context.profile not in PLANS:
        raise InputError(f"no profile {context.profile!r}; choose one of {', '.join(PLANS)}")
    return PLANS[context.profile]


def _of_set(context: Context, name: str) -> Curves:
    plan = _plans(context)[name]
    tasks = [Task(size, scheme, plan, context.seed) for size in SIZES for scheme in (ONE_SHOT, *SCHEMES)]
    keep = context.keep("fedavg")
    made = curves(context.images(name), tasks, keep, context.progress, train=context.train)
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
        note="Without a value of ours, this profile has not gone so many rounds. Its rounds are not the "
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
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.4, 6.0), layout="constrained")
    panels = figure.subplots(2, len(SCHEMES), sharex=True, sharey=True)
    top = 1.08 * max(max(*curve.train, *curve.test) for curve in found.values())
    for row, split in zip(panels, ("train", "test"), strict=True):
        for axes, scheme in zip(row, SCHEMES, strict=True):
            for size, colour in zip(SIZES, pictures.COLOURS[1:], strict=True):
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
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(alpha=0.25)
    for axes in panels[-1]:
        axes.set_xlabel("images trained on by all clients together")
    for axes in panels[:, 0]:
        axes.set_ylabel("accuracy (%)")
    panels[0, 0].legend(frameon=False, fontsize=8)
    return figure
