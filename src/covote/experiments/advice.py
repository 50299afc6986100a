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
            said += [_size(by_name[name], images), _decoder(by_name[name], images)]
    if "missing" in by_name:
        said.append(_missing(by_name["missing"]))
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
    if any(isnan(found[size]) for size in SIZES):
        return f"**Size, {images}**: too few experts are trained yet."
    return (
        f"**Size, {images}**: within {NEAR} points of the best cover are R = {', '.join(map(str, good))}; "
        f"the largest of them, R = {good[-1]}, needs the fewest experts ({found[good[-1]]:.1f}%; one model "
        f"of all classes: {found[10]:.1f}%)."
    )


def _decoder(section: Section, images: str) -> str:
    """Say how covote's default compares with the paper's vote on whole covers."""
    ours, theirs = (_row(section, 0, f"test, {method}")[: len(SIZES)] for method in (DEFAULT, PAPER))
    gaps = [one - other for one, other in zip(ours, theirs, strict=True) if not isnan(one - other)]
    if not gaps:
        return f"**Decoder, {images}**: too few experts are trained yet."
    return (
        f"**Decoder, {images}, nobody missing**: covote's default (`authority`) with probabilities "
        f"is {min(gaps):+.2f} to {max(gaps):+.2f} points beside the paper's vote."
    )


def _missing(section: Section) -> str:
    """Say what covote's default gains over the paper's vote when two experts are missing."""
    found = []
    for method in (DEFAULT, PLAIN):
        rows = zip(_row(section, 1, f"test, {method}"), _row(section, 1, f"test, {PAPER}"), strict=True)
        gains = {size: one - other for size, (one, other) in zip(SIZES, rows, strict=True)}
        found.append(", ".join(f"R = {size}: {g:+.1f}" for size, g in gains.items() if not isnan(g)))
    return (
        f"**Decoder, two experts missing**: points that covote's default gains over the paper's vote, with "
        f"probabilities: {found[0]}; on votes alone: {found[1]}."
    )


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
