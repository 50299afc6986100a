"""`covote compare`: which decoder is best on your own gold items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covote.cli import output
from covote.cli.arguments import Json, Seed, VotesFile, VotesPanel, reads_votes
from covote.panel import Panel
from covote.tables import Reading


@reads_votes
def compare(
    votes: VotesFile,
    panel_file: VotesPanel,
    gold: Annotated[Path, typer.Option(help="A table of items whose class is known (item, label).")],
    plot: Annotated[
        Path | None, typer.Option(help="Draw the comparison to this .png, .svg or .pdf file.")
    ] = None,
    seed: Seed = 0,
    *,
    reading: Reading,
    as_json: Json = False,
) -> None:
    """Compare decoders on known items, and recommend one."""
    from covote.decoding import compare as compared
    from covote.decoding.gold import like_items
    from covote.files import VoteFile, read_gold

    output.check_places(plot, read=[votes, panel_file, gold, reading.rename_file])
    panel = Panel.load(panel_file)
    known = read_gold(gold, panel, reading)
    read = VoteFile(votes, panel, reading).read()
    found = compared(read, like_items(known, read), seed=seed)
    if plot is not None:
        output.draw(found.plot, plot)
    if as_json:
        output.say_json(
            {"methods": found.rows(), "use": found.best, "expected": found.expected, "advice": found.advice}
        )
        return
    output.say(str(found))
    output.say_written(plot)
