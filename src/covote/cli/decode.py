"""`covote decode`: from a file of votes to a file of labels."""

from __future__ import annotations

import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covote import atomic
from covote.cli import outcome as outcomes
from covote.cli import output
from covote.cli.arguments import (
    EngineName,
    Gold,
    Json,
    Method,
    Proba,
    Report,
    Review,
    Scheduler,
    StandardStreams,
    Workers,
    one_of,
    reads_votes,
)
from covote.errors import InputError
from covote.panel import Name, Panel
from covote.tables import Reading
from covote.tables.words import folded

if TYPE_CHECKING:
    from covote.files import Outcome

WORDS = ("all", "infer")
"""Panels that the votes themselves give."""


@reads_votes
def decode(
    votes: Annotated[
        Path,
        typer.Argument(
            help="Votes: .parquet, .csv, .tsv, .jsonl or .xlsx, or - for stdin; long (item, expert, label) "
            "or wide (item, one column per expert)."
        ),
    ],
    panel_file: Annotated[
        str,
        typer.Option(
            "--panel",
            help="Who knows what: a file; all: everybody knows everything; infer: what each ever answered.",
        ),
    ] = "all",
    output_file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the labels to this .parquet, .csv, .jsonl or .xlsx file, or - for stdout.",
        ),
    ] = None,
    method: Method = "learned",
    gold: Gold = None,
    report: Report = None,
    review: Review = None,
    proba: Proba = None,
    stats: Annotated[
        Path | None, typer.Option(help="Save what was learned about the experts to this .json file.")
    ] = None,
    past: Annotated[
        Path | None, typer.Option("--continue", help="Go on from statistics saved before.")
    ] = None,
    kind: Annotated[
        str,
        typer.Option(
            "--format",
            help="What - is: csv, tsv, jsonl or parquet; for stdin and stdout.",
            autocompletion=one_of("csv", "tsv", "jsonl", "parquet"),
        ),
    ] = "csv",
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    workers: Workers = None,
    as_json: Json = False,
    *,
    reading: Reading,
) -> None:
    """Turn answers into labels, and report who must be wrong."""
    from covote.files import decode_file, read_gold
    from covote.files.report.report import LOOKS, REVIEW, check_review, write_report, write_review

    started = time.monotonic()
    if str(output_file) == "-" and as_json:
        raise InputError("--json prints to stdout, too; write the labels to a file with -o labels.csv")
    outcomes.check_report(report)
    if review is not None:
        check_review(review)
    for path in (output_file, stats, proba):
        if path is not None and str(path) != "-":
            atomic.check_place(path)
    given = Path(panel_file) if panel_file not in WORDS else None
    # What is learned may go back to where it came from: it is read before, and written at the end.
    written = None if str(output_file) == "-" else output_file
    atomic.check_apart([written, proba, stats, report, review], [votes, given, gold, reading.rename_file])
    atomic.check_apart([written, proba, report, review], [past])
    options: dict[str, Any] = {}
    if past is not None:
        options["past"] = _statistics(past)
    with StandardStreams(votes, output_file, kind) as streams:
        panel = _panel(streams.votes, panel_file, reading)
        known: dict[str, Any] = {} if gold is None else {"gold": read_gold(gold, panel, reading)}
        if stats is not None:
            _check_stats(stats, "learned" if method == "auto" else method, options, known.get("gold"))
        where = _cluster(engine, scheduler, workers)
        with where as cluster, output.progress_bar() as progress, output.warnings_as_lines():
            outcome = decode_file(
                streams.votes,
                streams.labels,
                panel,
                method=method,
                reading=reading,
                proba=proba,
                looks=REVIEW if review is not None else LOOKS if report is not None else 0,
                progress=progress,
                engine=cluster,
                **options,
                **known,
            )
    if given is None:
        outcome = replace(outcome, notes=(_assumed(panel, panel_file), *outcome.notes))
    if stats is not None:
        _save(stats, outcome, method)
    if report is not None:
        write_report(report, outcome, source=votes.name, method=outcome.method, notes=outcomes.notes(outcome))
    if review is not None:
        write_review(review, outcome)
    if as_json:
        output.say_json({**outcomes.summary(outcome), "inferred_panel": panel_file == "infer"})
    elif not streams.to_stdout:
        outcomes.tell(outcome, time.monotonic() - started, method)
        output.say_written(output_file, proba, stats, report, review)
        if not any((output_file, proba, stats, report, review)):
            output.say("Nothing was written; -o labels.parquet keeps the labels.")


def _panel(votes: Path, panel: str, reading: Reading) -> Panel:
    """Return the panel of a file, or the one that the votes themselves give."""
    from covote.files import inferred_panel, open_panel

    if panel in WORDS:
        return (open_panel if panel == "all" else inferred_panel)(votes, reading)
    return Panel.load(panel)


def _assumed(panel: Panel, word: str) -> str:
    """Say what was taken for granted without a panel."""
    who = f"{output.counted(len(panel), 'expert')}, {output.counted(len(panel.classes), 'class')}"
    first: dict[str, Name] = {}
    for name in (*panel.names, *panel.classes):
        other = first.setdefault(folded(str(name)), name)
        if other != name:
            who += f", though {other!r} and {name!r} differ only in case, blanks or accents: see --rename"
            break
    if word == "all":
        return (
            f"every expert is taken to know every class ({who}), as no panel says otherwise; --panel infer "
            "takes each to know what it ever answered"
        )
    return f"every expert is taken to know exactly the labels it gave in this file ({who})"


def _cluster(engine: str, scheduler: str | None, workers: int | None) -> Any:
    """Return the engine to decode with, for a ``with`` block; None if this process will do."""
    if engine == "local" and scheduler is None and workers is None:
        return nullcontext()
    from covote.engines import make_engine

    return make_engine(engine, scheduler=scheduler, workers=workers)


def _statistics(path: Path) -> Any:
    from covote.decoding.statistics import Statistics

    return Statistics.load(path)


def _check_stats(path: Path, method: str, options: dict[str, Any], gold: Any) -> None:
    """Refuse statistics that will not be there, before any work is done."""
    from covote.decoding import make
    from covote.decoding.statistics import statistics_format

    statistics_format(path)
    if make(method, options, gold).rounds == 0:
        raise _no_statistics(method)


def _save(path: Path, outcome: Outcome, method: str) -> None:
    if outcome.statistics is None:
        raise _no_statistics(method)
    outcome.statistics.save(path)


def _no_statistics(method: str) -> InputError:
    return InputError(
        f"method {method!r} learns nothing from the votes with these options, so there are no statistics to "
        "save; leave out --stats, or choose another --method"
    )
