"""`covote multilabel`: panels and answers for items that have several labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covote import atomic
from covote.cli import problems_summary, terminal
from covote.cli.parameters import (
    AnswersToCheck,
    Json,
    LabelsFile,
    OtherPanel,
    PanelFile,
    StandardStreams,
    StreamFormat,
    integer,
    reads_votes,
)
from covote.errors import CovoteError
from covote.panel import Panel
from covote.tables import ReadOptions

if TYPE_CHECKING:
    from covote.multilabel import SetsOutcome
    from covote.multilabel.support import Report
    from covote.votes.problems import TableProblems

_LOOKED = 4  # numbers of labels that `check` tries by default

Full = Annotated[bool, typer.Option("--full", help="Experts name all labels they know, not one of them.")]
Count = Annotated[int | None, typer.Option(parser=integer, help="Largest number of labels of an item.")]
PanelOption = Annotated[Path, typer.Option("--panel", help="Panel file: who knows what.")]


@reads_votes
def check(
    panel_file: PanelFile,
    answers: AnswersToCheck = None,
    other_panel: OtherPanel = None,
    count: Count = None,
    *,
    reading: ReadOptions,
    as_json: Json = False,
) -> None:
    """Check which ways of answering a panel supports, or a file of answers for mistakes."""
    if other_panel is not None:  # check ANSWERS --panel PANEL
        panel_file, answers = other_panel, panel_file
    if answers is not None:
        _check_answers(answers, panel_file, reading, as_json)
        return
    panel = Panel.load(panel_file)
    rows = [_support(panel, report, count) for report in ("all", "one")]
    if as_json:
        terminal.say_json({"experts": len(panel), "classes": len(panel.classes), "support": rows})
    else:
        _say_support(rows, count)
    if not any(row["any_number"] or row["supported"] for row in rows):
        raise typer.Exit(1)


@reads_votes
def decode(
    answers: Annotated[
        Path,
        typer.Argument(
            help="Answers: .parquet, .csv, .tsv, .jsonl or .xlsx, or - for stdin; long or wide. A cell holds "
            "one class, or several between semicolons.",
        ),
    ],
    panel_file: PanelOption,
    output_file: LabelsFile = None,
    count: Count = None,
    full: Full = False,
    kind: StreamFormat = "csv",
    as_json: Json = False,
    *,
    reading: ReadOptions,
) -> None:
    """Find the labels of every item that are certain, and whether they are all of them."""
    from covote.multilabel import decode_file

    streams = StandardStreams(answers, output_file, kind, as_json=as_json)
    atomic.check_apart([streams.written], [answers, panel_file, reading.rename_file])
    panel = Panel.load(panel_file)
    with streams, terminal.warnings_as_lines():
        found = decode_file(
            streams.votes,
            streams.labels,
            panel,
            report="all" if full else "one",
            count=count,
            reading=reading,
        )
    if as_json:
        terminal.say_json(
            {
                "items": found.items,
                "answers": found.answers,
                "complete": found.complete,
                "conflict": found.conflict,
                "labels_per_item": list(found.sizes),
                "classes": {str(name): items for name, items in found.classes.items()},
                "notes": list(found.notes),
            }
        )
    elif not streams.to_stdout:
        _say_decoded(found)
        terminal.say_written(output_file)
        if output_file is None:
            terminal.say("Nothing was written; -o labels.parquet keeps the labels.")


multilabel = (check, decode)


def _say_decoded(found: SetsOutcome) -> None:
    labels = sum(size * items for size, items in enumerate(found.sizes))
    terminal.say(
        f"{terminal.counted(found.items, 'item')}, {terminal.counted(found.answers, 'answer')}: "
        f"{labels / max(1, found.items):.3g} labels per item."
    )
    partial = found.items - found.complete - found.conflict
    terminal.say(f"  complete  {found.complete:>10,}  if no expert is wrong, no other labels are possible")
    terminal.say(f"  partial   {partial:>10,}  these labels are certain; there may be more")
    terminal.say(f"  conflict  {found.conflict:>10,}  an expert is wrong: no label set fits the answers")
    terminal.say_notes(found.notes)


def _check_answers(answers: Path, panel_file: Path, reading: ReadOptions, as_json: bool) -> None:
    """Print everything that is wrong with a file of answers; exit status 2 if something is."""
    from covote.multilabel.report_files import read_reports

    panel = Panel.load(panel_file)
    found: TableProblems | None = None
    error, shape, notes = "", "", list[str]()
    with StandardStreams(answers) as streams:
        try:
            file = read_reports(streams.votes, panel, reading)
            found, shape, notes = file.found, file.shape, [*file.notes]
        except CovoteError as refusal:
            error = str(refusal)
    problems = problems_summary.tell(answers, found, error, shape, notes, as_json)
    if problems and not as_json:
        problems_summary.tell_remedy(found)
    if problems:
        raise typer.Exit(2)


def _support(panel: Panel, report: Report, count: int | None) -> dict[str, Any]:
    """Return up to how many labels the panel supports for a way of answering, and what fails beyond."""
    from covote.multilabel import supports

    row: dict[str, Any] = {"report": report, "any_number": False, "supported": None}
    looked = report == "one" and count is None
    for size in range(1, min(len(panel.classes), _LOOKED) + 1) if looked else (count,):
        found = supports(panel, size, report=report)
        if not found:
            return row | {"fails_at": size, "ambiguous": [list(found.first), list(found.second)]}
        row |= {"any_number": True} if report == "all" else {"supported": size}
    return row


def _say_support(rows: list[dict[str, Any]], count: int | None) -> None:
    terminal.say("Perfect answers determine the labels of an item if experts")
    for row in rows:
        who = f"name {'all labels' if row['report'] == 'all' else 'one label'} they know"
        if row["any_number"]:
            what = "any number of labels" if count is None else f"up to {terminal.counted(count, 'label')}"
        elif row["supported"] is None:
            what = "not supported"
        else:
            what = f"up to {terminal.counted(row['supported'], 'label')}"
        more = " (more were not tried)" if row["supported"] and "ambiguous" not in row and not count else ""
        terminal.say(f'  {who}, or "none of mine": {what}{more}.')
        if "ambiguous" in row:
            first, second = (" + ".join(map(str, some)) for some in row["ambiguous"])
            at = "" if row["fails_at"] is None or row["report"] == "all" else f"With {row['fails_at']}, "
            terminal.say(f"    {at}{first} and {second} can get the same answers.")
