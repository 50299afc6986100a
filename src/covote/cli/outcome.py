"""What came of votes, as the commands that decode print it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from covote import atomic
from covote.cli import output
from covote.decoding.gold import told, wilson
from covote.errors import InputError
from covote.files.report.html import percent

if TYPE_CHECKING:
    from covote.files import Outcome
    from covote.labels import GoldScore

_MEANINGS = {
    "agreed": "if nobody erred, no other class is possible",
    "tied": "several classes are equally good",
    "conflict": "somebody erred; the label is the best guess",
    "incomplete": "nobody who knows some class answered",
    "given": "the class was known beforehand",
}


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
    report = tally.experts
    gold = outcome.gold
    return {
        "items": tally.items,
        "votes": tally.votes,
        "labelled": tally.items - int(tally.classes[-1]),
        **dict(zip(STATUSES, tally.statuses.tolist(), strict=True)),
        "in_doubt": report.doubtful(),
        "notes": list(outcome.notes),
        "dropped": None if outcome.dropped is None else outcome.dropped.to_dict(),
        "uncovered_pairs": _uncovered(outcome),
        "gold": None if gold is None else _gold(gold),
        "experts": [
            {
                "name": name,
                "answers": int(tally.agreement.counts.answers[i]),
                "inside": int(report.inside[i]),
                "agreement": None if report.inside[i] == 0 else float(report.accuracy[i]),
                "low": float(report.low[i]),
                "high": float(report.high[i]),
                "none_of_mine": int(report.none[i]),
                "gold": None
                if gold is None
                else {"known": int(gold.expert_asked[i]), "right": int(gold.expert_right[i])},
            }
            for i, name in enumerate(tally.panel.names)
        ],
    }


def _gold(score: GoldScore) -> dict[str, Any]:
    low, high = wilson(score.right, score.known)
    share = score.right / max(score.known, 1)
    return {
        "known": score.known,
        "right": score.right,
        "share": share,
        "low": float(low),
        "high": float(high),
        "learned": score.learned,
    }


def notes(outcome: Outcome) -> list[str]:
    """Return how the votes were read, where that is not plain, and what was dropped."""
    dropped = "" if outcome.dropped is None else outcome.dropped.drop_note
    return [*outcome.notes, *([dropped] if dropped else [])]


def _uncovered(outcome: Outcome) -> int | None:
    """Return how many pairs of classes nobody can tell apart; None where counting would take long."""
    few = len(outcome.panel.classes) <= output.MANY
    return outcome.panel.count_uncovered() if few else None


def tell(outcome: Outcome, seconds: float, method: str) -> None:
    """Print what came of the votes, for a person; `method` is the one that was asked for."""
    tally = outcome.tally
    if method == "auto":
        best = "" if outcome.gold is None else ", the best on the gold items"
        output.say(f"Decoded by {outcome.method}{best}.")
    for note in notes(outcome):
        output.say(f"Note: {note}.")
    missing = _uncovered(outcome)
    if missing:
        pairs = ", ".join(f"({a}, {b})" for a, b in outcome.panel.uncovered(most=3))
        more = f" and {missing - 3:,} more" if missing > 3 else ""
        output.say(
            f"Note: the panel leaves {output.counted(missing, 'pair')} of classes uncovered, {pairs}{more}: "
            "nobody can tell them apart."
        )
    output.say(
        f"{output.counted(tally.items, 'item')}, {output.counted(tally.votes, 'vote')} of "
        f"{output.counted(len(tally.panel), 'expert')}, in {seconds:.1f} s."
    )
    for (name, meaning), count in zip(_MEANINGS.items(), tally.statuses.tolist(), strict=True):
        _line(name, count, tally.items, meaning)
    if tally.classes[-1]:
        output.say(f"{output.counted(int(tally.classes[-1]), 'item')} without a label.")
    if outcome.gold is not None:
        output.say(told(outcome.gold))
    rates = dict(zip(tally.panel.names, tally.experts.accuracy.tolist(), strict=True))
    doubtful = tally.experts.doubtful()
    if doubtful:
        named = ", ".join(f"{name} ({rates[name]:.0%})" for name in doubtful[:6])
        more = f" and {len(doubtful) - 6} more" if len(doubtful) > 6 else ""
        output.say(f"In doubt, by how often they agree with the labels of what they know: {named}{more}.")
    else:
        output.say("No expert stands out as unreliable.")


def _line(name: str, count: int, items: int, meaning: str) -> None:
    if count:
        output.say(f"  {name:<9}{count:>12,}  {percent(count, items):>6}  {meaning}")
