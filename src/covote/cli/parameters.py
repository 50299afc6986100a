"""Shared by the commands: how arguments are parsed, and the options that several commands have."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from covote.arguments import no_file
from covote.errors import CovoteError, FileError, InputError
from covote.panel import Name, Panel
from covote.panel.panel_files import is_panel_file
from covote.tables import ReadOptions

_REPEATED = re.compile(r"(?:(\d{1,9})x)?(\d{1,1000})")


def read_model(text: str) -> Any:
    """Read a model as a panel file has it: text, or a table with options.

    >>> read_model('{use = "chat:http://localhost:8080/v1", name = "small"}')["name"]
    'small'
    """
    if not text.lstrip().startswith("{"):
        return text
    try:
        return tomllib.loads(f"model = {text}")["model"]
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"cannot parse the model {text} ({error}); write it as in a panel file, for example "
            '{use = "chat:http://localhost:8080/v1", name = "small"}'
        ) from error


def read_classes(text: str) -> int | list[Name]:
    """Read a number of classes, a text file with one class per line, or the classes of a panel file.

    The lines are strings, unless every one of them is an integer.

    >>> read_classes("10")
    10
    """
    if re.fullmatch(r"-?\d{1,1000}", text):
        return int(text)
    if is_panel_file(text):
        return list(Panel.load(text).classes)
    try:
        lines = Path(text).read_text(encoding="utf-8-sig").splitlines()
    except FileNotFoundError as error:
        raise FileError(
            f"{no_file(text)}; give a number of classes, a file with one class per line, or a panel file"
        ) from error
    except OSError as error:
        raise FileError(f"cannot read {text}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise FileError(f"{text} is not a text file in UTF-8 (byte {error.start})") from error
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise InputError(f"{text} has no classes; write one class per line")
    if all(re.fullmatch(r"-?(0|[1-9]\d{0,999})", name) for name in names):
        return [int(name) for name in names]
    return list(names)


def read_size(text: str) -> int | list[int]:
    """Read one size for all experts, or a list of capacities.

    >>> read_size("4"), read_size("3x4,2x6")
    (4, [4, 4, 4, 6, 6])
    """
    if re.fullmatch(r"-?\d{1,1000}", text):
        return int(text)
    sizes: list[int] = []
    for part in text.split(","):
        match = _REPEATED.fullmatch(part.strip())
        if not match:
            raise InputError(
                f"cannot parse size {text!r}; write one size (4), a list (4,4,6), or counts (3x4,2x6)"
            )
        sizes += [int(match[2])] * int(match[1] or 1)
    return sizes


def integer(text: str | int) -> int:
    """Read a whole number; unlike typer's own error, ours quotes the text."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a whole number") from None


def seed(text: str | int) -> int:
    """Read a seed."""
    value = integer(text)
    if value < 0:
        raise typer.BadParameter(f"the seed must be 0 or a positive integer, not {value}")
    return value


def number(text: str | float) -> float:
    """Read a number."""
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not a number; write it as 0.05") from None


