"""`covote ask`: replay votes to count the answers that would have been enough, or ask in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covote import atomic
from covote.asking import Asker, Question
from covote.cli import output
from covote.cli.arguments import Gold, Json, Report, choice, reads_votes
from covote.errors import CovoteError, InputError
from covote.panel import Panel
from covote.tables import Reading

if TYPE_CHECKING:
    from covote.votes import Votes

_HELP = "a class, 'none' (none of mine), 'skip' (no answer), 'undo' or 'quit'"
_ITEMS = 10_000  # items that one saved state can hold


@reads_votes
def ask(
    votes: Annotated[
        Path | None,
        typer.Argument(
            help="Votes to replay: .parquet, .csv, .tsv, .jsonl or .xlsx. Without it, you answer in the "
            "terminal."
        ),
    ] = None,
    panel_file: Annotated[Path | None, typer.Option("--panel", help="Panel file: who knows what.")] = None,
    gold: Gold = None,
    report: Report = None,
    rule: Annotated[
        str,
        typer.Option(help="In the terminal: when to stop.", **choice("elimination", "vote")),
    ] = "elimination",
    state: Annotated[
        Path | None,
        typer.Option(help="In the terminal: keep all answers in this .npz file, and resume from it."),
    ] = None,
    *,
    reading: Reading,
    as_json: Json = False,
) -> None:
    """Ask only as many experts as needed.

    Replay existing votes, or answer one question after another in the terminal.
    """
    if panel_file is None:
        raise InputError("asking needs a panel file that lists who knows what: --panel panel.toml")
    from covote.files import VoteFile, read_gold
    from covote.files.output import check_report

    panel = Panel.load(panel_file)
    if votes is None:
        if gold is not None or report is not None or reading != Reading() or as_json:
            raise InputError(
                "--gold, --report, --json and the reading options need votes to replay; name the file of "
                "votes"
            )
        _converse(panel, rule, state)
        return
    check_report(report)
    atomic.check_apart([report], [votes, panel_file, gold, reading.rename_file])
    known = None if gold is None else read_gold(gold, panel, reading)
    _replay(VoteFile(votes, panel, reading).read(), votes.name, known, report, as_json)


def _replay(votes: Votes, source: str, gold: Any, report: Path | None, as_json: bool) -> None:
    from covote.simulation.replay import replay

    found = replay(votes, gold)
    if report is not None:
        from covote.files.report.replay_page import write_replay

        write_replay(report, found, source)
    if as_json:
        output.say_json(found.to_dict())
        return
    output.say(f"{found.items:,} items, {found.everyone:.1f} answers each. These would have been enough:")
    for name, one in found.rules.items():
        right = "" if one.accuracy is None else f", {one.accuracy:.2%} right (all: {one.accuracy_all:.2%})"
        output.say(
            f"  {name:<12} {one.answers_per_item:.2f} answers, cost {one.cost_per_item:.2f}, "
            f"{one.agreement:.2%} same label as with all answers{right}"
        )
    output.say_written(report)


def _converse(panel: Panel, rule: str, state: Path | None) -> None:
    if state is not None and state.exists():
        asker = Asker.load(state)
        if asker.panel != panel:
            raise InputError(f"{state} belongs to another panel; give that one with --panel")
    else:
        asker = Asker(panel, _ITEMS, rule)
    output.say(f"Answer with {_HELP}.")
    waiting = list(asker.waiting())
    while waiting or (waiting := list(asker.next(1))):
        said = _prompt(asker, waiting[0])
        if said == "quit":
            break
        waiting = _taken(asker, waiting[0], said)
        if state is not None:
            asker.save(state)


def _prompt(asker: Asker, question: Question) -> str:
    possible = asker.possible(question.item)
    shown = ", ".join(map(str, possible[:12])) + (" ..." if len(possible) > 12 else "")
    output.say(f"item {question.item + 1}: {len(possible)} classes are possible: {shown}")
    known = ", ".join(map(str, question.classes))
    try:
        asked = output.visible(f"ask {question.expert}: which of {known}?")
        return str(typer.prompt(asked, prompt_suffix=" ")).strip()
    except typer.Abort:
        return "quit"


def _taken(asker: Asker, question: Question, said: str) -> list[Question]:
    """Take one answer; return the question that is asked next, if it is known."""
    names = {str(name): name for name in asker.panel.classes}
    try:
        if said == "undo" and said not in names:
            asker.undo()  # the question on the screen
            if asker.answers:
                asker.undo()
            return []
        answer = None if said == "skip" else "none of mine" if said == "none" else names.get(said, said)
        asker.tell(question.item, question.expert, answer)
    except CovoteError as error:
        output.say(str(error))
        return [question]
    if asker.done[question.item]:
        output.say(f"item {question.item + 1} is {asker.possible(question.item)[0]}.")
    elif asker.stuck[question.item]:
        left = ", ".join(map(str, asker.possible(question.item)))
        output.say(f"item {question.item + 1} stays open between {left}.")
    return []
