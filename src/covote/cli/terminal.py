"""What commands print, whatever it is about: lines, tables, JSON, progress, pictures, names of files."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np

from covote import atomic
from covote.errors import InputError
from covote.panel.panel_files import format_of
from covote.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PATIENCE = 1.0  # seconds of work before a progress bar appears
PICTURES = (".png", ".svg", ".pdf")


# Names come from files; they must not control the terminal or reverse the direction of a line.
_TURNING = (*range(0x2028, 0x202F), *range(0x2066, 0x206A))
_STEERING = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
_STEERING |= {code: f"\\u{code:04x}" for code in _TURNING}
_IN_JSON = {code: f"\\u{code:04x}" for code in (*range(127, 160), *_TURNING)}  # those that JSON lets through


def visible(text: str) -> str:
    """Return a text in which characters that steer a terminal are written out.

    >>> visible("\x1b[2Jskin")
    '\\\\x1b[2Jskin'
    """
    return text.translate(_STEERING)


def say(text: str = "") -> None:
    """Print text for a person."""
    print(_fitted(visible(text), sys.stdout))


def complain(text: str) -> None:
    """Print one line to stderr."""
    print(_fitted(visible(text).replace("\n", "\\n"), sys.stderr), file=sys.stderr)


def _fitted(text: str, stream: TextIO) -> str:
    """Wrap lines between words on a terminal, which would break them anywhere.

    A command to be copied stays on one line.
    """
    if not stream.isatty():
        return text
    wide = shutil.get_terminal_size().columns
    return "\n".join(
        line
        if len(line) <= wide or line.startswith("Next: ")
        else textwrap.fill(line, wide, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    )


def say_table(heads: Sequence[str], rows: Iterable[Sequence[str]], align: str, indent: str = "") -> None:
    """Print a table; `align` has a "<" or ">" for every column."""
    lines = [heads, *rows]
    widths = [max(len(line[n]) for line in lines) for n in range(len(heads))]
    for line in lines:
        cells = [f"{cell:{side}{wide}}" for cell, side, wide in zip(line, align, widths, strict=True)]
        say(f"{indent}{'  '.join(cells)}".rstrip())


def say_json(data: Any) -> None:
    """Print data as JSON."""
    # JSON can escape characters that the output encoding lacks.
    plain = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    print(json.dumps(data, ensure_ascii=plain, indent=1, default=_plain).translate(_IN_JSON))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


@contextmanager
def progress_bar(*, each: bool = False) -> Iterator[Progress]:
    """Yield a progress callback that draws a bar once the work has taken a second, on a terminal only.

    With `each`, every message has its own bar until it is done.
    """
    started = time.monotonic()
    bars: list[Any] = []  # the display, once there is one
    tasks: dict[str, Any] = {}

    turn = threading.Lock()  # servers are asked by several threads

    def display() -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as RichProgress

        columns = (BarColumn(), TextColumn("{task.percentage:3.0f}%"), TimeElapsedColumn())
        words = TextColumn("{task.description}", markup=False)
        return RichProgress(*columns, words, console=Console(stderr=True), transient=True)

    def report(done: int, total: int, message: str) -> None:
        if not sys.stderr.isatty() or time.monotonic() - started < PATIENCE:
            return
        with turn:
            if not bars:
                bars.append(display())
                bars[0].start()
            name, text = (message if each else ""), visible(message)
            if name not in tasks:
                tasks[name] = bars[0].add_task(text, total=total)
            shown = not each or done < total
            bars[0].update(tasks[name], completed=done, total=total, description=text, visible=shown)

    try:
        yield report
    finally:
        if bars:
            bars[0].stop()


@contextmanager
def warnings_as_lines() -> Iterator[None]:
    """Print a method's warnings as plain lines."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught if warning.category is UserWarning):
        complain(f"Warning: {text}")


def check_places(
    *pictures: Path | None, panel: Path | None = None, read: Sequence[str | Path | None] = ()
) -> None:
    """Reject outputs that cannot be written, or that are also inputs, before any work is done."""
    if panel is not None:
        format_of(panel)
        atomic.check_place(panel)
    for path in pictures:
        if path is not None:
            if path.suffix.lower() not in PICTURES:
                raise InputError(f"{path}: a picture ends in .png, .svg or .pdf, not in {path.suffix!r}")
            atomic.check_place(path)
    atomic.check_apart([panel, *pictures], read)


def draw(plot: Callable[[], Axes | Figure], path: Path) -> None:
    """Draw what `plot` returns to a picture file, completely or not at all."""
    kind = path.suffix.lower().removeprefix(".")
    from covote.files.charts import own_settings

    with own_settings(), warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", "Glyph .* missing", UserWarning)
        figure = plot().get_figure()
        if figure is None:
            return
        with atomic.replacing(path) as temporary:
            figure.savefig(temporary, dpi=150, format=kind)  # type: ignore[union-attr]
    if any("Glyph" in str(warning.message) for warning in caught) and kind != "svg":
        complain(
            f"Warning: {path} shows boxes for characters that matplotlib's font lacks; use .svg instead."
        )


def counted(number: int, noun: str) -> str:
    """Return "1 expert", "2 experts", "3 classes".

    >>> counted(1, "pair"), counted(3000, "class")
    ('1 pair', '3,000 classes')
    """
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith('s') else 's'}"


def first_of(texts: Iterable[object], most: int, total: int | None = None) -> str:
    """Return the first few of some texts, and how many more there are (of `total`, if these are not all).

    >>> first_of("abcde", 3), first_of("ab", 3), first_of("ab", 2, total=2000)
    ('a, b, c and 2 more', 'a, b', 'a, b and 1,998 more')
    """
    listed = [str(text) for text in texts]
    left = (len(listed) if total is None else total) - most
    return ", ".join(listed[:most]) + (f" and {left:,} more" if left > 0 else "")


def say_notes(notes: Sequence[str], problems: Sequence[str] = ()) -> None:
    """Print how a file was read, and what is wrong with it."""
    for note in notes:
        say(f"Note: {note}.")
    for problem in problems:
        say(f"Problem: {problem}.")


def say_written(*paths: Path | None) -> None:
    """Print which files were written."""
    for path in paths:
        if path is not None:
            say(f"Wrote {path}.")
