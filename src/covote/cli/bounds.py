"""`covote bounds`: how few experts can there be?"""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from covote.bounds import BoundRow, best_lower_bound, bound_table, random_cover_bound, two_group_bound
from covote.cli import output
from covote.cli.arguments import Classes, Json, OneSize, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def bounds(
    classes: Classes,
    size: OneSize,
    error: Annotated[float, typer.Option(parser=number, help="Error probability to reach.")] = 0.01,
    delta: Annotated[
        float, typer.Option(parser=number, help="Probability that a random panel may fail to cover.")
    ] = 0.05,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the bounds against CLASSES and against SIZE to this .png, .svg or .pdf file."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show how many experts are needed: all bounds."""
    output.check_places(plot)
    rows = bound_table(classes, size, error, delta)
    if plot is not None:
        output.draw(lambda: _drawn(classes, size), plot)
    if as_json:
        output.say_json([asdict(row) for row in rows])
    else:
        _tell(classes, size, rows)
        output.say_written(plot)


def _drawn(K: int, R: int) -> Axes:
    """Draw how many experts cover every pair, against K for fixed R and against R for fixed K."""
    from covote.files.report.charts import COLOURS, new_figure

    figure, axes = new_figure(8.4, 3.6, columns=2)
    many = sorted({round(value) for value in np.geomspace(max(R, 2), 4 * K, 24)})
    large = sorted({round(value) for value in np.geomspace(2, K, 24)})
    for ax, name, at, points in (
        (axes[0], f"classes (experts who know {R})", K, [(k, R) for k in many]),
        (axes[1], f"classes per expert (of {K})", R, [(K, r) for r in large]),
    ):
        across = [k for k, _ in points] if ax is axes[0] else [r for _, r in points]
        for label, bound, colour in (
            ("at least", lambda k, r: best_lower_bound(k, r)[0], COLOURS[1]),
            ("at most, chosen well", two_group_bound, COLOURS[2]),
            ("at most, chosen by chance", random_cover_bound, COLOURS[3]),
        ):
            ax.plot(across, [bound(k, r) for k, r in points], color=colour, label=label)
        ax.axvline(at, color=COLOURS[0], linewidth=1)
        ax.set(yscale="log", xlabel=name)
    axes[0].set_ylabel("experts who cover every pair")
    figure.suptitle(f"How many experts cover every pair: around {K:,} classes, {R:,} per expert", fontsize=11)
    axes[0].legend(frameon=False, fontsize=8)
    first: Axes = figure.axes[0]
    return first


def _tell(classes: int, size: int, rows: list[BoundRow]) -> None:
    output.say(f"{classes:,} classes, experts who know {size:,} of them")
    for goal, group in groupby(rows, key=lambda row: row.goal):
        output.say()
        output.say(goal)
        cells = [
            (
                row.name,
                "at least" if row.kind == "lower" else "at most",
                f"{row.value:,}",
                row.needs,
                row.source,
            )
            for row in group
        ]
        output.say_table(("bound", "", "value", "needs", "source"), cells, "<<><<")
