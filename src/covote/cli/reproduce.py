"""`covote reproduce`: the paper's experiments, with its numbers next to ours."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from covote.cli import output
from covote.cli.arguments import Json, Seed, choice

if TYPE_CHECKING:
    from covote.reproduction.pages import Report


def reproduce(
    tables: Annotated[
        list[str] | None, typer.Argument(help="Tables and figures to run (see --list; default: all).")
    ] = None,
    profile: Annotated[
        str,
        typer.Option(
            help="How the experts are trained: minutes, hours on two cores, or a GPU.",
            **choice("quick", "paper", "full"),
        ),
    ] = "quick",
    data_dir: Annotated[
        Path | None,
        typer.Option(help="Folder with the datasets (default: below ~/.cache).", envvar="COVOTE_DATA"),
    ] = None,
    out: Annotated[Path, typer.Option("-o", "--output", help="Folder for the pages.")] = Path("reproduction"),
    keep: Annotated[
        Path | None,
        typer.Option(
            help="Where trained experts are kept; a rerun continues there (default: below ~/.cache)."
        ),
    ] = None,
    download: Annotated[
        bool, typer.Option("--download", help="Download missing datasets from their publishers.")
    ] = False,
    stored: Annotated[
        bool, typer.Option("--stored", help="Rebuild the pages from stored results, without training.")
    ] = False,
    seed: Seed = 0,
    listing: Annotated[bool, typer.Option("--list", help="List the tables and figures, and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Reproduce the paper's tables, its values next to ours."""
    from covote.reproduction.datasets import DataSource, default_folder
    from covote.reproduction.experiment import Context
    from covote.reproduction.reproduce import reproduce as run
    from covote.reproduction.tables import TABLES

    if listing and as_json:
        output.say_json({name: table.title for name, table in TABLES.items()})
        return
    if listing:
        for name, table in TABLES.items():
            output.say(f"{name:14} {table.title}")
        return
    source = DataSource(data_dir or default_folder(), download)
    keep = keep or default_folder().parent / "experts"
    try:
        with output.progress_bar() as progress:
            context = Context(source, out, profile, seed, not stored, progress, keep)
            report = run(context, tables or ())
    except KeyboardInterrupt:
        output.complain(
            f"covote: interrupted; what is trained is kept in {keep}, run the same command to resume"
        )
        raise typer.Exit(130) from None
    if as_json:
        output.say_json(report.as_dict())
    else:
        _tell(report)
    for name, reason in report.left_out.items():
        output.complain(f"covote: {name} was not run: {reason}")
    if report.left_out:
        raise typer.Exit(2)


def _tell(report: Report) -> None:
    from covote.reproduction.pages import cell_text

    for section in report.sections:
        if section.name not in report.fresh:
            continue
        mark = " [surrogate models]" if section.surrogate else ""
        output.say(f"{section.title}{mark}")
        for grid in section.grids:
            output.say(f"  {grid.title}")
            rows = [[name, *(cell_text(cell, grid.digits) for cell in row)] for name, row in grid.rows]
            output.say_table(["", *grid.columns], rows, "<" + ">" * len(grid.columns), indent="    ")
        for sentence in section.findings:
            output.say(f"  {sentence}")
        output.say()
    output.say("In brackets: the paper's value." if report.fresh else "Nothing was run.")
    output.say_written(*report.files)
