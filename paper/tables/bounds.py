"""Numerical claims of the text: sizes of greedy covers, and Theorems 2 to 5 against simulation."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from covote.bounds import best_lower_bound, counting_bound, greedy_guarantee, random_cover_bound
from covote.covers import design
from paper import paper_values
from paper.error_curve import ErrorCurve, error_curve, plot_error_curve, random_knowledge
from paper.experiment import CLASSES, Context
from paper.sections import FAILS, HOLDS, Cell, Claim, Grid, Picture, Section

COVERS = ((10, 2), (10, 4), (10, 6), (10, 8), (20, 3), (20, 4), (20, 10), (30, 3), (30, 5), (40, 3))
RANDOM = ((10, 4, 0.05), (10, 6, 0.05), (20, 5, 0.05), (20, 5, 0.5))
CURVES = ((10, 4, (2, 4, 6, 9, 12, 16, 20, 26)), (30, 5, (5, 10, 15, 20, 30, 40, 50, 60)))
SMALL = 5
"""Up to this size experts count as small."""
PANELS = 2000
"""Random panels that are drawn to see how many of them cover."""


def build(context: Context) -> Section:
    """Return the tables and the curves."""
    covers = _covers(context)
    random, lowest = _random_panels(context)
    curves = [_curve(context, *curve) for curve in CURVES]
    pictures = tuple(
        Picture(
            f"bounds-{curve.classes}-{curve.size}",
            plot_error_curve(curve),
            f"Theorems 4 and 5 compared with simulation: {curve.classes} classes, experts of {curve.size}.",
        )
        for curve in curves
    )
    checked = sum(len(curve.experts) for curve in curves)
    broken = sum(_broken(curve) for curve in curves)
    return Section(
        (_cover_grid(covers), random, *(_curve_grid(curve) for curve in curves)),
        pictures,
        (_smaller(covers),),
        (
            *_cover_claims(covers),
            Claim(
                "Theorem 3: random panels of its size cover as often as it promises",
                HOLDS if lowest >= 1 else FAILS,
                f"at least {lowest:.2f} times as often",
            ),
            Claim(
                "Theorems 4 and 5: the error of random panels lies between the bounds",
                HOLDS if not broken else FAILS,
                f"{checked - broken} of {checked} measured error rates, as far as the 95% intervals tell",
            ),
        ),
        ("Random panels and votes are simulated, as in the paper's statistical model; no data set is used.",),
    )


class CoverSizes(NamedTuple):
    """Sizes of covers of some classes by experts of some size."""

    classes: int
    size: int
    theorem: int
    lower: int
    greedy: int
    ours: int


def _covers(context: Context) -> list[CoverSizes]:
    """Return the sizes of greedy covers and of covote's, with the bounds."""
    found = []
    for n, (classes, size) in enumerate(COVERS):
        context.progress(n, len(COVERS), f"bounds: covers of {classes} classes")
        greedy = len(design(classes, size, method="paper"))
        ours = len(design(classes, size, seed=context.seed))
        lower, _ = best_lower_bound(classes, size)
        found.append(CoverSizes(classes, size, counting_bound(classes, size), lower, greedy, ours))
    return found


def _cover_grid(covers: list[CoverSizes]) -> Grid:
    rows = []
    for row in covers:
        printed = paper_values.GREEDY_SIZES.get(row.size) if row.classes == CLASSES else None
        cells = (
            Cell(row.theorem), Cell(row.lower), Cell(row.greedy, printed), Cell(row.ours),
            Cell(text=f"{row.greedy / row.theorem:.2f}"), Cell(text=f"{greedy_guarantee(row.size):.2f}"),
        )  # fmt: skip
        rows.append((f"K = {row.classes}, R = {row.size}", cells))
    columns = (
        "Theorem 2", "best bound", "greedy", "covote's design", "greedy / Theorem 2", "promised: at most"
    )  # fmt: skip
    note = "Promised: the greedy cover has at most this many times the experts of the smallest cover."
    return Grid("Experts that cover every pair of classes", columns, tuple(rows), note, digits=0)


