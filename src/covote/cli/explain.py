"""`covote explain`: why an item has its label."""

from __future__ import annotations

from typing import Annotated

import typer

from covote.cli import terminal
from covote.cli.method import Method
from covote.cli.parameters import Gold, Json, VotesFile, VotesPanel, reads_votes
from covote.tables import ReadOptions


@reads_votes
def explain(
    answers: VotesFile,
    item: Annotated[str, typer.Argument(help="The item, as the answers name it.")],
    panel_file: VotesPanel = "all",
    method: Method = "learned",
    gold: Gold = None,
    *,
    reading: ReadOptions,
    as_json: Json = False,
) -> None:
    """Explain a label: the evidence, and who must be wrong."""
    from covote.decoding import decode, make
    from covote.decoding import explain as explain_item
    from covote.decoding.gold import like_items
    from covote.decoding.loop import estimates
    from covote.files import VoteFile, read_gold

    read = VoteFile(answers, panel_file, reading).read()
    known = None if gold is None else read_gold(gold, read.panel, reading)
    if known is not None:
        known = dict(like_items(known, read))
    (name,) = like_items({item: None}, read)
    with terminal.warnings_as_lines():
        proba = method == "auto" or estimates(make(method, {}, known))
        labels = decode(read, method=method, gold=known, proba=proba)
    found = explain_item(read, name, labels)
    if as_json:
        terminal.say_json(found.to_dict())
        return
    terminal.say(str(found))
