"""`covote check`: what a panel covers; or everything that is wrong with a file of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from covote import atomic
from covote.arguments import some_of
from covote.bounds import best_lower_bound, pair_graph
from covote.cli import panel_summary, problems_summary, terminal
from covote.cli.parameters import (
    AnswersToCheck,
    Json,
    OtherPanel,
    PanelFile,
    Plot,
    Redundancy,
    StandardStreams,
    reads_votes,
)
from covote.errors import CovoteError, InputError
from covote.panel import Name, Panel
from covote.tables import ReadOptions
from covote.votes.problems import TableProblems

_SHOWN = 20  # uncovered pairs and single points of failure that are listed
_OUTAGES = 10  # experts of the table of outages
_CLASSES, _PARTNERS = 10, 3  # classes of the table of the worst covered ones, and partners of each
_MOST = 100_000  # the same in JSON
_MOST_OUTAGES = 100  # single points of failure up to which the worst case is computed for each
_LEFT = "worst_case_accuracy"


@reads_votes
def check(
    panel_file: PanelFile,
    answers: AnswersToCheck = None,
    other_panel: OtherPanel = None,
    fix: Annotated[
        Path | None,
        typer.Option(
            help="Write the names that do not fit, with suggestions, to this .csv file for --rename."
        ),
    ] = None,
    redundancy: Redundancy = 1,
    plot: Plot = None,
    plot_pairs: Annotated[
        Path | None,
        typer.Option(help="Draw the classes and which pairs are covered to this .png, .svg or .pdf file."),
    ] = None,
    *,
    reading: ReadOptions,
    as_json: Json = False,
) -> None:
    """Check a panel for uncovered pairs, or answers for mistakes."""
    if other_panel is not None:  # check ANSWERS --panel PANEL
        panel_file, answers = other_panel, panel_file
    if answers is not None:
        _check_votes(answers, panel_file, reading, fix, as_json)
        return
    if fix is not None:
        raise InputError("--fix needs a file of answers: covote check PANEL ANSWERS --fix names.csv")
    terminal.check_places(plot, plot_pairs, read=[panel_file])
    everyone = Panel.load(panel_file)
    panel, gone = everyone.present, [*compress(everyone.names, everyone.left)]
    missing = panel.count_uncovered(redundancy)
    if as_json:
        terminal.say_json(
            {
                "experts": len(panel),
                "left": gone,
                "classes": len(panel.classes),
                "covers": panel.redundancy,
                "asked": redundancy,
                "uncovered_pairs": missing,
                "uncovered": panel.uncovered(redundancy, most=_MOST),
                _LEFT: panel_summary.worst_case(panel),
                "correctable": panel.correctable(),
                "detectable": panel.detectable(),
                "single_points_of_failure": None
                if len(panel.classes) > panel_summary.MANY
                else _outages(panel, panel.survives().critical),
            }
        )
    else:
        if gone:
            terminal.say(f"Left: {some_of(gone)}. Their answers still count; what follows is without them.")
        _tell(panel, missing, redundancy)
        panel_summary.say_worst_case(panel)
        if missing:
            size = max(2, int(panel.sizes.max(initial=0)))
            more = "" if redundancy == 1 else f" --redundancy {redundancy}"
            terminal.say(f"Next: covote complete {panel_file} {size}{more} -o complete.toml")
    panel_summary.save_panel(panel, None, plot, quiet=as_json)
    if plot_pairs is not None:
        terminal.draw(pair_graph(panel).plot, plot_pairs)
        if not as_json:
            terminal.say_written(plot_pairs)
    if missing:
        raise typer.Exit(1)


def _check_votes(
    answers: Path, panel_file: Path, reading: ReadOptions, fix: Path | None, as_json: bool
) -> None:
    """Print everything that is wrong with a file of answers; exit status 2 if something is."""
    from covote.votes.answered_panel import unanswered
    from covote.votes.vote_file import VoteFile

    if fix is not None:
        if fix.suffix.lower() != ".csv":
            raise InputError(f"{fix}: the table of names ends in .csv, not in {fix.suffix!r}")
        atomic.check_apart([fix], [answers, panel_file, reading.rename_file])
        atomic.check_place(fix)
    panel = Panel.load(panel_file)
    found: TableProblems | None = None
    error, shape, notes, unknown = "", "", list[str](), dict[str, Name | None]()
    with StandardStreams(answers) as streams:
        try:
            file = VoteFile(streams.votes, panel, reading)
            votes = file.examine()
        except CovoteError as refusal:
            error = str(refusal)
        else:
            found, shape, notes = file.problems, file.shape, file.notes()
            no_answer, unused = unanswered(votes)
            notes += [f"experts without an answer: {some_of(no_answer)}"] if no_answer else []
            notes += [f"classes without an answer: {some_of(unused)}"] if unused else []
            unknown = found.unknown_names(no_answer)
            if fix is not None and unknown:
                problems_summary.write_names(fix, unknown)
    problems = problems_summary.tell(answers, found, error, shape, notes, as_json)
    if problems and not as_json:
        _tell_remedy(found, unknown, fix)
    elif not as_json:
        problems_summary.tell_confusions(votes)
        terminal.say(f"Next: covote decode {answers} --panel {panel_file} -o labels.csv")
    if problems:
        raise typer.Exit(2)


def _tell_remedy(found: TableProblems | None, unknown: Mapping[str, Name | None], fix: Path | None) -> None:
    """Say what to do about problems, given the unknown names and the table that was written for them."""
    if unknown and fix is not None:
        terminal.say(
            f"Wrote {fix}. Open it, fill in the second column (leave it empty to ignore the name), then "
            f"add --rename {fix}."
        )
    elif unknown:
        terminal.say("To fix spellings, add --fix names.csv. To ignore these answers, add --unknown drop.")
    else:
        problems_summary.tell_remedy(found)


def _tell_outages(panel: Panel) -> None:
    """Print which pairs are lost if one expert is away, the worst first."""
    if len(panel.classes) > panel_summary.MANY:
        return  # it takes minutes to count the pairs of every expert
    critical = panel.survives().critical
    if not critical or critical[0][1] == critical[-1][1]:
        return  # no expert, or all alike, as was printed already
    rows, heads = [], ["away", "more pairs no one knows both of", "worst case"]
    for outage in _outages(panel, critical[:_OUTAGES]):
        share = outage[_LEFT]
        rows.append(
            [
                str(outage["expert"]),
                f"{outage['pairs']:,}",
                "" if share is None else panel_summary.rounded_down(share),
            ]
        )
    terminal.say("If one expert is away:")
    known = all(row[2] for row in rows)
    width = 3 if known else 2
    terminal.say_table(heads[:width], [row[:width] for row in rows], "<>>"[:width], indent="  ")
    if len(critical) > _OUTAGES:
        terminal.say(f"  and {len(critical) - _OUTAGES:,} more experts, without whom fewer pairs are lost")


def _tell_worst_classes(panel: Panel, redundancy: int) -> None:
    """Print the classes that share an expert with the fewest others; those of the same experts in a row."""
    counts = panel.pair_counts()
    known = counts.diagonal().copy()
    np.fill_diagonal(counts, redundancy)
    missing = (counts < redundancy).sum(axis=1)
    same: dict[bytes, list[int]] = {}
    for k in np.argsort(-missing, kind="stable").tolist():
        if missing[k]:
            same.setdefault(panel.knows[:, k].tobytes(), []).append(k)
    rows, listed = [], 0
    for classes in [*same.values()][:_CLASSES]:
        k = classes[0]
        others = np.flatnonzero(counts[k] < redundancy)
        names = terminal.first_of((str(panel.classes[j]) for j in others[:_PARTNERS]), _PARTNERS, len(others))
        what = (
            str(panel.classes[k]) if len(classes) == 1 else f"{panel.classes[k]} and {len(classes) - 1} more"
        )
        rows.append([what, str(known[k]), f"{missing[k]:,}", names])
        listed += len(classes)
    terminal.say("Classes that are covered worst:")
    heads = ["class", "experts", "pairs not covered", "with"]
    terminal.say_table(heads, rows, "<>><", indent="  ")
    rest = int((missing > 0).sum()) - listed
    if rest > 0:
        terminal.say(f"  and {terminal.counted(rest, 'more class')} (all pairs: --json)")


def _outages(panel: Panel, critical: Sequence[tuple[Name, int]]) -> list[dict[str, Any]]:
    """Return the cost of losing each expert: pairs, and the accuracy that the others guarantee."""
    few = len(critical) <= _MOST_OUTAGES
    return [
        {
            "expert": name,
            "pairs": pairs,
            _LEFT: panel_summary.worst_case(panel.without(name)) if few else None,
        }
        for name, pairs in critical
    ]


def _tell(panel: Panel, missing: int, redundancy: int) -> None:
    panel_summary.say_covered(panel)
    panel_summary.show_matrix(panel)
    panel_summary.say_redundancy(panel)
    _tell_outages(panel)
    if missing:
        table = missing > _SHOWN and len(panel.classes) <= panel_summary.MANY
        most = _PARTNERS if table else _SHOWN
        uncovered = panel.uncovered(redundancy, most=most)
        pairs = terminal.first_of((f"({a}, {b})" for a, b in uncovered), most, missing)
        often = "" if redundancy == 1 else f" {redundancy} times"
        terminal.say(f"Not covered{often}: {pairs}.")
        if table:
            _tell_worst_classes(panel, redundancy)
    elif len(panel) and len(panel.classes) > 1:
        size = int(panel.sizes.max())
        if size >= 2:
            fewest, name = best_lower_bound(len(panel.classes), size, redundancy)
            terminal.say(
                f"If experts know at most {terminal.counted(size, 'class')} each, at least "
                f"{terminal.counted(fewest, 'expert')} are needed ({name}); this panel has {len(panel):,}."
            )
