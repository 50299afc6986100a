"""`covote convert`: votes, labels and panels in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covote import atomic
from covote.cli import terminal
from covote.cli.parameters import choice, reads_votes
from covote.panel import Panel
from covote.tables import ReadOptions

_SHOWN = 4  # files that are named


@reads_votes
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            help="Answers in any format (also exports of Label Studio, Argilla, doccano, Prodigy, "
            "Mechanical Turk, Ground Truth, Hugging Face), labels, or a panel."
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            help="A table (.csv, .parquet, .jsonl, .xlsx), tasks with predictions for Label Studio (.json), "
            "a panel (.toml), or a folder (any other name)."
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="The tool to write for (default: chosen by the ending of TARGET).",
            **choice("table", "crowd-kit", "label-studio", "hugging-face", "argilla", "doccano", "prodigy"),
        ),
    ] = None,
    panel_file: Annotated[
        Path | None, typer.Option("--panel", help="Who knows what (default: everyone knows every class).")
    ] = None,
    items: Annotated[
        Path | None,
        typer.Option(help="A table with what people see of the items: texts, addresses of pictures."),
    ] = None,
    shown: Annotated[
        str, typer.Option(help="The field that labelling configurations show: item, text, image, audio.")
    ] = "item",
    *,
    reading: ReadOptions,
) -> None:
    """Convert answers, labels and panels for other tools.

    A panel and a folder give one Label Studio configuration per expert, which offers only that expert's
    classes.
    """
    from covote.files.converting import convert as convert_file

    atomic.check_apart([target], [source, panel_file, items, reading.rename_file])
    panel = None if panel_file is None else Panel.load(panel_file)
    with terminal.warnings_as_lines():
        files = convert_file(
            source,
            target,
            to,  # type: ignore[arg-type]
            panel=panel,
            items=items,
            shown=shown,
            reading=reading,
            note=lambda sentence: terminal.say(f"Note: {sentence}."),
        )
    terminal.say_written(*files[:_SHOWN])
    if len(files) > _SHOWN:
        terminal.say(f"... and {terminal.counted(len(files) - _SHOWN, 'more file')}.")
