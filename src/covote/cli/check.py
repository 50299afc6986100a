"""`covote check`: what a panel covers; or everything that is wrong with a file of votes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from covote.bounds import best_lower_bound
from covote.cli import output
from covote.cli.arguments import (
    Json,
    Plot,
    Redundancy,
    StandardStreams,
    reads_votes,
)
from covote.errors import CovoteError
from covote.panel import Panel
from covote.panel.checks import some_of
from covote.tables import Reading

_SHOWN = 20  # uncovered pairs, and experts without whom there are more, that are listed
_MOST = 100_000  # the same in JSON


@reads_votes
def check(
    file: Annotated[
        Path,
        typer.Argument(
            help="A panel file: .toml, .json, .csv, .tsv or .xlsx; with --panel, a file of votes."
        ),
    ],
    panel_file: Annotated[
        Path | None, typer.Option("--panel", help="Look at votes of this panel: what is wrong?")
    ] = None,
    redundancy: Redundancy = 1,
    plot: Plot = None,
    *,
    reading: Reading,
    as_json: Json = False,
) -> None:
    """Check a panel for uncovered pairs, or votes for mistakes."""
    if panel_file is not None:
        _check_votes(file, panel_file, reading, as_json)
        return
    output.check_places(plot, read=[file])
    panel = Panel.load(file)
    missing = panel.count_uncovered(redundancy)
    if as_json:
        output.say_json(
            {
                "experts": len(panel),
                "classes": len(panel.classes),
                "covers": panel.redundancy,
                "asked": redundancy,
                "uncovered_pairs": missing,
                "uncovered": panel.uncovered(redundancy, most=_MOST),
                "correctable": panel.correctable(),
                "detectable": panel.detectable(),
                "single_points_of_failure": [
                    {"expert": name, "pairs": pairs} for name, pairs in panel.survives().critical
                ],
            }
        )
    else:
        _tell(panel, missing, redundancy)
        if missing:
            size = max(2, int(panel.sizes.max(initial=0)))
            more = "" if redundancy == 1 else f" --redundancy {redundancy}"
            output.say(f"Next: covote complete {file} {size}{more} -o complete.toml")
    output.keep(panel, None, plot, quiet=as_json)
    if missing:
        raise typer.Exit(1)


def _check_votes(votes: Path, panel_file: Path, reading: Reading, as_json: bool) -> None:
    """Print everything that is wrong with a file of votes; exit status 2 if something is."""
    from covote.files import VoteFile

    panel = Panel.load(panel_file)
    problems: list[str] = []
    details: dict[str, Any] = {}
    notes: list[str] = []
    with StandardStreams(votes, None, "csv") as streams:
        try:
            file = VoteFile(streams.votes, panel, reading)
            found = file.examine()
        except CovoteError as error:
            problems = [str(error)]
        else:
            problems, details, notes = found.problems, found.to_dict(), file.notes()
            details["shape"] = file.shape
            silent = [name for i, name in enumerate(panel.names) if i not in found.heard]
            unsaid = [name for k, name in enumerate(panel.classes) if k not in found.said]
            notes += [f"experts without an answer: {some_of(silent)}"] if silent else []
            notes += [f"classes that nobody answered: {some_of(unsaid)}"] if unsaid else []
    if as_json:
        output.say_json({"fine": not problems, "problems": problems, "notes": notes, **details})
    else:
        if details:
            output.say(
                f"{votes}: {output.counted(details['answers'], 'answer')}, {details['shape']}; "
                f"{details['answers'] - details['dropped']:,} are votes of this panel."
            )
        for note in notes:
            output.say(f"Note: {note}.")
        for problem in problems:
            output.say(f"Problem: {problem}.")
        output.say(
            "Nothing is wrong." if not problems else "Correct this, or see --rename and --unknown drop."
        )
        if not problems:
            output.say(f"Next: covote decode {votes} --panel {panel_file} -o labels.csv")
    if problems:
        raise typer.Exit(2)


def _tell_outages(panel: Panel) -> None:
    critical = panel.survives().critical
    if not critical or critical[0][1] == critical[-1][1]:
        return  # nobody, or everybody alike: that was said already
    shown = ", ".join(f"{name} ({pairs:,})" for name, pairs in critical[:_SHOWN])
    more = f" and {len(critical) - _SHOWN:,} more" if len(critical) > _SHOWN else ""
    output.say(f"Single points of failure (pairs lost without them): {shown}{more}.")


def _tell(panel: Panel, missing: int, redundancy: int) -> None:
    output.say_covered(panel)
    output.show_matrix(panel)
    output.say_redundancy(panel)
    _tell_outages(panel)
    if missing:
        pairs = ", ".join(f"({a}, {b})" for a, b in panel.uncovered(redundancy, most=_SHOWN))
        more = f" and {missing - _SHOWN:,} more" if missing > _SHOWN else ""
        often = "" if redundancy == 1 else f" {redundancy} times"
        output.say(f"Not covered{often}: {pairs}{more}.")
    elif len(panel) and len(panel.classes) > 1:
        size = int(panel.sizes.max())
        if size >= 2:
            fewest, name = best_lower_bound(len(panel.classes), size, redundancy)
            output.say(
                f"Any panel of experts with at most {output.counted(size, 'class')} needs at least "
                f"{output.counted(fewest, 'expert')} ({name}); this one has {len(panel):,}."
            )
