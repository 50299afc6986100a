"""The results of a run as a page of Markdown with its pictures, and JSON for programs."""

from __future__ import annotations

import datetime
import json
import platform
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from covote import __version__, atomic
from paper.sections import Cell, Grid, Section

PROFILES = {
    "quick": "Two cores, minutes: closed-form experts and small networks stand in for the paper's networks.",
    "paper": "Two cores, hours: on MNIST the paper's own network and epochs, on CIFAR-10 a smaller "
    "network at its level of accuracy. Every expert is trained from scratch on its own classes only, all "
    "for the same number of epochs.",
}


@dataclass(frozen=True)
class Report:
    """The results of a run: its sections, what could not run and why, the time, and the files written.

    `fresh` names the sections of this run; the others were kept from earlier ones. `training_seconds` is the
    CPU time that training took, in this run or the runs that it continued.
    """

    profile: str
    sections: tuple[Section, ...]
    fresh: tuple[str, ...]
    left_out: dict[str, str]
    seconds: float
    cpu_seconds: float
    training_seconds: float
    files: tuple[Path, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the pictures, for programs."""
        return {
            "profile": self.profile,
            "seconds": round(self.seconds, 1),
            "cpu_seconds": round(self.cpu_seconds, 1),
            "training_cpu_seconds": round(self.training_seconds, 1),
            "sections": [section.as_dict() for section in self.sections],
            "left_out": self.left_out,
            "files": [str(path) for path in self.files],
        }


def write_pages(report: Report, out: Path) -> Report:
    """Write the page, its pictures and the JSON; return the report with the files."""
    folder = out / f"{report.profile}-pictures"
    drawn = {p.name: p.svg for section in report.sections for p in section.pictures}
    if drawn:
        atomic.make_folder(folder, "--output")
    for name, text in drawn.items():
        atomic.write_text(folder / f"{name}.svg", text)
    markdown, data = (out / f"{report.profile}.{ending}" for ending in ("md", "json"))
    atomic.write_text(markdown, markdown_page(report, folder.name))
    complete = replace(report, files=(markdown, data))
    atomic.write_text(data, json.dumps(complete.as_dict(), indent=1, ensure_ascii=False) + "\n")
    return complete


def about(report: Report) -> dict[str, str]:
    """Describe how the numbers were made."""
    return {
        "profile": f"{report.profile}. {PROFILES[report.profile]}",
        "made with": f"covote {__version__}, Python {platform.python_version()}, {datetime.date.today()}",
        "time": f"this run took {minutes(report.seconds)} ({minutes(report.cpu_seconds)} of CPU time); "
        f"training took {minutes(report.training_seconds)} of CPU time, now or in earlier runs",
    }


def minutes(seconds: float) -> str:
    """Return a time in words.

    >>> minutes(75.2), minutes(8)
    ('1 min 15 s', '8 s')
    """
    whole = round(seconds)
    return f"{whole // 60} min {whole % 60} s" if whole >= 60 else f"{whole} s"


def number(value: float | None, spread: float | None, digits: int) -> str:
    """Write a number with its spread."""
    if value is None:
        return "–"
    return f"{value:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")


def cell_text(cell: Cell, digits: int) -> str:
    """Write a cell: ours, and the paper's in brackets where there is one.

    >>> cell_text(Cell(98.931, 99.03), 2)
    '98.93 (99.03)'
    """
    if cell.text:
        return cell.text
    ours = number(cell.ours, cell.spread, digits)
    if cell.paper is None:
        return ours
    return f"{ours} ({number(cell.paper, cell.paper_spread, digits)})"


def markdown_page(report: Report, pictures: str) -> str:
    """Return the page as Markdown; pictures are files in a folder next to it."""
    lines = [f"# Reproduction of the paper's experiments: profile {report.profile}", ""]
    lines += [f"- {name}: {text}" for name, text in about(report).items()]
    lines += ["", "Numbers in brackets are the paper's.", ""]
    for section in report.sections:
        lines += _markdown_section(section, pictures)
    if report.left_out:
        lines += ["## Not run", ""]
        lines += [f"- `{name}`: {reason}" for name, reason in report.left_out.items()]
        lines.append("")
    return "\n".join(lines)


def _markdown_section(section: Section, pictures: str) -> list[str]:
    lines = [f"## {section.title}", ""]
    if section.models:
        mark = " **Surrogate models**, not the paper's." if section.surrogate else ""
        lines += [f"Experts: {section.models}.{mark}", ""]
    lines += [f"- {sentence}" for sentence in section.findings]
    lines.append("")
    for grid in section.grids:
        lines += _markdown_grid(grid)
    for picture in section.pictures:
        lines += [f"![{picture.caption}]({pictures}/{picture.name}.svg)", ""]
    if section.differences:
        lines += ["What differs from the paper:", ""]
        lines += [f"- {sentence}" for sentence in section.differences]
    if section.seconds:
        lines += ["", f"Training: {minutes(section.seconds)} of CPU time."]
    return [*lines, ""]


def _markdown_grid(grid: Grid) -> list[str]:
    lines = [f"**{grid.title}**", "", f"| | {' | '.join(grid.columns)} |"]
    lines.append("|---" * (1 + len(grid.columns)) + "|")
    for name, cells in grid.rows:
        lines.append(f"| {name} | {' | '.join(cell_text(cell, grid.digits) for cell in cells)} |")
    return [*lines, "", *([grid.note, ""] if grid.note else [])]
