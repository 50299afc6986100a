"""Run the experiments of the paper and write the pages: the work behind `python -m paper`."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from covote import __version__, atomic
from covote.arguments import did_you_mean
from covote.errors import DataError, InputError, MissingDependencyError
from paper.cores import end_processes
from paper.experiment import Context
from paper.pages import Report, write_pages
from paper.sections import Section
from paper.tables import TABLES
from paper.trainers import Subset


@dataclass
class _Run:
    """The state of a run: the finished sections, and what was left out."""

    context: Context
    names: Sequence[str]
    started: float = field(default_factory=time.monotonic)
    cpu_started: float = field(default_factory=lambda: cpu_time())
    sections: dict[str, Section] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def made_by(self) -> str:
        """What sections of one page have in common."""
        return f"covote {__version__}, seed {self.context.seed}, with measurements"

    def train(self) -> None:
        """Train the experts of all tables, one image set at a time, so that features are computed once."""
        if not self.context.train:
            return
        wanted: dict[str, list[Subset]] = {}
        for number, name in enumerate(self.names):
            self.context.progress(number, len(self.names), f"panels of {name}")
            for images, subsets in TABLES[name].needs(self.context).items():
                wanted.setdefault(images, []).extend(subsets)
        for images, subsets in wanted.items():
            try:
                self.context.experts(images, subsets)
            except (DataError, MissingDependencyError):
                continue  # each table that needs them reports it

    def build(self) -> None:
        for number, name in enumerate(self.names):
            self.context.progress(number, len(self.names), name)
            try:
                section = replace(TABLES[name].build(self.context), name=name, title=TABLES[name].title)
                told = section.with_pictures()
                self.context.store.keep("sections", name, told | {"made_by": self.made_by})
                self.sections[name] = Section.from_dict(told)
                self.left_out |= {f"{name}, {part}": why for part, why in section.left_out.items()}
            except (DataError, MissingDependencyError) as error:
                self.left_out[name] = str(error)
            self.write()

    def _section(self, told: dict[str, Any]) -> Section | None:
        """Return a stored section if it belongs on the same page."""
        return Section.from_dict(told) if told["made_by"] == self.made_by else None

    def write(self) -> Report:
        """Write the pages with all sections so far; an interrupted run leaves them behind."""
        context = self.context
        # Sections that did not run now may be left from an earlier run.
        past = [name for name in TABLES if name not in self.names or name in self.left_out]
        earlier = {name: self.context.store.kept("sections", name, self._section) for name in past}
        found = {name: self.sections.get(name) or earlier.get(name) for name in TABLES}
        sections = tuple(section for section in found.values() if section is not None)
        # Federated networks are not experts of a panel, so the store of votes does not have them.
        others = sum(section.seconds for section in sections if section.name == "fedavg")
        report = Report(
            context.profile,
            sections,
            tuple(self.sections),
            dict(self.left_out),
            time.monotonic() - self.started,
            cpu_time() - self.cpu_started,
            others + context.store.seconds(),
            (),
        )
        return write_pages(report, context.out) if sections else report


def cpu_time() -> float:
    """Return the CPU time of this process and of those that it started and that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def reproduce(context: Context, names: Sequence[str] = ()) -> Report:
    """Run tables and figures by name (default: all of them), and write the pages after each.

    The pages also show what earlier runs finished in the same folder. A table that lacks its data or a
    library is left out and named in the report; the others run. Experts are stored as they are trained, so
    an interrupted run resumes where it stopped.
    """
    for name in names:
        if name not in TABLES:
            near = did_you_mean(name, tuple(TABLES))
            raise InputError(f"no table {name!r}{near}; choose from {', '.join(TABLES)}")
    atomic.make_folder(context.out, "--output")
    run = _Run(context, [name for name in TABLES if not names or name in names])
    run.train()
    run.build()
    end_processes()
    return run.write()
