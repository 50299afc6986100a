"""What is wrong with a file of answers, as commands print it."""

from __future__ import annotations

import csv
from pathlib import Path

from covote import atomic
from covote.arguments import some_of
from covote.cli import terminal
from covote.panel import Name
from covote.votes import Votes
from covote.votes.answered_panel import confused_pairs
from covote.votes.problems import EXPERTS, TableProblems

_CONFUSED = 10  # pairs of the table of confusions


def tell(
    answers: Path, found: TableProblems | None, error: str, shape: str, notes: list[str], as_json: bool
) -> list[str]:
    """Print what is wrong with a file of answers and how it was read; return its problems.

    `error` says why the file cannot be read, if there is nothing `found`.
    """
    problems = [error] if found is None else found.problems
    if as_json:
        details = {} if found is None else {**found.to_dict(), "shape": shape}
        terminal.say_json({"fine": not problems, "problems": problems, "notes": notes, **details})
        return problems
    if found is not None:
        terminal.say(
            f"{answers}: {terminal.counted(found.answers, 'answer')}, {shape} format; "
            f"{found.valid:,} fit the panel."
        )
    terminal.say_notes(notes, problems)
    if found is not None:
        _tell_outside(found)
    if not problems:
        terminal.say("No problems found.")
    return problems


def tell_remedy(found: TableProblems | None) -> None:
    """Say what to do about problems."""
    if found is not None and found.dropped:
        terminal.say("Correct the answers or the panel; to ignore these answers, add --unknown drop.")
    else:
        terminal.say("Correct the file.")


def _tell_outside(found: TableProblems) -> None:
    """Print a line for each expert with answers outside what they know, if the sentence leaves some out."""
    rows = [[name, f"{count.answers:,}", some_of(labels)] for name, count, labels in found.outside_experts()]
    if len(rows) > EXPERTS:
        terminal.say_table(
            ["expert", "answers", "with classes that they do not know"], rows, "<><", indent="  "
        )


def tell_confusions(votes: Votes) -> None:
    """Print the pairs of classes that no one knows both of, and that the answers take for each other."""
    pairs = confused_pairs(votes, most=_CONFUSED + 1)
    if not pairs:
        return
    terminal.say("No expert knows both of these classes, and some items were given both answers:")
    rows = [[str(pair.first), str(pair.second), f"{pair.items:,}"] for pair in pairs[:_CONFUSED]]
    terminal.say_table(["class", "and", "items"], rows, "<<>", indent="  ")
    if len(pairs) > _CONFUSED:
        terminal.say("  and more")


def write_names(path: Path, names: dict[str, Name | None]) -> None:
    """Write a table for --rename: names in the answers, and the names of the panel that may be meant."""
    with atomic.replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["answers", "panel"])
        table.writerows([old, "?" if new is None else str(new)] for old, new in names.items())
