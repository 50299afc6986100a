"""`covote ask`: replay answers to count those that would have been enough, or ask in the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from covote import atomic
from covote.asking import Asker, Question
from covote.cli import terminal
from covote.cli.parameters import Gold, Json, Report, reads_votes
from covote.errors import CovoteError, InputError
from covote.panel import Panel
from covote.tables import ReadOptions

if TYPE_CHECKING:
    from covote.asking.replay import Replay
    from covote.votes import Votes

_HELP = "a class, 'none' (none of mine), 'skip' (no answer), 'undo' or 'quit'"
_HEADS = ("item", "expert", "label")
_ITEMS = 10_000  # items that one saved state can hold


@reads_votes
def ask(
    answers: Annotated[
        Path | None,
        typer.Argument(
            help="The answers you have: .parquet, .csv, .tsv, .jsonl or .xlsx. Without them, you answer in "
            "the terminal."
        ),
    ] = None,
    panel_file: Annotated[
        str | None, typer.Option("--panel", help="Panel file, or 'all' if every expert knows every class.")
    ] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            help="A table of probabilities (items x classes), whose most probable class is one more "
            "expert's answer. May be given several times.",
        ),
    ] = None,
    gold: Gold = None,
    report: Report = None,
    next_: Annotated[
        int | None,
        typer.Option(
            "--next",
            help="Write this many questions to --output: the items and experts whose answers are worth most "
            "for their cost, spread evenly over the experts.",
        ),
    ] = None,
    output_file: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="With --next: the questions, .csv, .xlsx, .parquet or .jsonl."),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(help="In the terminal: keep all answers in this .npz file, and resume from it."),
    ] = None,
    *,
    reading: ReadOptions,
    as_json: Json = False,
) -> None:
    """Ask only as many experts as needed.

    List the next questions for the answers you have (--next), replay these answers, or answer one question
    after another in the terminal.
    """
    if panel_file is None:
        raise InputError(
            "asking needs to know who knows what: --panel panel.toml, or --panel all if everyone knows all"
        )
    from covote.files import VoteFile, read_gold
    from covote.files.decoding_files import check_report
    from covote.files.stored_probabilities import add_tables

    if answers is None:
        more = (models, gold, report, next_, output_file)
        if any(value is not None for value in more) or reading != ReadOptions() or as_json:
            raise InputError(
                "--model, --gold, --report, --next, --json and the reading options need a file of answers; "
                "name it"
            )
        _converse(Panel.load(panel_file), state)
        return
    if (next_ is None) != (output_file is None):
        raise InputError(
            "the next questions are written to a file: give both --next 200 and -o questions.csv"
        )
    check_report(report)
    read = [answers, panel_file, gold, reading.rename_file, *(models or ())]
    atomic.check_apart([report, output_file], read)
    if next_ is not None and (report is not None or as_json):
        raise InputError("--report and --json are for a replay; leave them out with --next")
    file = VoteFile(answers, panel_file, reading)
    votes = file.read()
    votes = add_tables(
        votes, Path(panel_file).resolve().parent, models or (), more_classes=panel_file == "all"
    )
    known = None if gold is None else read_gold(gold, votes.panel, reading)
    if next_ is not None and output_file is not None:
        long = file.columns.item, file.columns.expert, file.columns.label
        heads = [name for name in long if name is not None]
        stored = [path.stem for path in models or ()]
        _next(votes, known, stored, next_, output_file, heads if len(heads) == 3 else _HEADS)
    else:
        _replay(votes, answers.name, known, report, as_json)


def _next(votes: Votes, gold: Any, stored: list[str], count: int, place: Path, heads: Sequence[str]) -> None:
    from covote.decoding.gold import like_items
    from covote.tables.writing import output_format

    output_format(place, "table of questions")
    known = None if gold is None else like_items(gold, votes)
    asker = Asker.from_votes(votes, gold=known, partial=True, away=stored)  # a table has no more answers
    questions = asker.best(count)
    questions.save(place, heads)
    experts, each = np.unique(questions.expert, return_counts=True)
    if len(questions):
        load = str(each[0]) if each.min() == each.max() else f"{each.min()} to {each.max()}"
        terminal.say(
            f"{terminal.counted(len(questions), 'question')} to {terminal.counted(len(experts), 'expert')}, "
            f"{load} each. Fill in the column {heads[2]}, and add the rows to your answers."
        )
    else:
        terminal.say(
            "No further answer would help: no one is left to ask about the items that are still open."
        )
    terminal.say_written(place)


def _replay(votes: Votes, source: str, gold: Any, report: Path | None, as_json: bool) -> None:
    from covote.asking.replay import replay

    found = replay(votes, gold)
    if report is not None:
        from covote.files.report import write_replay

        write_replay(report, found, source)
    if as_json:
        terminal.say_json(found.to_dict())
        return
    terminal.say(_would_have_needed(found))
    if found.gold:
        everyone = next(iter(found.rules.values())).accuracy_all
        right = [f"{rule.accuracy:.1%} with those of {name}" for name, rule in found.rules.items()]
        terminal.say(f"Right on gold items: {everyone:.1%} with all answers, {', '.join(right)}.")
    terminal.say_written(report)


def _would_have_needed(found: Replay) -> str:
    rules = sorted(found.rules.items(), key=lambda rule: (-rule[1].agreement, rule[1].answers_per_item))
    needed = []
    for name, rule in rules:
        other = 1 - rule.agreement
        labels = "for the same labels" if other == 0 else f"with {share(other)} other labels"
        needed.append(f"{rule.answers_per_item:.1f} {labels} (rule {name})")
    return (
        f"You collected {found.everyone:.1f} answers per item, about {found.items:,} items. Asking one "
        f"expert at a time would have needed {', or '.join(needed)}."
    )


def share(part: float) -> str:
    """Return a small share, never as none if there is some.

    >>> share(0.25), share(0.034), share(0.0001)
    ('25%', '3.4%', 'less than 0.1%')
    """
    return "less than 0.1%" if part < 0.001 else f"{part:.1%}" if part < 0.0995 else f"{part:.0%}"


def _converse(panel: Panel, state: Path | None) -> None:
    version = None if state is None else _version(state)
    if state is not None and version is not None:
        asker = Asker.load(state)
        if asker.panel != panel:
            raise InputError(f"{state} belongs to another panel; give that one with --panel")
    else:
        asker = Asker(panel, _ITEMS)
    terminal.say(f"Answer with {_HELP}.")
    waiting = list(asker.waiting())
    while waiting or (waiting := list(asker.next(1))):
        text = _prompt(asker, waiting[0])
        if text == "quit":
            break
        waiting = _take_answer(asker, waiting[0], text)
        if state is not None:
            if _version(state) not in (None, version):
                raise InputError(
                    f"another program has written {state} meanwhile, so the last answer is not kept; "
                    "continue there, or end it and start again here"
                )
            asker.save(state)
            version = _version(state)


def _version(state: Path) -> tuple[int, int, int] | None:
    """Return what tells a state from the one that another process writes to its place; None if it is gone."""
    try:
        found = state.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _prompt(asker: Asker, question: Question) -> str:
    possible = asker.possible(question.item)
    shown = ", ".join(map(str, possible[:12])) + (" ..." if len(possible) > 12 else "")
    _, name = _place(asker, question)
    terminal.say(f"{name}: {len(possible)} classes are possible: {shown}")
    known = ", ".join(map(str, question.classes))
    try:
        prompt = terminal.visible(f"ask {question.expert}: which of {known}?")
        return str(typer.prompt(prompt, prompt_suffix=" ")).strip()
    except typer.Abort:
        return "quit"


def _take_answer(asker: Asker, question: Question, text: str) -> list[Question]:
    """Take one answer; return the question that is asked next, if it is known."""
    names = {str(name): name for name in asker.panel.classes}
    try:
        if text == "undo" and text not in names:
            asker.undo()  # the question on the screen
            if asker.answers:
                asker.undo()
            return []
        answer = None if text == "skip" else "none of mine" if text == "none" else names.get(text, text)
        asker.tell(question.item, question.expert, answer)
    except CovoteError as error:
        terminal.say(str(error))
        return [question]
    place, name = _place(asker, question)
    if asker.done[place]:
        terminal.say(f"{name} is {asker.possible(question.item)[0]}.")
    elif asker.stuck[place]:
        left = ", ".join(map(str, asker.possible(question.item)))
        terminal.say(f"{name} stays open between {left}.")
    return []


def _place(asker: Asker, question: Question) -> tuple[int, str]:
    """Return the position of the item of a question, and its name; numbered items count from 1."""
    place = asker.items.tolist().index(question.item)
    return place, f"item {place + 1 if question.item == place else terminal.visible(str(question.item))}"