class StandardStreams:
    """Temporary files in place of stdin and stdout, which can be read and written only once.

    In a ``with`` block, `votes` is a file with the content of stdin if ``-`` was given, and `labels` one that
    is copied to stdout when the block succeeds. `written` is the file of labels that was given, if any.
    """

    def __init__(
        self, votes: Path, labels: Path | None = None, kind: str = "csv", *, as_json: bool = False
    ) -> None:
        self.to_stdout = str(labels) == "-"
        if self.to_stdout and as_json:
            raise InputError("--json prints to stdout, too; write the labels to a file with -o labels.csv")
        self.votes, self.labels, self._kind = votes, labels, kind
        self.written = None if self.to_stdout else labels
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> StandardStreams:
        if str(self.votes) == "-" or self.to_stdout:
            self._folder = tempfile.TemporaryDirectory(prefix="covote-")
            folder = Path(self._folder.name)
            if self.to_stdout:
                self.labels = folder / f"stdout.{'csv' if self._kind == 'tsv' else self._kind}"
            if str(self.votes) == "-":
                self.votes = folder / f"stdin.{self._kind}"
                with self.votes.open("wb") as file:
                    shutil.copyfileobj(sys.stdin.buffer, file)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._folder is None:
            return
        with self._folder:
            if error is None and self.to_stdout and self.labels is not None:
                sys.stdout.flush()
                with self.labels.open("rb") as file:
                    shutil.copyfileobj(file, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            if isinstance(error, CovoteError):
                # Users do not know that folder.
                raise type(error)(str(error).replace(f"{self._folder.name}{os.sep}", "")) from error


def one_of(*values: str) -> Callable[[str], list[str]]:
    """Return a shell completion for these values.

    >>> one_of("fast", "normal", "max")("ma")
    ['max']
    """

    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


def choice(*values: str) -> dict[str, Any]:
    """Return the settings of an option with these values; help shows and the shell completes them.

    >>> choice("fast", "normal", "max")["metavar"]
    '[fast|normal|max]'
    """

    def read(text: str) -> str:
        if text not in values:
            raise typer.BadParameter(f"{text!r} is not one of {', '.join(values)}")
        return text

    return {"metavar": f"[{'|'.join(values)}]", "parser": read, "autocompletion": one_of(*values)}


def reads_votes(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each field of :class:`ReadOptions`, not its parameter `reading`."""
    return _reads(command, _reading_options("How the answers are read"))


def reads_gold(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command that reads no votes the options that matter for a table of gold items."""
    matter = {f"{_PREFIX}{name}" for name in ("item", "label", "blank", "match", "rename")}
    return _reads(
        command,
        [parameter for parameter in _reading_options("How --gold is read") if parameter.name in matter],
    )


def _reads(command: Callable[..., None], added: list[inspect.Parameter]) -> Callable[..., None]:
    signature = inspect.signature(command, eval_str=True)

    @wraps(command)
    def with_options(*args: Any, **kwargs: Any) -> None:
        values = {parameter.name.removeprefix(_PREFIX): kwargs.pop(parameter.name) for parameter in added}
        values["blank"] = tuple(values["blank"] or ())
        command(*args, reading=ReadOptions(**values), **kwargs)

    own = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in signature.parameters.items()
        if name != "reading"
    ]
    last = [parameter for parameter in own if parameter.name == "as_json"]
    parameters = [*(parameter for parameter in own if parameter not in last), *added, *last]
    with_options.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_options


_PREFIX = "reading_"  # of the parameters that stand for the fields of a reading


def _reading_options(group: str) -> list[inspect.Parameter]:
    """Return a parameter for each field of a reading, with its help and its choices."""
    choices, words, found = ReadOptions.choices(), ReadOptions.help(), []
    for name, default in ReadOptions().__dict__.items():
        option = typer.Option(
            f"--{name.replace('_', '-')}",
            help=words[name],
            metavar=f"[{'|'.join(choices[name])}]" if name in choices else None,
            rich_help_panel=group,
            autocompletion=one_of(*choices[name]) if name in choices else None,
        )
        kind: Any = {"blank": list[str] | None, "rename": Path | None}.get(name, str | None)
        found.append(
            inspect.Parameter(
                f"{_PREFIX}{name}",
                inspect.Parameter.KEYWORD_ONLY,
                default=default or None,
                annotation=Annotated[kind, option],
            )
        )
    return found


CLUSTER, WRITTEN = "Cluster", "What else is written"  # groups of options in the help
PanelFile = Annotated[Path, typer.Argument(help="A panel file: .toml, .json, .csv, .tsv or .xlsx.")]
AnswersToCheck = Annotated[
    Path | None, typer.Argument(help="Answers to check: .parquet, .csv, .tsv, .jsonl or .xlsx.")
]
OtherPanel = Annotated[Path | None, typer.Option("--panel", hidden=True)]  # as other commands have it
Size = Annotated[str, typer.Argument(help="Classes per expert: 4, or capacities: 4,4,6 or 3x4,2x6.")]
Classes = Annotated[int, typer.Argument(parser=integer, help="Number of classes (K).")]
OneSize = Annotated[int, typer.Argument(parser=integer, help="Classes that one expert knows (R).")]
Redundancy = Annotated[
    int, typer.Option(parser=integer, help="Minimum number of experts who know each pair of classes.")
]
Effort = Annotated[str, typer.Option(help="How long to search.", **choice("fast", "normal", "max"))]
Seed = Annotated[int, typer.Option(parser=seed, help="Same seed, same result.")]
Output = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="Write the panel to this .toml, .json, .csv or .xlsx file."),
]
LabelsFile = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        help="Write the labels to this .parquet, .csv, .jsonl or .xlsx file, or - for stdout.",
    ),
]
StreamFormat = Annotated[
    str,
    typer.Option(
        "--format",
        help="Format of stdin and stdout (with -).",
        **choice("csv", "tsv", "jsonl", "parquet"),
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine", help="Where the work is done.", rich_help_panel=CLUSTER, **choice("local", "dask")
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        help="With --engine dask: address of a running scheduler, tcp://host:8786 (default: start local "
        "processes).",
        rich_help_panel=CLUSTER,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        parser=integer,
        help="With --engine dask: how many local processes to start (default: one per core).",
        rich_help_panel=CLUSTER,
    ),
]
Plot = Annotated[Path | None, typer.Option(help="Draw the panel to this .png, .svg or .pdf file.")]
Odds = Annotated[
    float | None,
    typer.Option(
        help="How clear a tie must be before it is decided: 1 decides every tie, 4 only clear ones (method "
        "learned)."
    ),
]
Gold = Annotated[
    Path | None, typer.Option(help="Gold items: a table of items whose class you know (item, label).")
]
VotesFile = Annotated[
    Path,
    typer.Argument(
        help="Answers: .parquet, .csv, .tsv, .jsonl or .xlsx, long or wide; or another tool's export.",
    ),
]
VotesPanel = Annotated[
    str,
    typer.Option(
        "--panel",
        help="Panel file, 'all' (every expert knows every class) or 'infer' (each expert knows the "
        "labels they used).",
    ),
]
Report = Annotated[
    Path | None,
    typer.Option(help="Write a report with charts to this .html file.", rich_help_panel=WRITTEN),
]
Review = Annotated[
    Path | None,
    typer.Option(
        help="Write all items, the label most likely to be wrong first, to this .csv or .xlsx file; fill in "
        "the labels and pass it to --gold.",
        rich_help_panel=WRITTEN,
    ),
]
ReviewUntil = Annotated[
    float | None,
    typer.Option(
        parser=number,
        help="End the review list where this share of the labels should be right: 0.99.",
        rich_help_panel=WRITTEN,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Columns to write, for example item,label; 'all' adds margin and violations.",
        rich_help_panel=WRITTEN,
    ),
]
Proba = Annotated[
    Path | None,
    typer.Option(
        help="Write class probabilities to this .parquet or .csv file, one column per class.",
        rich_help_panel=WRITTEN,
    ),
]