def _smaller(covers: list[CoverSizes]) -> str:
    """Say where smaller covers than the greedy ones exist."""
    smaller = [
        f"{row.ours} instead of {row.greedy} (K = {row.classes}, R = {row.size}"
        + (", optimal)" if row.ours == row.lower else ")")
        for row in covers
        if row.ours < row.greedy
    ]
    return f"covote's design needs fewer: {'; '.join(smaller) or 'nowhere'}."


def _cover_claims(covers: list[CoverSizes]) -> tuple[Claim, ...]:
    """Judge whether the greedy covers are the paper's, and how near they are to the bound."""
    greedy = {row.size: row.greedy for row in covers if row.classes == CLASSES}
    ratios = [row.greedy / row.theorem for row in covers if row.size <= SMALL]
    return (
        Claim(
            "greedy covers of ten classes have 45, 9, 5 and 3 experts",
            HOLDS if greedy == paper_values.GREEDY_SIZES else FAILS,
            f"{', '.join(map(str, greedy.values()))}",
        ),
        Claim(
            f"greedy covers of small experts (R <= {SMALL}) nearly match Theorem 2 (here: up to 1.25 times)",
            HOLDS if max(ratios) <= 1.25 else FAILS,
            f"{min(ratios):.2f} to {max(ratios):.2f} times as many experts as Theorem 2 asks for",
        ),
    )


def _curve(context: Context, classes: int, size: int, experts: tuple[int, ...]) -> ErrorCurve:
    def report(done: int, total: int, message: str) -> None:
        context.progress(done, total, f"bounds: K = {classes}, {message}")

    return error_curve(classes, size, experts, panels=60, items=400, seed=context.seed, progress=report)


def _random_panels(context: Context) -> tuple[Grid, float]:
    """Return how often random panels of the size of Theorem 3 cover, and the least ratio to its promise."""
    rows, least = [], float("inf")
    for n, (classes, size, delta) in enumerate(RANDOM):
        context.progress(n, len(RANDOM), "bounds: random panels")
        number = random_cover_bound(classes, size, delta)
        covering = covering_share(classes, size, number, [context.seed, classes, size])
        least = min(least, covering / (1 - delta))
        cells = (Cell(text=str(number)), Cell(text=f"{1 - delta:.0%}"), Cell(100 * covering))
        rows.append((f"K = {classes}, R = {size}, delta = {delta:g}", cells))
    columns = ("experts (Theorem 3)", "promised to cover", "cover (%)")
    return Grid(f"Random panels that cover every pair ({PANELS} each)", columns, tuple(rows)), least


def covering_share(classes: int, size: int, number: int, seed: list[int]) -> float:
    """Return the share of random panels of `number` experts that cover every pair."""
    covering = 0
    for p in range(PANELS):
        knows = random_knowledge(classes, size, number, [*seed, p]).astype(np.float32)
        covering += int((knows.T @ knows > 0).all())
    return covering / PANELS


def _curve_grid(curve: ErrorCurve) -> Grid:
    lower, upper = (dict(part) for part in (list(curve.bounds.items())[:2], list(curve.bounds.items())[2:]))
    columns = lower | {"measured": curve.error} | upper
    rows = tuple(
        (f"m = {m}", tuple(Cell(100 * float(values[n])) for values in columns.values()))
        for n, m in enumerate(curve.experts)
    )
    return Grid(f"Error in percent, K = {curve.classes}, R = {curve.size}", tuple(columns), rows)


def _broken(curve: ErrorCurve) -> int:
    """Count measured rates whose whole interval lies outside the bounds."""
    fano, converse, random, paper = curve.bounds.values()
    return int(((curve.high < np.maximum(fano, converse)) | (curve.low > np.minimum(random, paper))).sum())
