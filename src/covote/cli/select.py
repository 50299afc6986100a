"""`covote select`: the cheapest experts that still cover."""

from __future__ import annotations

from typing import Annotated

import typer

from covote.panel import Panel

from . import output
from .arguments import Effort, Json, Output, PanelFile, Picture, Seed, Times


def select(
    panel_file: PanelFile,
    times: Times = 1,
    keep: Annotated[
        list[str] | None,
        typer.Option(help="An expert that must stay; may be given again.", show_default=False),
    ] = None,
    effort: Effort = "normal",
    seed: Seed = 0,
    output_file: Output = None,
    picture: Picture = None,
    as_json: Json = False,
) -> None:
    """Choose the cheapest experts of a pool that still cover every pair."""
    from covote.design import select as select_panel

    output.check_panel(output_file)
    output.check_picture(picture)
    pool = Panel.load(panel_file)
    with output.progress_bar() as progress:
        panel = select_panel(
            pool, times=times, keep=_names(keep or [], pool), effort=effort, seed=seed, progress=progress
        )
    if as_json:
        output.say_json({**output.panel_dict(panel), "cost": float(panel.cost.sum())})
    else:
        output.say(
            f"{len(panel)} of {output.counted(len(pool), 'expert')} cover every pair, "
            f"at a cost of {panel.cost.sum():g} of {pool.cost.sum():g}."
        )
        output.say_proof(panel, " for the cost", "above the cheapest")
        output.show_matrix(panel)
        output.say_redundancy(panel)
    output.keep(panel, output_file, picture, quiet=as_json)


def _names(texts: list[str], pool: Panel) -> list[str | int]:
    """Read names from the command line, where the integer 7 and the string "7" look the same."""
    integers = {str(name): name for name in pool.names if isinstance(name, int)}
    strings = {name for name in pool.names if isinstance(name, str)}
    return [text if text in strings else integers.get(text, text) for text in texts]
