"""`python -m paper`: the paper's experiments, with its numbers next to ours."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from covote.cli.terminal import complain, progress_bar, say, say_json, say_table, say_written
from covote.errors import CovoteError
from paper.datasets import DataSource, default_folder
from paper.experiment import SIZES, TRAINERS, Context
from paper.pages import cell_text
from paper.reproduce import Report, reproduce
from paper.tables import TABLES
from paper.tables.fedavg import ONE_SHOT, SCHEMES

SHORT = dict(zip(("two", "all", "one-shot"), (*SCHEMES, ONE_SHOT), strict=True))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for, and return the exit status."""
    asked = _parser().parse_args(arguments)
    if asked.list:
        titles = {name: table.title for name, table in TABLES.items()}
        if asked.json:
            say_json(titles)
        else:
            say("\n".join(f"{name:14} {title}" for name, title in titles.items()))
        return 0
    chosen = {SHORT[name] for name in asked.schemes}
    try:
        with progress_bar() as progress:
            context = Context(
                DataSource(asked.data_dir, asked.download),
                asked.output,
                asked.profile,
                asked.seed,
                train=not asked.stored,
                progress=progress,
                keep=asked.keep,
                workers=asked.workers,
                curves=lambda size, scheme: size in asked.sizes and scheme in chosen,
            )
            report = reproduce(context, asked.tables)
    except CovoteError as error:
        complain(f"paper: {error}")
        return 2
    except KeyboardInterrupt:
        complain(
            f"paper: interrupted; what is trained is kept in {asked.keep}, run the same command to resume"
        )
        return 130
    if asked.json:
        say_json(report.as_dict())
    else:
        _say_report(report, asked.keep)
    for name, reason in report.left_out.items():
        complain(f"paper: {name} was not run: {reason}")
    return 2 if report.left_out else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m paper", description=__doc__)
    add = parser.add_argument
    add("tables", nargs="*", help="tables and figures to run (see --list; default: all)")
    add("--list", action="store_true", help="list the tables and figures, and stop")
    add(
        "--profile", choices=tuple(TRAINERS), default="quick",
        help="how the experts are trained: in minutes, or in hours on two cores (default: quick)",
    )  # fmt: skip
    add(
        "--data-dir", type=Path, default=Path(os.environ.get("COVOTE_DATA") or default_folder()),
        help="folder with the datasets (default: $COVOTE_DATA, or below ~/.cache)",
    )  # fmt: skip
    add("--download", action="store_true", help="download missing datasets from their publishers")
    add("-o", "--output", type=Path, default=Path("reproduction"), help="folder for the pages")
    add(
        "--keep", type=Path, default=default_folder().parent / "experts",
        help="where everything trained is kept; a rerun continues there (default: %(default)s)",
    )  # fmt: skip
    add("--workers", type=int, help="processes that train networks (default: one for each core)")
    add(
        "--sizes", type=int, nargs="+", choices=SIZES, default=SIZES, metavar="R",
        help="for fedavg: the sizes of experts whose curves are made (default: 2 4 6 8)",
    )  # fmt: skip
    add(
        "--schemes", nargs="+", choices=tuple(SHORT), default=tuple(SHORT),
        help="for fedavg: the curves that are made (default: all three)",
    )  # fmt: skip
    add("--stored", action="store_true", help="write the pages from what is stored, without training")
    add("--seed", type=int, default=0)
    add("--json", action="store_true", help="print the results as JSON")
    return parser


def _say_report(report: Report, keep: Path) -> None:
    for section in report.sections:
        mark = " [surrogate models]" if section.surrogate else ""
        say(f"{section.title}{mark}")
        for grid in section.grids:
            say(f"  {grid.title}")
            rows = [[name, *(cell_text(cell, grid.digits) for cell in row)] for name, row in grid.rows]
            say_table(["", *grid.columns], rows, "<" + ">" * len(grid.columns), indent="    ")
        for claim in section.claims:
            say(f"  {claim.text}: {claim.verdict} ({claim.evidence})")
        for sentence in section.findings:
            say(f"  {sentence}")
        say()
    say(f"In brackets: the paper's value. Trained: {keep}." if report.sections else "Nothing was run.")
    if report.sections:
        say_written(report.page)


if __name__ == "__main__":
    sys.exit(main())
