"""What a table or figure gives back: numbers beside the paper's, pictures, and what they mean."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Cell:
    """A number of ours, and the paper's for the same thing where it prints one.

    Attributes
    ----------
    ours, paper
        Mostly percentages: 98.93, not 0.9893. None where there is no such number.
    spread, paper_spread
        Standard deviation, or half the width of an interval; the grid's note says which.
    text
        Instead of a number.
    """

    ours: float | None = None
    paper: float | None = None
    spread: float | None = None
    paper_spread: float | None = None
    text: str = ""


@dataclass(frozen=True)
class Grid:
    """A table: named columns, and named rows of cells."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    note: str = ""
    digits: int = 2


@dataclass(frozen=True)
class Picture:
    """A figure (or what it is as SVG), its file name without ending, and what it shows."""

    name: str
    figure: Figure | str
    caption: str


@dataclass(frozen=True)
class Section:
    """One table or figure of the paper, done again.

    Attributes
    ----------
    name, title
        As on the command line, and as on the page.
    grids, pictures
        What to show.
    findings
        What a reader should take from it, sentences.
    differences
        What is not as in the paper's set-up, sentences.
    models
        What the experts are, in words; empty where there are none.
    surrogate
        Whether these are other models than the paper's.
    seconds
        CPU time that training took, now or in an earlier run.
    left_out
        Parts that could not run, and why.
    """

    name: str
    title: str
    grids: tuple[Grid, ...] = ()
    pictures: tuple[Picture, ...] = ()
    findings: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()
    models: str = ""
    surrogate: bool = False
    seconds: float = 0.0
    left_out: dict[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the pictures, for programs."""
        return {
            "name": self.name,
            "title": self.title,
            "models": self.models,
            "surrogate": self.surrogate,
            "cpu_seconds": round(self.seconds, 1),
            "findings": list(self.findings),
            "differences": list(self.differences),
            "left_out": self.left_out,
            "grids": [
                {
                    "title": grid.title,
                    "note": grid.note,
                    "columns": list(grid.columns),
                    "rows": {
                        name: [{key: value for key, value in vars(cell).items() if value not in (None, "")}
                               for cell in cells]
                        for name, cells in grid.rows
                    },
                }
                for grid in self.grids
            ],
            "pictures": [picture.name for picture in self.pictures],
        }  # fmt: skip
