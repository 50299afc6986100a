"""Items with several labels, as the commands `decode` and `check` speak of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from covote import atomic
from covote.cli import output
from covote.cli.arguments import StandardStreams
from covote.errors import InputError
from covote.panel import Panel

if TYPE_CHECKING:
    from covote.files import SetsOutcome

_LOOKED = 4  # labels of an item up to which a panel is looked at, unless the number is given


def check_count_of_labels(labels: str, given: dict[str, Any]) -> bool:
    """Return whether items have several labels; refuse what does not go with that."""
    if labels not in ("one", "several"):
        raise InputError(f"--labels {labels!r} is not known; items have 'one' label, or 'several'")
    words = [name for name, value in given.items() if value]
    if labels == "one" and words:
        raise InputError(f"{words[0]} goes with --labels several; add it, or leave {words[0]} out")
    return labels == "several"


def decode_several(
    votes: Path, output_file: Path | None, panel_file: str, options: dict[str, Any], kind: str, as_json: bool
) -> None:
    """Write the labels of items that may have several, and tell how many of them are sure."""
    from covote.files import decode_sets_file

    if panel_file in ("all", "infer"):
        raise InputError("--labels several needs to know who knows what; name a panel file with --panel")
    written = None if str(output_file) == "-" else output_file
    atomic.check_apart([written], [votes, Path(panel_file), options["reading"].rename_file])
    panel = Panel.load(panel_file)
    with StandardStreams(votes, output_file, kind) as streams, output.warnings_as_lines():
        found = decode_sets_file(streams.votes, streams.labels, panel, **options)
    if as_json:
        output.say_json(
            {
                "items": found.items,
                "answers": found.answers,
                "complete": found.complete,
                "conflict": found.conflict,
                "labels_per_item": list(found.sizes),
                "classes": {str(name): count for name, count in found.classes.items()},
                "notes": list(found.notes),
            }
        )
    elif not streams.to_stdout:
        _tell(found)
        output.say_written(output_file)
        if output_file is None:
            output.say("Nothing was written; -o labels.parquet keeps the labels.")


def _tell(found: SetsOutcome) -> None:
    labels = sum(size * items for size, items in enumerate(found.sizes))
    per_item = labels / found.items
    output.say(
        f"{output.counted(found.items, 'item')}, {output.counted(found.answers, 'answer')}: "
        f"{per_item:.3g} labels per item."
    )
    partial = found.items - found.complete - found.conflict
    output.say(f"  complete  {found.complete:>10,}  no other labels are possible if nobody erred")
    output.say(f"  certain   {partial:>10,}  these are labels; there may be more")
    output.say(f"  conflict  {found.conflict:>10,}  somebody erred: no labels fit all answers")
    for note in found.notes:
        output.say(f"Note: {note}.")


# What a panel supports


def support_rows(panel: Panel, count: int | None) -> list[dict[str, Any]]:
    """Return, for each way of answering, up to how many labels the panel supports, and what fails beyond."""
    return [_support(panel, report, forced, count) for report in ("all", "one") for forced in (False, True)]


def _support(panel: Panel, report: Any, forced: bool, count: int | None) -> dict[str, Any]:
    row: dict[str, Any] = {"report": report, "forced": forced, "any_number": False, "supported": None}
    looked = report == "one" and count is None
    for number in range(1, min(len(panel.classes), _LOOKED) + 1) if looked else (count,):
        found = panel.supports(number, report=report, forced=forced)
        if not found:
            return row | {"fails_at": number, "alike": [list(found.first), list(found.second)]}
        row |= {"any_number": True} if report == "all" else {"supported": number}
    return row


def tell_support(rows: list[dict[str, Any]], count: int | None) -> None:
    """Print what a panel supports."""
    output.say("Several labels per item; the labels follow from the answers, if experts")
    for row in rows:
        who = "name all labels they know" if row["report"] == "all" else "name one label they know"
        else_ = "or anything" if row["forced"] else 'or say "none of mine"'
        exactly = "exactly " if row["forced"] and row["report"] == "one" else "up to "
        if row["any_number"]:
            what = "any number of labels" if count is None else f"up to {output.counted(count, 'label')}"
        elif row["supported"] is None:
            what = "not supported"
        elif exactly == "exactly " and count is None and row["supported"] > 1:
            what = f"exactly s labels, s = 1 to {row['supported']}"
        else:
            what = f"{exactly}{output.counted(row['supported'], 'label')}"
        more = " (more were not tried)" if not row["any_number"] and "alike" not in row and not count else ""
        output.say(f"  {who}, {else_}: {what}{more}.")
        if "alike" in row:
            first, second = (" + ".join(map(str, some)) for some in row["alike"])
            at = "" if row["fails_at"] is None or row["report"] == "all" else f"With {row['fails_at']}, "
            same = f"{first} and {second} may get the same answers."
            output.say(f"    {at}{same}")


# Designs


def options(full: bool, forced: bool, count: int | None) -> str:
    """Return the options of the command line that say how experts answer."""
    given = [" --labels several", " --full" if full else "", " --forced" if forced else ""]
    return "".join([*given, f" --count {count}" if count is not None else ""])


def tell_design(panel: Panel, full: bool, forced: bool, count: int | None) -> None:
    """Print a panel that was designed for items with several labels."""
    who = "all labels they know" if full else "one label they know"
    else_ = "anything" if forced else '"none of mine"'
    exactly = "exactly" if forced and not full else "up to"
    many = "any number of labels" if count is None else f"{exactly} {output.counted(count, 'label')}"
    output.say(
        f"{output.counted(len(panel), 'expert')} tell {many} of an item, if they name {who}, or else {else_}."
    )
    output.say_proof(panel)
    output.show_matrix(panel)
