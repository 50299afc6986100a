"""`covote decode`: from a file of answers to a file of labels."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from covote import atomic
from covote.arguments import some_of
from covote.cli import labels_summary, terminal
from covote.cli.method import Method
from covote.cli.parameters import (
    WRITTEN,
    Columns,
    EngineName,
    Gold,
    Json,
    LabelsFile,
    Odds,
    Proba,
    Report,
    Review,
    ReviewUntil,
    Scheduler,
    StandardStreams,
    StreamFormat,
    VotesPanel,
    Workers,
    reads_votes,
)
from covote.errors import InputError
from covote.panel import Panel
from covote.tables import ReadOptions

WORDS = ("all", "infer")
"""Panels that the answers themselves give."""


@reads_votes
def decode(
    answers: Annotated[
        Path,
        typer.Argument(
            help="Answers: .parquet, .csv, .tsv, .jsonl or .xlsx, an export from another labelling tool "
            "(.json or a folder), or - for stdin; long (item, expert, label) or wide (item, one column per "
            "expert).",
        ),
    ],
    panel_file: VotesPanel = "all",
    output_file: LabelsFile = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--model",
            help="A table of probabilities (items x classes, as --proba and models write it), which is "
            "one more expert. May be given several times.",
        ),
    ] = None,
    method: Method = "learned",
    odds: Odds = None,
    gold: Gold = None,
    report: Report = None,
    title: Annotated[
        str | None,
        typer.Option(help="Title of the report (default: the name of the file).", rich_help_panel=WRITTEN),
    ] = None,
    review: Review = None,
    review_until: ReviewUntil = None,
    proba: Proba = None,
    columns: Columns = None,
    stats: Annotated[
        Path | None,
        typer.Option(
            "--save-stats",
            help="Save what was learned about the experts to this .json file.",
            rich_help_panel=WRITTEN,
        ),
    ] = None,
    past: Annotated[
        Path | None, typer.Option("--load-stats", help="Continue from statistics saved with --save-stats.")
    ] = None,
    kind: StreamFormat = "csv",
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    workers: Workers = None,
    as_json: Json = False,
    *,
    reading: ReadOptions,
) -> None:
    """Turn answers into labels, and report who must be wrong."""
    from covote.decoding import Statistics
    from covote.files import Output, decode_file

    started = time.monotonic()
    if engine == "dask":
        others = {"report": report, "review": review, "proba": proba, "columns": columns, "save-stats": stats,
                 "load-stats": past}  # fmt: skip
        _on_cluster(answers, panel_file, output_file, others, scheduler, workers, as_json,
                    method=method, gold=gold, reading=reading, odds=odds)  # fmt: skip
        return
    if scheduler is not None or workers is not None:
        raise InputError("--scheduler and --workers are for --engine dask; add it")
    streams = StandardStreams(answers, output_file, kind, as_json=as_json)
    panel_path = Path(panel_file) if panel_file not in WORDS else None
    # Statistics may be saved to the file they were loaded from: it is read first and written last.
    outputs = [streams.written, proba, report, review]
    atomic.check_apart([*outputs, stats], [answers, panel_path, gold, reading.rename_file, *(models or ())])
    atomic.check_apart(outputs, [past])
    options: dict[str, Any] = {} if past is None else {"past": Statistics.load(past)}
    if odds is not None:
        options["odds"] = odds
    names = None if columns is None else tuple(name.strip() for name in columns.split(","))
    with streams:
        chosen = Output(streams.labels, proba, review, review_until, report, title, stats, names)
        with terminal.progress_bar() as progress, terminal.warnings_as_lines():
            outcome = decode_file(
                streams.votes,
                chosen,
                panel_file,
                models=models or (),
                method=method,
                gold=gold,
                reading=reading,
                progress=progress,
                **options,
            )
    if as_json:
        terminal.say_json({**labels_summary.summary(outcome), "inferred_panel": panel_file == "infer"})
    elif not streams.to_stdout:
        labels_summary.tell(outcome, time.monotonic() - started, method, review)
        terminal.say_written(output_file, proba, stats, report, review)
        if not chosen.paths:
            terminal.say("Labels were not saved; add -o labels.csv to save them.")


def _on_cluster(
    votes: Path,
    panel_file: str,
    place: Path | None,
    others: dict[str, Any],
    scheduler: str | None,
    workers: int | None,
    as_json: bool,
    *,
    method: str,
    gold: Path | None,
    reading: ReadOptions,
    odds: float | None,
) -> None:
    """Label Parquet files that do not fit into one machine."""
    from covote.engines.dask import connected, decode
    from covote.files import read_gold

    refused = [f"--{name}" for name, value in others.items() if value is not None]
    if refused:
        raise InputError(f"--engine dask writes labels only; leave out {some_of(refused)}")
    if place is None or panel_file in WORDS:
        raise InputError("--engine dask needs a new folder for the labels (-o) and a panel file (--panel)")
    panel = Panel.load(panel_file)
    known = None if gold is None else read_gold(gold, panel, reading)
    options = {} if odds is None else {"odds": odds}
    with connected(scheduler, workers) as client:
        counts = decode(votes, panel, place, client, method=method, gold=known, reading=reading, **options)
    if as_json:
        terminal.say_json({"items": sum(counts.values()), **counts})
        return
    numbers = ", ".join(f"{count:,} {status}" for status, count in counts.items() if count)
    terminal.say(f"{terminal.counted(sum(counts.values()), 'item')}: {numbers}.")
    terminal.say_written(place)
