"""`covote bounds`: how few experts can there be?"""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from covote.bounds import BoundRow, bound_table
from covote.cli import terminal
from covote.cli.parameters import Classes, Json, OneSize, number


def bounds(
    classes: Classes,
    size: OneSize,
    error: Annotated[float, typer.Option(parser=number, help="Error probability to reach.")] = 0.01,
    plot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the bounds against CLASSES and against SIZE to this .png, .svg or .pdf file."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show how many experts are needed: all bounds."""
    terminal.check_places(plot)
    rows = bound_table(classes, size, error)
    if plot is not None:
        from covote.files.charts import cover_bounds

        terminal.draw(lambda: cover_bounds(classes, size), plot)
    if as_json:
        terminal.say_json([asdict(row) for row in rows])
    else:
        _tell(classes, size, rows)
        terminal.say_written(plot)


def _tell(classes: int, size: int, rows: list[BoundRow]) -> None:
    terminal.say(f"{classes:,} classes, experts who know {size:,} of them")
    for goal, group in groupby(rows, key=lambda row: row.goal):
        terminal.say()
        terminal.say(goal)
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
        terminal.say_table(("bound", "", "value", "needs", "source"), cells, "<<><<")
