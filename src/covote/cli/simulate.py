"""`covote simulate`: how often the labels of a panel are wrong on made-up answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covote.cli import terminal
from covote.cli.parameters import Json, Seed, choice, integer, number, one_of
from covote.decoding import DECODERS
from covote.panel import Panel


def simulate(
    panel_file: Annotated[Path, typer.Argument(metavar="PANEL", help="Panel file: who knows what.")],
    noise: Annotated[
        str,
        typer.Option(
            help="How experts answer about classes they do not know.",
            **choice("uniform", "similar", "adversarial"),
        ),
    ] = "uniform",
    accuracy: Annotated[
        float | None,
        typer.Option(
            parser=number,
            help="How often experts are right about what they know (default: several values from 0.5 to 1).",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help=f"How to decode, one or several (em,authority): {', '.join(DECODERS)}.",
            metavar="METHOD",
            autocompletion=one_of(*DECODERS),
        ),
    ] = "learned",
    items: Annotated[int, typer.Option(parser=integer, help="Items for each accuracy.")] = 5000,
    seed: Seed = 0,
    plot: Annotated[Path | None, typer.Option(help="Draw the curve to this .png, .svg or .pdf file.")] = None,
    as_json: Json = False,
) -> None:
    """Try a panel on made-up answers.

    How often its labels are wrong, by method and by how often the experts are right about what they know."""
    from covote.simulation.method_errors import ACCURACIES, method_errors

    terminal.check_places(plot, read=[panel_file])
    methods = [name.strip() for name in method.split(",")]
    accuracies = ACCURACIES if accuracy is None else (accuracy,)
    with terminal.progress_bar() as progress, terminal.warnings_as_lines():
        found = method_errors(
            Panel.load(panel_file).present,
            methods,
            accuracies,
            items=items,
            seed=seed,
            progress=progress,
            noise=noise,
        )
    if plot is not None:
        from covote.files.charts import error_curves

        terminal.draw(lambda: error_curves(found), plot)
    if as_json:
        terminal.say_json({"panel": str(panel_file), "items": items, "curve": found.rows()})
        return
    terminal.say(
        f"How often labels are wrong if experts are right with this accuracy; {items:,} items for each row."
    )
    terminal.say()
    rows = [
        [f"{rate:g}", *(f"{error[n, 0]:.4f}" for error in found.errors.values())]
        for n, rate in enumerate(found.accuracies)
    ]
    terminal.say_table(["accuracy", *found.errors], rows, ">" * (1 + len(found.errors)))
    terminal.say_written(plot)
