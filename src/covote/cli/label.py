"""`covote label`: from data and a panel of models to a file of labels."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from covote import atomic
from covote.arguments import some_of
from covote.cli import labels_summary, run_summary, terminal
from covote.cli.method import Method
from covote.cli.parameters import (
    Gold,
    Json,
    Odds,
    Proba,
    Report,
    Review,
    ReviewUntil,
    choice,
    integer,
    number,
    reads_gold,
)
from covote.errors import ExpertError, InputError
from covote.tables import ReadOptions

if TYPE_CHECKING:
    from covote.labelling import Labelling


BATCHES = "Batch services of language models"


@reads_gold
def label(
    data: Annotated[
        Path,
        typer.Argument(
            help="What to label: a table (.parquet, .csv, .tsv, .jsonl), a .npy array, a folder of images."
        ),
    ],
    panel_file: Annotated[
        Path, typer.Option("--panel", help="Who knows what, with a model for every expert.")
    ],
    output_file: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Write the labels to this .parquet or .csv file (default: a .labels.csv next to DATA); the "
            "answers are kept next to it in an .sqlite file, which other commands read as answers.",
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            "--id", help="The column that names the items; else item, task or id, else their positions."
        ),
    ] = None,
    columns: Annotated[
        str | None, typer.Option(help="The columns that experts see, as a,b,c; else all others.")
    ] = None,
    size: Annotated[
        str | None, typer.Option("--image-size", help="Resize images, for example 224x224.")
    ] = None,
    batch: Annotated[int, typer.Option(parser=integer, help="Items per batch.")] = 1024,
    ask: Annotated[
        str,
        typer.Option(
            help="Which experts to ask: everyone; doubtful: by cost, each only about items on which cheaper "
            "ones do not agree.",
            **(choice("everyone", "doubtful") | {"metavar": "HOW"}),
        ),
    ] = "everyone",
    budget: Annotated[
        float | None,
        typer.Option(
            parser=number,
            help="What the calls of language models with prices may cost, kept ones included.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show the first prompts and estimate tokens and cost; ask and write nothing."
        ),
    ] = False,
    requests: Annotated[
        Path | None,
        typer.Option(
            "--write-requests",
            help="Ask no model, and write what language models have to answer to this .jsonl file, for a "
            "batch service that speaks OpenAI's format.",
            rich_help_panel=BATCHES,
        ),
    ] = None,
    responses: Annotated[
        Path | None,
        typer.Option(
            "--read-responses",
            help="Take the answers of language models from the file that the batch service returned.",
            rich_help_panel=BATCHES,
        ),
    ] = None,
    strict: Annotated[
        bool,
        typer.Option(
            "--strict/--no-strict",
            help="Stop, or continue, if an expert has no usable answer to its first batch, after every "
            "expert was asked about one.",
            rich_help_panel="Failures",
        ),
    ] = True,
    refresh: Annotated[
        bool, typer.Option("--refresh", help="Ask experts again whose data or model has changed.")
    ] = False,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust",
            help="Let models run code that the panel names: Python modules, pickles, torch programs.",
        ),
    ] = False,
    method: Method = "learned",
    odds: Odds = None,
    gold: Gold = None,
    report: Report = None,
    review: Review = None,
    review_until: ReviewUntil = None,
    proba: Proba = None,
    as_json: Json = False,
    *,
    reading: ReadOptions,
) -> None:
    """Label with models: ask them about every item of a dataset.

    To resume an interrupted run, start the same command again. The exit status is 3 if an expert was lost: it
    gave no usable answer, or failed three times in a row. If no expert answered at all, nothing is written.
    """
    from covote.files import Output, read_gold
    from covote.files.decoding_files import check_report
    from covote.files.report import write_report
    from covote.labelling import Asking, DataPlace, label_file, request_file
    from covote.models.entries import running_code
    from covote.models.expert import folder_of, panel_of_models

    started = time.monotonic()
    if output_file is None:
        output_file = data.with_name(f"{data.stem}.labels.csv")
    check_report(report)
    atomic.check_apart([output_file, report, review, proba], [data, panel_file, gold, reading.rename_file])
    chosen_columns = None if columns is None else tuple(name.strip() for name in columns.split(","))
    panel, folder = panel_of_models(panel_file), folder_of(panel_file)
    code_models = sorted(set(running_code(panel.models)))
    if code_models and trust and not as_json:
        terminal.say(f"Trusted to run code: {some_of(code_models)}.")
    place = DataPlace(data, id, chosen_columns, _size(size))
    if dry_run:
        from covote.labelling.previewing import preview

        run_summary.show_estimate(preview(place, panel, folder, trust))
        return
    asking = Asking(ask, budget, batch, strict, refresh, folder, responses)
    if requests is not None:
        atomic.check_apart([requests], [data, panel_file, responses])
        request_counts = request_file(place, output_file, panel, requests, asking=asking, trust=trust)
        experts = terminal.counted(request_counts.experts, "expert")
        terminal.say(
            f"Wrote {requests}: {request_counts.requests:,} requests to {experts}. "
            "Give the file to the batch service, then add --read-responses FILE to this command in its place."
        )
        return
    options: dict[str, Any] = {} if odds is None else {"odds": odds}
    if gold is not None:
        options["gold"] = read_gold(gold, panel, reading)
    with terminal.progress_bar(each=True) as bar, terminal.warnings_as_lines():
        found = _going_on(
            label_file,
            place,
            Output(output_file, proba, review, review_until),
            panel,
            asking=asking,
            trust=trust,
            method=method,
            progress=lambda name, done, total: bar(done, total, str(name)),
            **options,
        )
    notes = run_summary.failure_notes(found)
    if report is not None:
        write_report(report, found.outcome, source=data.name, notes=notes)
    if as_json:
        terminal.say_json(run_summary.summary(found, ask))
        _end(found)
        return
    for note in notes:
        terminal.complain(f"Warning: {note}")
    if found.by_position:
        terminal.say(
            f"Note: {data.name} has no column item, task or id, so the items are called 0, 1, 2, ... in its "
            "order, which must not change; name the column with --id."
        )
    run_summary.tell(found, ask)
    labels_summary.tell(found.outcome, time.monotonic() - started, method, review)
    terminal.say_written(output_file, proba, report, review)
    terminal.say(f"The answers are kept in {found.answers}: run again, and no expert is asked twice.")
    _end(found)


def _end(found: Labelling) -> None:
    """End with status 3 if an expert was lost: labels were written, but not by the whole panel."""
    if any(run.lost for run in found.experts):
        raise typer.Exit(3)


def _going_on(run: Callable[..., Labelling], *arguments: Any, **options: Any) -> Labelling:
    """Say how to continue an interrupted run; end with status 3 if every expert was lost."""
    try:
        return run(*arguments, **options)
    except ExpertError as error:
        terminal.complain(f"covote: {error}")
        raise typer.Exit(3) from error
    except KeyboardInterrupt:
        terminal.complain("The answers so far are kept; run the same command to continue.")
        raise


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    match = re.fullmatch(r"([1-9][0-9]{0,4})x([1-9][0-9]{0,4})", text)
    if not match:
        raise InputError(f"cannot parse --image-size {text!r}; write width x height, as 224x224")
    return int(match[1]), int(match[2])
