"""Pictures for reports: inline SVG that takes its colours from the page, in the light and in the dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

MOST = 60  # rows or columns of a matrix that can still be told apart


def _svg(width: float, height: float, parts: Sequence[str], label: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def _text(x: float, y: float, text: object, kind: str = "", anchor: str = "start", turn: bool = False) -> str:
    turned = f' transform="rotate(-60 {x:g} {y:g})"' if turn else ""
    return (
        f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}"{turned}>{escape(str(text))}</text>'
    )


def _bar(x: float, y: float, width: float, height: float, kind: str, title: str) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{max(width, 0):.2f}" height="{max(height, 0):.2f}" class="{kind}">'
        f"<title>{escape(title)}</title></rect>"
    )


def _short(name: object, most: int = 18) -> str:
    text = str(name)
    return text if len(text) <= most else text[: most - 1] + "…"


def histogram(counts: NDArray[np.int64], low: float, high: float, what: str) -> str:
    """Draw how many items fall into each of equal bins; the height of a bar is its share of the items."""
    width, height, left, bottom = 560.0, 200.0, 44.0, 26.0
    total, peak = max(int(counts.sum()), 1), max(int(counts.max(initial=0)), 1)
    step = (width - left) / len(counts)
    parts = []
    for share in (0.0, 0.5, 1.0):
        y = 10 + (height - bottom - 10) * (1 - share)
        parts.append(f'<line x1="{left:g}" x2="{width:g}" y1="{y:g}" y2="{y:g}" class="grid"/>')
        parts.append(_text(left - 6, y + 4, f"{100 * share * peak / total:.0f}%", "axis", "end"))
    for b, count in enumerate(counts.tolist()):
        tall = (height - bottom - 10) * count / peak
        # A bin that is not empty stays visible.
        tall = max(tall, 1.5) if count else 0.0
        edges = [low + (high - low) * e / len(counts) for e in (b, b + 1)]
        title = f"{what} {edges[0]:.2f} to {edges[1]:.2f}: {count:,} items"
        parts.append(_bar(left + b * step + 1, height - bottom - tall, step - 2, tall, "fill", title))
    for tick in np.linspace(low, high, 5):
        x = left + (width - left) * (tick - low) / (high - low)
        anchor = "start" if tick == low else "end" if tick == high else "middle"
        parts.append(_text(x, height - 8, f"{tick:g}", "axis", anchor))
    return _svg(width, height, parts, f"Histogram of {what}")


def shares(names: Sequence[str], counts: Sequence[int]) -> str:
    """Draw one bar that is divided in proportion to the counts."""
    width, total, x, parts = 1000.0, max(sum(counts), 1), 0.0, []
    for name, count in zip(names, counts, strict=True):
        wide = width * count / total
        if count:
            parts.append(_bar(x, 0, max(wide, 2), 14, f"status-{name}", f"{name}: {count:,}"))
        x += wide
    return _svg(width, 14, parts, "Items by status").replace(f'width="{width:g}" ', 'class="wide" ')


def whiskers(names: Sequence[object], rates: NDArray[np.float64], marked: Sequence[bool]) -> str:
    """Draw a share and its interval for each expert."""
    left, right, row = 150.0, 560.0, 22.0
    height = row * len(names) + 26
    parts = []
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = left + (right - left) * share
        parts.append(f'<line x1="{x:g}" x2="{x:g}" y1="4" y2="{height - 20:g}" class="grid"/>')
        parts.append(_text(x, height - 5, f"{share:.0%}", "axis", "middle"))
    for n, (name, (rate, low, high), doubtful) in enumerate(zip(names, rates.tolist(), marked, strict=True)):
        y = 16 + row * n
        kind = "doubt" if doubtful else "good"
        parts.append(_text(left - 10, y + 4, _short(name), "name", "end"))
        if rate != rate:
            parts.append(_text(left + 6, y + 4, "no answers inside its expertise", "axis"))
            continue
        a, b, x = (left + (right - left) * value for value in (low, high, rate))
        title = f"{name}: {rate:.2%} (99% interval {low:.2%} to {high:.2%})"
        parts.append(f'<line x1="{a:g}" x2="{b:g}" y1="{y:g}" y2="{y:g}" class="whisker {kind}"/>')
        parts.append(
            f'<circle cx="{x:g}" cy="{y:g}" r="4" class="dot {kind}"><title>{escape(title)}</title></circle>'
        )
    return _svg(right + 20, height, parts, "How often experts agree with the labels")


def matrix(rows: Sequence[object], columns: Sequence[object], knows: NDArray[np.bool_]) -> str:
    """Draw who knows what, at most 60 x 60 of it."""
    shown = knows[:MOST, :MOST]
    cell = 18.0 if max(shown.shape) <= 30 else 11.0
    left, top = 130.0, 20.0 + 6.2 * max((len(_short(name, 14)) for name in columns[:MOST]), default=1)
    parts = [
        _text(left + cell * (k + 0.7), top - 6, _short(columns[k], 14), "name", turn=True)
        for k in range(shown.shape[1])
    ]
    for i, row in enumerate(shown):
        y = top + cell * i
        parts.append(_text(left - 8, y + cell * 0.72, _short(rows[i], 16), "name", "end"))
        for k, known in enumerate(row):
            title = f"{rows[i]} {'knows' if known else 'does not know'} {columns[k]}"
            parts.append(_bar(left + cell * k, y, cell - 2, cell - 2, "known" if known else "unknown", title))
    return _svg(left + cell * shown.shape[1] + 60, top + cell * len(shown) + 4, parts, "Who knows what")


def heat(names: Sequence[object], agreement: NDArray[np.float64]) -> str:
    """Draw agreement per pair of classes: the fainter, the more the pair is confused."""
    size = min(len(names), MOST)
    cell = 22.0 if size <= 20 else 14.0 if size <= 40 else 10.0
    left, top = 130.0, 20.0 + 6.2 * max(len(_short(name, 14)) for name in names[:size])
    parts = [
        _text(left + cell * (k + 0.7), top - 6, _short(names[k], 14), "name", turn=True) for k in range(size)
    ]
    for k in range(size):
        y = top + cell * k
        parts.append(_text(left - 8, y + cell * 0.72, _short(names[k], 16), "name", "end"))
        for j in range(k):
            value = agreement[k, j]
            if value != value:
                parts.append(
                    _bar(
                        left + cell * j,
                        y,
                        cell - 2,
                        cell - 2,
                        "unknown",
                        f"{names[k]} or {names[j]}: no answers",
                    )
                )
                continue
            # Agreement below one half is as bad as it gets; most pairs live near 1.
            strength = 0.08 + 0.92 * max(0.0, 2 * (1 - value)) ** 0.5 if value < 1 else 0.0
            title = f"{names[k]} or {names[j]}: {value:.2%} of the answers of who knows both agree"
            parts.append(_bar(left + cell * j, y, cell - 2, cell - 2, "agreed", title))
            if strength:
                parts.append(
                    _bar(left + cell * j, y, cell - 2, cell - 2, "confused", title).replace(
                        "class=", f'opacity="{min(strength, 1):.2f}" class='
                    )
                )
    return _svg(left + cell * size + 60, top + cell * size + 4, parts, "Agreement per pair of classes")
