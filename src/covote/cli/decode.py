"""`covote decode`: from a file of votes to a file of labels."""

from __future__ import annotations

import time
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from covote import atomic
from covote.cli import outcome as outcomes
from covote.cli import output
from covote.cli.arguments import EngineName, Gold, Json, Method, Report, Scheduler, Ties, Workers
from covote.errors import InputError
from covote.panel import Panel

if TYPE_CHECKING:
    from covote.files import Outcome


def decode(
    votes: Annotated[
        Path,
        typer.Argument(
            help="Votes: .parquet, .csv or .jsonl; long (item, expert, label) or wide (item, one column per "
            "expert).",
            show_default=False,
        ),
    ],
    panel_file: Annotated[
        Path | None,
        typer.Option(
            "--panel", help="Who knows what; without it, what each expert ever answered.", show_default=False
        ),
    ] = None,
    output_file: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", help="Write the labels to this .parquet or .csv file.", show_default=False
        ),
    ] = None,
    method: Method = "authority",
    ties: Ties = None,
    gold: Gold = None,
    report: Report = None,
    review: Annotated[
        Path | None,
        typer.Option(
            help="Write items worth a second look to this .csv file; filled in, it is a file for --gold.",
            show_default=False,
        ),
    ] = None,
    proba: Annotated[
        Path | None,
        typer.Option(
            help="Write how likely every class is to this .parquet or .csv file, one column per class.",
            show_default=False,
        ),
    ] = None,
    stats: Annotated[
        Path | None,
        typer.Option(help="Save what was learned about the experts to this .json file.", show_default=False),
    ] = None,
    past: Annotated[
        Path | None,
        typer.Option("--continue", help="Go on from statistics saved before.", show_default=False),
    ] = None,
    unknown: Annotated[
        str, typer.Option(help="Answers that an expert cannot give: error or drop.")
    ] = "error",
    duplicates: Annotated[
        str, typer.Option(help="Two different answers of one expert to one item: error, first or last.")
    ] = "error",
    none: Annotated[str, typer.Option(help='The label that means "none of mine".')] = "none of mine",
    item: Annotated[
        str | None, typer.Option(help="The column of items; else item or task.", show_default=False)
    ] = None,
    expert: Annotated[
        str | None, typer.Option(help="The column of experts; else expert or worker.", show_default=False)
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column of labels.", show_default=False)] = None,
    engine: EngineName = "local",
    scheduler: Scheduler = None,
    workers: Workers = None,
    as_json: Json = False,
) -> None:
    """Say the class of every item from the votes of the experts, and where somebody must have been wrong."""
    from covote.files import decode_file, inferred_panel, read_gold
    from covote.files.report.report import LOOKS, REVIEW, check_review, write_report, write_review

    started = time.monotonic()
    outcomes.check_report(report)
    if review is not None:
        check_review(review)
    for path in (output_file, stats, proba):
        if path is not None:
            atomic.check_place(path)
    # What is learned may go back to where it came from: it is read before, and written at the end.
    atomic.check_apart([output_file, proba, stats, report], [votes, panel_file, gold])
    atomic.check_apart([output_file, proba, report], [past])
    options: dict[str, Any] = {} if ties is None else {"ties": ties}
    read: dict[str, Any] = {"none": none, "item": item, "expert": expert, "label": label}
    panel = Panel.load(panel_file) if panel_file is not None else inferred_panel(votes, **read)
    if past is not None:
        options["past"] = _statistics(past)
    known: dict[str, Any] = {} if gold is None else {"gold": read_gold(gold, panel)}
    if stats is not None:
        _check_stats(stats, "authority" if method == "auto" else method, options, known.get("gold"))
    where = _cluster(engine, scheduler, workers)
    with where as cluster, output.progress_bar() as progress, output.warnings_as_lines():
        outcome = decode_file(
            votes,
            output_file,
            panel,
            method=method,
            unknown=cast(Any, unknown),  # checked there
            duplicates=cast(Any, duplicates),
            **read,
            proba=proba,
            looks=REVIEW if review is not None else LOOKS if report is not None else 0,
            progress=progress,
            engine=cluster,
            **options,
            **known,
        )
    inferred = panel_file is None
    if stats is not None:
        _save(stats, outcome, method)
    if report is not None:
        write_report(report, outcome, source=votes.name, method=outcome.method, inferred=inferred)
    if review is not None:
        write_review(review, outcome)
    if as_json:
        output.say_json({**outcomes.summary(outcome), "inferred_panel": inferred})
        return
    if method == "auto":
        output.say(f"Decoded by {outcome.method}{', the best on the gold items' if gold else ''}.")
    outcomes.tell(outcome, time.monotonic() - started, inferred=inferred)
    output.say_written(output_file, proba, stats, report, review)
    if not any((output_file, proba, stats, report, review)):
        output.say("Nothing was written; -o labels.parquet keeps the labels.")


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
