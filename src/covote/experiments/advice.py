"""Which size R and which decoder to choose: what the measured sections say, in words."""

from __future__ import annotations

from collections.abc import Iterable
from math import isnan

from .accuracy import DEFAULT, PAPER, PLAIN
from .context import SIZES
from .result import Section

NEAR = 0.5
"""Points of accuracy within which sizes count as equally good."""


def advice(sections: Iterable[Section]) -> tuple[str, ...]:
    """Return sentences for the top of the page, from the sections that there are."""
    by_name = {section.name: section for section in sections}
    said: list[str] = []
    for name, images in (("mnist", "MNIST"), ("cifar10", "CIFAR-10")):
        if name in by_name:
            said.append(_size(by_name[name], images))
    if "missing" in by_name:
        said += _missing(by_name["missing"])
    if "random" in by_name:
        said.append(_random(by_name["random"]))
    if any(section.surrogate for section in by_name.values()):
        said.append(
            "Where a section is marked **surrogate**, other models than the paper's networks voted: compare "
            "differences between columns and decoders, not the accuracies themselves."
        )
    return tuple(said) or ("None of the tables that this rests on was run.",)


def _row(section: Section, grid: int, name: str) -> list[float]:
    """Return the numbers of a row of a grid, by its name; NaN where there is none."""
    cells = dict(section.grids[grid].rows)[name]
    return [float("nan") if cell.ours is None else cell.ours for cell in cells]


def _size(section: Section, images: str) -> str:
    """Say which sizes are as good as the best, and which of them needs the fewest experts."""
    found = dict(zip((*SIZES, 10), _row(section, 0, f"test, {DEFAULT}"), strict=True))
    best = max((found[size] for size in SIZES if not isnan(found[size])), default=float("nan"))
    good = [size for size in SIZES if found[size] >= best - NEAR]
    if not good:
        return f"**Size, {images}**: too few experts are trained yet."
    return (
        f"**Size, {images}**: within {NEAR} points of the best cover are R = {', '.join(map(str, good))}; "
        f"the largest of them, R = {good[-1]}, needs the fewest experts ({found[good[-1]]:.1f}%; one model "
        f"of all classes: {found[10]:.1f}%)."
    )


def _missing(section: Section) -> list[str]:
    """Say what the decoders lose when experts are missing."""
    rows = {
        method: [_row(section, grid, f"test, {method}") for grid in (0, 1)]
        for method in (PAPER, PLAIN, DEFAULT)
    }
    gain = min(rows[DEFAULT][1][n] - rows[PAPER][1][n] for n in (1, 2))
    plain = [rows[PLAIN][1][n] - rows[PAPER][1][n] for n in (1, 2)]
    return [
        f"**Decoder**: give the experts' probabilities to covote's default (`authority`). On whole covers it "
        f"is as good as the paper's vote; with two experts missing it is at least {gain:.1f} points better "
        "for R = 4 and 6. " + _plain(plain),
        "**If experts may fail**: the paper's vote loses least with small experts (R = 2), at the price of "
        "many of them; with probabilities any size will do.",
    ]


def _plain(gains: list[float]) -> str:
    if min(gains) > 0:
        return f"On votes alone it gains {min(gains):.1f} to {max(gains):.1f} points."
    return f"On votes alone the difference is {min(gains):+.1f} to {max(gains):+.1f} points."


def _random(section: Section) -> str:
    """Say how random panels do beside covers."""
    gaps = []
    for grid in range(len(section.grids)):
        *_, last, cover = _row(section, grid, f"test, {DEFAULT}")
        gaps.append(last - cover)
    return (
        "**If nobody can choose who knows what**: three random experts more than the greedy cover has are "
        f"{min(gaps):+.1f} to {max(gaps):+.1f} points beside it, with probabilities."
    )
