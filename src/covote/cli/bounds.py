"""`covote bounds`: how few experts can there be?"""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby
from typing import Annotated

import typer

from covote.bounds import BoundRow, bound_table
from covote.cli.arguments import Classes, Json, OneSize, number


def bounds_command(
    classes: Classes,
    size: OneSize,
    error: Annotated[float, typer.Option(parser=number, help="Error probability to reach.")] = 0.01,
    delta: Annotated[
        float, typer.Option(parser=number, help="Probability that a random panel may fail to cover.")
    ] = 0.05,
    as_json: Json = False,
) -> None:
    """Show every lower and upper bound for CLASSES classes and experts of SIZE."""
    rows = bound_table(classes, size, error, delta)
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
    else:
        _print(classes, size, rows)


def _print(classes: int, size: int, rows: list[BoundRow]) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    console.print(f"[bold]{classes:,} classes, experts of size {size:,}[/bold]")
    for goal, group in groupby(rows, key=lambda row: row.goal):
        table = Table(title=goal, title_justify="left", title_style="italic", box=None, padding=(0, 2, 0, 0))
        # On a narrow terminal the words wrap, never the numbers.
        table.add_column("bound", min_width=max(len(row.name) for row in rows))
        table.add_column("", min_width=len("at least"))
        table.add_column("value", justify="right", min_width=max(len(f"{row.value:,}") for row in rows))
        table.add_column("needs")
        table.add_column("source")
        for row in group:
            sign = "at least" if row.kind == "lower" else "at most"
            table.add_row(row.name, sign, f"{row.value:,}", row.needs, row.source)
        console.print()
        console.print(table)
