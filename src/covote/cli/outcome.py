"""What came of votes, as the commands that decode print it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from covote import atomic
from covote.cli import output
from covote.errors import InputError
from covote.files.report.html import percent

if TYPE_CHECKING:
    from covote.files import Outcome


def check_report(path: Path | None) -> None:
    """Refuse a report that cannot be written, before any work is done."""
    if path is None:
        return
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"{path}: a report ends in .html, not in {path.suffix!r}")
    atomic.check_place(path)


def summary(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome as JSON has it."""
    from covote.labels import STATUSES

    tally = outcome.tally
    rates = tally.accuracy()
    return {
        "items": tally.items,
        "votes": tally.votes,
        "labelled": tally.items - int(tally.classes[-1]),
        **dict(zip(STATUSES, tally.statuses.tolist(), strict=True)),
        "in_doubt": tally.doubtful(),
        "experts": [
            {
                "name": name,
                "answers": int(asked + outside),
                "inside": int(asked),
                "agreement": None if asked == 0 else rate,
                "low": low,
                "high": high,
                "none_of_mine": int(silent),
            }
            for name, (rate, low, high), asked, outside, silent in zip(
                tally.panel.names,
                rates.tolist(),
                tally.asked.sum(axis=1),
                tally.outside,
                tally.nones,
                strict=True,
            )
        ],
    }


def tell(outcome: Outcome, seconds: float, *, inferred: bool = False) -> None:
    """Print what came of the votes, for a person."""
    tally = outcome.tally
    if inferred:
        output.say(
            "Warning: no --panel given, so every expert is taken to know exactly the labels it gave in this "
            f"file ({len(tally.panel)} experts, {output.counted(len(tally.panel.classes), 'class')})."
        )
    output.say(
        f"{output.counted(tally.items, 'item')}, {output.counted(tally.votes, 'vote')} of "
        f"{output.counted(len(tally.panel), 'expert')}, in {seconds:.1f} s."
    )
    sure, tied, conflict, unheard = (int(count) for count in tally.statuses)
    _line("sure", sure, tally.items, "if nobody erred, no other class is possible")
    _line("tied", tied, tally.items, "several classes are equally good")
    _line("conflict", conflict, tally.items, "somebody erred; the label is the best guess")
    _line("unheard", unheard, tally.items, "nobody who knows some class answered")
    if tally.classes[-1]:
        output.say(f"{output.counted(int(tally.classes[-1]), 'item')} without a label.")
    rates = dict(zip(tally.panel.names, tally.accuracy()[:, 0].tolist(), strict=True))
    doubtful = tally.doubtful()
    if doubtful:
        named = ", ".join(f"{name} ({rates[name]:.0%})" for name in doubtful[:6])
        more = f" and {len(doubtful) - 6} more" if len(doubtful) > 6 else ""
        output.say(f"In doubt, by how often they agree with the labels of what they know: {named}{more}.")
    else:
        output.say("No expert stands out as unreliable.")


def _line(name: str, count: int, items: int, meaning: str) -> None:
    if count:
        output.say(f"  {name:<9}{count:>12,}  {percent(count, items):>6}  {meaning}")
