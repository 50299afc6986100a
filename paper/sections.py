"""The result of a table or figure: measurements, tables and pictures of them, and what they mean."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from covote.files.charts import svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Measurement:
    """An accuracy in percent, and what it is the accuracy of.

    Attributes
    ----------
    images, split, decoder
        Which data were labelled ("train" or "test"), and how.
    size
        How many classes each expert knows (R); all of them for the centralised model.
    accuracy, spread
        98.93, not 0.9893; a standard deviation or half the width of an interval, as the table says.
    removed
        How many experts of the greedy cover were missing.
    experts, draw
        How many experts a random panel had, and the number of its draw; None for the greedy cover.
    """

    images: str
    split: str
    decoder: str
    size: int
    accuracy: float
    spread: float | None = None
    removed: int = 0
    experts: int | None = None
    draw: int | None = None


def select(found: Iterable[Measurement], **wanted: Any) -> list[Measurement]:
    """Return the measurements with the wanted values.

    >>> found = [Measurement("mnist", "test", "vote", size, 90.0 + size) for size in (2, 4)]
    >>> [one.accuracy for one in select(found, size=4)]
    [94.0]
    """
    return [one for one in found if all(getattr(one, name) == value for name, value in wanted.items())]


def by_size(found: Iterable[Measurement], **wanted: Any) -> dict[int, float]:
    """Return the accuracies of the measurements with the wanted values, by size."""
    return {one.size: one.accuracy for one in select(found, **wanted)}


@dataclass(frozen=True)
class Cell:
    """A number of ours, and the paper's number where it prints one.

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
    """A figure, its file name without ending, and a caption."""

    name: str
    figure: Figure
    caption: str

    @property
    def svg(self) -> str:
        """The picture as SVG."""
        return svg(self.figure)


HOLDS, FAILS, OPEN = "holds", "does not hold", "cannot be told"


class Claim(NamedTuple):
    """A claim of the paper, whether it holds here (or for which cases), and the numbers that say so."""

    text: str
    verdict: str
    evidence: str


def judge(value: float, half: float, least: float = 0.0) -> str:
    """Return whether a value, known up to `half`, is above `least`.

    >>> judge(1.2, 0.5), judge(-1.2, 0.5), judge(0.2, 0.5)
    ('holds', 'does not hold', 'cannot be told')
    """
    if abs(value - least) <= half:
        return OPEN
    return HOLDS if value > least else FAILS


def verdict(cases: Mapping[str, str]) -> str:
    """Return the verdicts on several cases in one line.

    >>> verdict({"R = 2": "holds", "R = 4": "holds"})
    'holds'
    >>> verdict({"R = 2": "holds", "R = 4": "cannot be told"})
    'holds: R = 2; cannot be told: R = 4'
    """
    groups = {said: [name for name, one in cases.items() if one == said] for said in (HOLDS, FAILS, OPEN)}
    told = {said: names for said, names in groups.items() if names}
    if len(told) == 1:
        return next(iter(told))
    return "; ".join(f"{said}: {', '.join(names)}" for said, names in told.items()) or OPEN


@dataclass(frozen=True)
class Section:
    """One table or figure of the paper, reproduced.

    Attributes
    ----------
    measured
        The accuracies behind it, one by one.
    grids, pictures
        What to show.
    findings
        What a reader should take from it, in sentences.
    claims
        What the paper says about it, and whether it holds.
    differences
        What differs from the paper's set-up, in sentences.
    models
        What the experts are, in words; empty where there are none.
    surrogate
        Whether these are other models than the paper's.
    seconds
        CPU time that training took, now or in an earlier run.
    left_out
        Parts that could not run, and why.
    name, title
        On the command line, and on the page.
    """

    grids: tuple[Grid, ...] = ()
    pictures: tuple[Picture, ...] = ()
    findings: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    differences: tuple[str, ...] = ()
    models: str = ""
    surrogate: bool = False
    seconds: float = 0.0
    left_out: dict[str, str] = field(default_factory=dict)
    measured: tuple[Measurement, ...] = ()
    name: str = ""
    title: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the pictures, for programs."""
        return {
            "name": self.name,
            "title": self.title,
            "models": self.models,
            "surrogate": self.surrogate,
            "cpu_seconds": round(self.seconds, 1),
            "findings": list(self.findings),
            "claims": [claim._asdict() for claim in self.claims],
            "differences": list(self.differences),
            "left_out": self.left_out,
            "measured": [_without_empty(one) for one in self.measured],
            "grids": [
                {
                    "title": grid.title,
                    "note": grid.note,
                    "digits": grid.digits,
                    "columns": list(grid.columns),
                    "rows": {name: [_without_empty(cell) for cell in cells] for name, cells in grid.rows},
                }
                for grid in self.grids
            ],
            "pictures": [picture.name for picture in self.pictures],
        }


def _without_empty(value: Cell | Measurement) -> dict[str, Any]:
    """Return the fields that have a value."""
    return {name: v for name, v in asdict(value).items() if v not in (None, "")}
