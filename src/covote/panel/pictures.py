"""Display of a panel: one line, a matrix of characters, a table in a notebook, a picture."""

from __future__ import annotations

import unicodedata
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from covote.colours import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from covote.panel import Panel

_LEGEND = 12  # the most lines of the legend
_MOST_CHECKED = 4_000_000  # cells of `knows` up to which a repr checks all pairs


def summary(panel: Panel) -> str:
    """Return one line: the numbers of experts and classes, the sizes, and the coverage."""
    experts, classes = panel.knows.shape
    sizes = panel.sizes
    gone, panel = int(panel.left.sum()), panel.present
    parts = [f"{experts} expert{'s' * (experts != 1)}", f"{classes} class{'es' * (classes != 1)}"]
    parts[0] += f" ({gone} of them {'has' if gone == 1 else 'have'} left)" if gone else ""
    if experts:
        low, high = int(sizes.min()), int(sizes.max())
        parts.append(f"size {low}" if low == high else f"sizes {low} to {high}")
    if panel.knows.size <= _MOST_CHECKED:
        times = panel.redundancy
        if classes == 1 or times == 1:
            parts.append("covers every pair")
        elif times > 1:
            parts.append(f"covers every pair {times} times")
        else:
            missing = panel.count_uncovered()
            parts.append(f"{missing} pair{'s' * (missing != 1)} uncovered")
    return ", ".join(parts)


def text_matrix(panel: Panel, *, width: int = 100, height: int = 40) -> str:
    """Return the matrix of who knows what as characters, cut to `width` columns and `height` rows.

    If the names of the classes are too long, the columns have numbers, and a legend follows.

    >>> from covote import Panel
    >>> print(text_matrix(Panel(["a", "b", "c"], [[1, 1, 0], [0, 1, 1]])))
              a b c
    expert-1  ■ ■ ·
    expert-2  · ■ ■
    >>> print(text_matrix(Panel(["Pica pica", "Corvus corax"], [[1, 1], [0, 1]]), width=30))
              0 1
    expert-1  ■ ■
    expert-2  · ■
    <BLANKLINE>
    0 Pica pica, 1 Corvus corax
    """
    names = [str(name) for name in panel.names[:height]]
    margin = max(map(_columns, names), default=0)
    labels = [str(name) for name in panel.classes]
    cell = max(map(_columns, labels))
    legend: list[str] = []
    if (cell + 1) * len(labels) > width - margin:
        # The class names are long: number the columns instead, by their place in panel.classes.
        if any(str(k) != label for k, label in enumerate(labels)):
            legend = ["", *_legend(labels, width)]
        labels = [str(k) for k in range(len(labels))]
        cell = len(labels[-1])
    shown = max(1, min(len(labels), (width - margin - 2) // (cell + 1)))
    dots = " …" if shown < len(labels) else ""
    head = "".join(" " * (cell + 1 - _columns(label)) + label for label in labels[:shown])
    lines = [" " * margin + " " + head + dots]
    for name, row in zip(names, panel.knows, strict=False):
        marks = "".join(f" {'■' if known else '·':>{cell}}" for known in row[:shown])
        lines.append(f"{name}{' ' * (margin - _columns(name))} {marks}{dots}")
    if len(panel.names) > height:
        lines.append(f"… and {len(panel.names) - height} more experts")
    return "\n".join(lines + legend)


def _legend(labels: list[str], width: int) -> list[str]:
    """Return the lines of the legend, which name the class of each number."""
    hard = "\N{NO-BREAK SPACE}"  # lines break between classes only
    text = ", ".join(f"{k} {label}".replace(" ", hard) for k, label in enumerate(labels))
    lines = wrap(text, width, break_on_hyphens=False, max_lines=_LEGEND, placeholder=" …")
    return [line.replace(hard, " ") for line in lines]


def _columns(text: str) -> int:
    """Return the width of a text in a terminal: Chinese takes two columns, a combining accent none.

    >>> _columns("skin"), _columns("皮膚"), _columns("e\u0301")
    (4, 4, 1)
    """
    return sum(
        0 if unicodedata.combining(mark) else 1 + (unicodedata.east_asian_width(mark) in "WF")
        for mark in text
    )


def html(panel: Panel, *, width: int = 40, height: int = 40) -> str:
    """Return the matrix as an HTML table for notebooks."""
    dot = "width:1em;height:1em;padding:0;border:1px solid #fff;background:"
    head = "".join(
        f'<th style="writing-mode:vertical-rl;padding:2px">{escape(str(name))}</th>'
        for name in panel.classes[:width]
    )
    rows = []
    for name, row in zip(panel.names[:height], panel.knows, strict=False):
        cells = "".join(
            f'<td style="{dot}{LIGHT["main"] if known else LIGHT["faint"]}"></td>' for known in row[:width]
        )
        rows.append(
            f'<tr><th style="text-align:right;white-space:nowrap">{escape(str(name))}</th>{cells}</tr>'
        )
    cut = []
    if len(panel.classes) > width:
        cut.append(f"{len(panel.classes) - width} more classes")
    if len(panel.names) > height:
        cut.append(f"{len(panel.names) - height} more experts")
    note = f"<p>… and {' and '.join(cut)}</p>" if cut else ""
    return (
        f'<div style="overflow-x:auto"><p><b>Panel</b>: {escape(summary(panel))}</p>'
        f'<table style="border-collapse:collapse"><tr><th></th>{head}</tr>{"".join(rows)}</table>{note}</div>'
    )


def plot(panel: Panel, ax: Axes | None = None, new: int = 0) -> Axes:
    """Draw the matrix with matplotlib and return the axes; the last `new` experts are marked."""
    from matplotlib.colors import ListedColormap

    if ax is None:
        # A new Figure instead of pyplot's: no global state, no window, nothing to close.
        from matplotlib.figure import Figure

        experts, classes = panel.knows.shape
        wide = max(2 + 0.3 * classes, 0.11 * len(summary(panel)))  # the title needs room as well
        size = (min(16.0, wide), min(16.0, 1.2 + 0.3 * max(1, experts)))
        ax = Figure(figsize=size, layout="constrained").add_subplot()
    experts, classes = panel.knows.shape
    shade = panel.knows.astype(np.int8)
    shade[experts - new :] *= 2
    ax.imshow(
        shade,
        cmap=ListedColormap([LIGHT["faint"], LIGHT["main"], LIGHT["second"]]),
        vmin=0,
        vmax=2,
        aspect="auto",
        interpolation="none",
    )
    if classes <= 60:
        turn = 90 if max(len(str(name)) for name in panel.classes) > 2 else 0
        # A name is not a formula, even if it has two dollar signs.
        columns = [str(name) for name in panel.classes]
        ax.set_xticks(np.arange(classes), columns, rotation=turn, parse_math=False)
        ax.set_xticks(np.arange(classes - 1) + 0.5, minor=True)
    if 0 < experts <= 60:
        ax.set_yticks(np.arange(experts), [str(name) for name in panel.names], parse_math=False)
        ax.set_yticks(np.arange(experts - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="both", length=0)
    ax.set_xlabel("classes")
    ax.set_ylabel("experts")
    ax.set_title(f"{summary(panel)}\n{new} new: red" if new else summary(panel))
    return ax
