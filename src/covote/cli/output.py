"""What the commands print: panels, proofs, progress, JSON, pictures."""

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
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.bounds import worst_case_accuracy
from covote.errors import InputError
from covote.panel import Panel
from covote.panel.panel_files import format_of
from covote.panel.pictures import text_matrix
from covote.progress import Progress

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PATIENCE = 1.0  # seconds of work before a progress bar appears
MANY = 2000  # classes beyond which a command does not count all pairs just to print a number
_MOST_CLASSES = 150  # classes up to which the worst case is computed
PICTURES = (".png", ".svg", ".pdf")
_SURVIVES = "A panel designed with --redundancy 2 survives the loss of any one expert."


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


def panel_dict(panel: Panel) -> dict[str, Any]:
    """Return a panel and its certificate, for JSON."""
    proof = panel.certificate
    certificate = None if proof is None else {**asdict(proof), "optimal": proof.optimal, "gap": proof.gap}
    return {**panel.to_dict(), "covers": panel.redundancy, "certificate": certificate}


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
    from covote.files.report.charts import own_settings

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


def show_matrix(panel: Panel) -> None:
    """Print who knows what, if it is small enough to read."""
    experts, classes = panel.knows.shape
    if experts and classes <= 60:
        say()
        width = min(100, shutil.get_terminal_size((100, 40)).columns - 2)
        say("\n".join(f"  {line}".rstrip() for line in text_matrix(panel, width=width).splitlines()))
        say()


def say_covered(panel: Panel) -> None:
    """Print how many classes the experts know, and which pairs they cover."""
    experts, classes = panel.knows.shape
    if not experts:
        say(f"No experts yet for {counted(classes, 'class')}.")
        return
    one = experts == 1
    who = f"{counted(experts, 'expert')} who {'knows' if one else 'each know'} {_span(panel.sizes)} of"
    who += f" {counted(classes, 'class')}"
    times = panel.redundancy
    pairs = classes * (classes - 1) // 2
    if times == 0:
        missing = panel.count_uncovered()
        which = "the only pair" if pairs == 1 else f"{missing:,} of the {pairs:,} pairs"
        say(
            f"{counted(experts, 'expert')}, {counted(classes, 'class')}: for {which} of classes no expert "
            "knows both."
        )
    else:
        what = "the only pair" if pairs == 1 else f"all {pairs:,} pairs"
        often = {1: "", 2: ", each twice"}.get(times, f", each {times} times")
        often = often.replace(", each", "") if pairs == 1 else often
        say(f"{who} {'covers' if one else 'cover'} {what}{often}.")


def _span(values: NDArray[np.int64]) -> str:
    """Return "4", or "3 to 5"."""
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


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


def say_fewest(panel: Panel, what: str = "experts") -> None:
    """Print how few could suffice; how this was proved is in the JSON and in the certificate."""
    proof = panel.certificate
    if proof is None:
        return
    few = f"Fewer than {proof.lower:g} {what} cannot suffice"
    say(f"{few}." if proof.optimal else f"{few}; perhaps {proof.size:g} are not needed.")


def say_redundancy(panel: Panel) -> None:
    """Print how many experts know each class, and the effect of an outage or a wrong answer."""
    experts, classes = panel.knows.shape
    if classes < 2 or not experts:
        return
    degrees = panel.knows.sum(axis=0)
    wrong = panel.correctable()
    text = f"Each class is known by {_span(degrees)} expert{'' if degrees.max() == 1 else 's'}. "
    if panel.redundancy == 0:
        text += "Items of these pairs can get the wrong label although no one made a mistake."
    elif panel.redundancy == 1 and classes > MANY:
        text += f"Losing an expert may leave pairs uncovered. {_SURVIVES}"
    elif panel.redundancy == 1:
        critical = panel.survives().critical
        lost = critical[0][1]
        worst = [repr(name) for name, pairs in critical if pairs == lost]
        if len(worst) <= 3:
            who = " or ".join(worst)
        else:
            who = (
                "any one expert" if len(worst) == experts else f"any of {len(worst)} of the {experts} experts"
            )
        text += f"Losing {who} leaves {counted(lost, 'pair')} uncovered. {_SURVIVES}"
    elif wrong == 0:
        wrong = panel.detectable()
        text += (
            f"{_lost(panel)} can be lost, and {counted(wrong, 'wrong answer')} per item "
            f"{'is' if wrong == 1 else 'are'} noticed."
        )
    else:
        text += (
            f"{_lost(panel)} can be lost, and --method authority repairs up to "
            f"{counted(wrong, 'wrong answer')} per item."
        )
    say(text)


def _lost(panel: Panel) -> str:
    """Return how many experts can be lost without losing a pair."""
    return "Any one expert" if panel.redundancy == 2 else f"Any {panel.redundancy - 1} experts"


def worst_case(panel: Panel) -> float | None:
    """Return the accuracy that the panel guarantees; None where finding it would take long."""
    return worst_case_accuracy(panel) if len(panel.classes) <= _MOST_CLASSES else None


def rounded_down(share: float) -> str:
    """Return a share that is promised, in whole percent.

    >>> rounded_down(2 / 3), rounded_down(0.7 - 1e-12)
    ('66%', '70%')
    """
    return f"{int(100 * share + 1e-6)}%"


def say_worst_case(panel: Panel) -> None:
    """Print what a panel that leaves pairs uncovered guarantees."""
    share = worst_case(panel)
    if share is not None and share < 1 - 1e-9:
        say(
            f"In the worst case {rounded_down(share)} of the items still get the right label (all classes "
            "equally frequent, experts right about what they know)."
        )


def save_panel(panel: Panel, file: Path | None, picture: Path | None, *, quiet: bool, new: int = 0) -> None:
    """Write the panel and its picture where asked, and say so; the last `new` experts are marked in it."""
    if file is not None:
        panel.save(file)
    if picture is not None:
        draw(lambda: panel.plot(new=new), picture)
    if not quiet:
        say_written(file, picture)


def say_written(*paths: Path | None) -> None:
    """Print which files were written."""
    for path in paths:
        if path is not None:
            say(f"Wrote {path}.")
