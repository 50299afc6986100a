"""`covote compare`: which method is best on your own gold items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covote.cli import terminal
from covote.cli.parameters import Json, Seed, VotesFile, VotesPanel, reads_votes
from covote.tables import ReadOptions


@reads_votes
def compare(
    answers: VotesFile,
    gold: Annotated[
        Path, typer.Option(help="Gold items: a table of items whose class you know (item, label).")
    ],
    panel_file: VotesPanel = "all",
    seed: Seed = 0,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the methods and their intervals to this .png, .svg or .pdf file."),
    ] = None,
    *,
    reading: ReadOptions,
    as_json: Json = False,
) -> None:
    """Find the best method with items whose class you know."""
    from covote.decoding import compare as compare_methods
    from covote.decoding.gold import like_items
    from covote.files import VoteFile, read_gold

    terminal.check_places(plot, read=[answers, panel_file, gold])
    read = VoteFile(answers, panel_file, reading).read()
    found = compare_methods(read, like_items(read_gold(gold, read.panel, reading), read), seed=seed)
    if plot is not None:
        from covote.files.charts import method_comparison

        terminal.draw(lambda: method_comparison(found), plot)
    if as_json:
        terminal.say_json(
            {"methods": found.rows(), "use": found.best, "expected": found.expected, "advice": found.advice}
        )
        return
    terminal.say(str(found))
    terminal.say_written(plot)
