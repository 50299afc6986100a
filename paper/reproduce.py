"""Run the experiments of the paper and write the page: the work behind `python -m paper`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from covote import atomic
from covote.arguments import did_you_mean
from covote.errors import DataError, InputError, MissingDependencyError
from paper.cores import end_processes
from paper.experiment import Context
from paper.pages import write_page
from paper.sections import Section
from paper.tables import TABLES
from paper.trainers import Subset


@dataclass(frozen=True)
class Report:
    """The sections of a run, what could not run and why, its time, and the page that has them."""

    sections: tuple[Section, ...]
    left_out: dict[str, str]
    seconds: float
    page: Path

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the pictures, for programs."""
        return {
            "seconds": round(self.seconds, 1),
            "sections": [section.as_dict() for section in self.sections],
            "left_out": self.left_out,
            "page": str(self.page),
        }


def reproduce(context: Context, names: Sequence[str] = ()) -> Report:
    """Run tables and figures by name (default: all of them), and put each into the page when it is ready.

    The other sections of the page stay as they are. A table that lacks its data or a library is left out
    and named in the report; the others run. What is trained is stored at once, so an interrupted run
    resumes where it stopped.
    """
    for name in names:
        if name not in TABLES:
            near = did_you_mean(name, tuple(TABLES))
            raise InputError(f"no table {name!r}{near}; choose from {', '.join(TABLES)}")
    atomic.make_folder(context.out, "--output")
    started = time.monotonic()
    wanted = [name for name in TABLES if not names or name in names]
    _train(context, wanted)
    sections: list[Section] = []
    left_out: dict[str, str] = {}
    for number, name in enumerate(wanted):
        context.progress(number, len(wanted), name)
        try:
            section = replace(TABLES[name].build(context), name=name, title=TABLES[name].title)
        except (DataError, MissingDependencyError) as error:
            left_out[name] = str(error)
            continue
        sections.append(section)
        left_out |= {f"{name}, {part}": why for part, why in section.left_out.items()}
        write_page(context.page, context.profile, section, [table.title for table in TABLES.values()])
    end_processes()
    return Report(tuple(sections), left_out, time.monotonic() - started, context.page)


def _train(context: Context, names: Sequence[str]) -> None:
    """Train the experts of all tables, one image set at a time, so that features are computed once."""
    if not context.train:
        return
    wanted: dict[str, list[Subset]] = {}
    for number, name in enumerate(names):
        context.progress(number, len(names), f"panels of {name}")
        for images, subsets in TABLES[name].needs(context).items():
            wanted.setdefault(images, []).extend(subsets)
    for images, subsets in wanted.items():
        try:
            context.experts(images, subsets)
        except (DataError, MissingDependencyError):
            continue  # each table that needs them reports it
