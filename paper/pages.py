"""The page of results of a profile, in Markdown: what holds, and one section for every table and figure.

The page is also the store of finished sections: a table that is built again replaces its own section and
its own rows of the first table, and nothing else.
"""

from __future__ import annotations

import datetime
import platform
import re
from collections.abc import Sequence
from pathlib import Path

from covote import __version__, atomic
from paper.sections import Cell, Grid, Section

PROFILES = {
    "quick": "Two cores, minutes: closed-form experts and small networks stand in for the paper's networks.",
    "paper": "Two cores, hours: on MNIST the paper's own network and epochs, on CIFAR-10 a smaller "
    "network at its level of accuracy. Every expert is trained from scratch on its own classes only, all "
    "for the same number of epochs.",
}
CLAIMS, MISSING = "What holds", "Not run yet"
_HEAD = ("| where | the paper's claim | | evidence |", "|---|---|---|---|")


def write_page(page: Path, profile: str, section: Section, order: Sequence[str]) -> None:
    """Put a section and its pictures into a page, which is made if it is not there; `order` is of titles."""
    pictures = page.with_name(f"{profile}-pictures")
    if section.pictures:
        atomic.make_folder(pictures, "--output")
    for picture in section.pictures:
        atomic.write_text(pictures / f"{picture.name}.svg", picture.svg)
    before = page.read_text(encoding="utf-8") if page.exists() else ""
    atomic.write_text(page, with_section(before, profile, section, order, pictures.name))


def with_section(before: str, profile: str, section: Section, order: Sequence[str], pictures: str) -> str:
    """Return the text of a page with a new or replaced section."""
    parts = re.split(r"^## (.*)\n", before, flags=re.MULTILINE)
    blocks = dict(zip(parts[1::2], parts[2::2], strict=True))
    rows = [line for line in blocks.pop(CLAIMS, "").splitlines() if line.startswith("| ")][1:]
    label = section.title.split(":")[0]
    blocks.pop(MISSING, None)
    rows = [row for row in rows if not row.startswith(f"| {label} |")]
    rows += [f"| {label} | {claim.text} | {claim.verdict} | {claim.evidence} |" for claim in section.claims]
    labels = [title.split(":")[0] for title in order]
    rows.sort(key=lambda row: labels.index(row.split(" | ")[0].removeprefix("| ")))
    blocks[section.title] = "\n" + "\n".join(_section(section, pictures))
    missing = [title for title in order if title not in blocks]
    lines = [
        f"# Results of profile {profile}",
        "",
        PROFILES[profile],
        "Numbers in brackets are the paper's.",
        "",
    ]
    lines += [f"## {CLAIMS}", "", *_HEAD, *rows, ""]
    text = "\n".join(lines) + "\n"
    text += "".join(f"## {title}\n{blocks[title].rstrip()}\n\n" for title in order if title in blocks)
    if missing:
        text += f"## {MISSING}\n\n" + "".join(f"- {title}\n" for title in missing)
    return text.rstrip() + "\n"


def stored_row(page: Path, section: str, name: str) -> list[float | None]:
    """Return our numbers in a row of a section of the page, such as "Table II"; none if it is not there."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    lines = text.partition(f"\n## {section}:")[2].partition("\n## ")[0].splitlines()
    row = next((line for line in lines if line.startswith(f"| {name} | ")), "")
    return [float(cell.split()[0]) if cell[:1].isdigit() else None for cell in row.split(" | ")[1:]]


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


def _section(section: Section, pictures: str) -> list[str]:
    lines = []
    if section.models:
        mark = " **Surrogate models**, not the paper's." if section.surrogate else ""
        lines += [f"Experts: {section.models}.{mark}", ""]
    lines += [f"- {sentence}" for sentence in section.findings]
    lines.append("")
    for grid in section.grids:
        lines += _grid(grid)
    for picture in section.pictures:
        lines += [f"![{picture.caption}]({pictures}/{picture.name}.svg)", ""]
    if section.differences:
        lines += ["What differs from the paper:", "", *(f"- {one}" for one in section.differences), ""]
    lines += [f"Not run: {part} ({why})." for part, why in section.left_out.items()]
    made = f"Made with covote {__version__}, Python {platform.python_version()}, {datetime.date.today()}."
    training = f" Training: {minutes(section.seconds)} of CPU time." if section.seconds else ""
    return [*lines, made + training]


def _grid(grid: Grid) -> list[str]:
    lines = [f"**{grid.title}**", "", f"| | {' | '.join(grid.columns)} |"]
    lines.append("|---" * (1 + len(grid.columns)) + "|")
    for name, cells in grid.rows:
        lines.append(f"| {name} | {' | '.join(cell_text(cell, grid.digits) for cell in cells)} |")
    return [*lines, "", *([grid.note, ""] if grid.note else [])]
