"""`covote start`: from one workbook to labels, a review list and a report."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from covote import atomic
from covote.cli import labels_summary, terminal


def start(
    workbook: Annotated[
        Path,
        typer.Argument(
            help="An Excel workbook: one sheet says who knows what (ticks), another has the answers "
            "(a row for each item, a column for each expert)."
        ),
    ],
    folder: Annotated[
        Path | None,
        typer.Option("-o", "--output", help="Folder for labels, review list and report (default: its name)."),
    ] = None,
) -> None:
    """From an Excel workbook to labels and a report."""
    from covote.files import Output, decode_file, read_gold
    from covote.files.workbook import read_workbook

    started = time.monotonic()
    study = read_workbook(workbook)
    folder = folder or workbook.with_name(f"{workbook.stem}-labels")
    atomic.make_folder(folder, "--output")
    labels, review, report = (folder / name for name in ("labels.xlsx", "review.xlsx", "report.html"))
    atomic.check_apart([labels, review, report], [workbook])
    terminal.say(f"{workbook}:")
    for note in study.notes:
        terminal.say(f"  {note}")
    gold = {} if study.gold is None else read_gold(study.gold, study.panel, study.reading)
    filled_in = read_gold(review, study.panel, required=False) if review.exists() else {}
    if more := filled_in.keys() - gold.keys():
        terminal.say(f"  {review}: {terminal.counted(len(more), 'item')} filled in")
    known = {**filled_in, **gold}
    terminal.say()
    chosen = Output(labels, review=review, report=report)
    with terminal.progress_bar() as progress, terminal.warnings_as_lines():
        outcome = decode_file(
            study.answers, chosen, study.panel, gold=known or None, reading=study.reading, progress=progress
        )
    labels_summary.tell(outcome, time.monotonic() - started, "learned", review)
    terminal.say_written(labels, review, report)
    terminal.say(
        f"Next: open {report}. Fill in the column label of {review} for the first items, save it, and run "
        "this again: your labels count as known."
    )
