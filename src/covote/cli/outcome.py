"""The outcome of decoding, as commands print it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covote.cli import output
from covote.decoding.explaining import settling
from covote.decoding.gold import gold_sentence, wilson
from covote.files.review import GOALS
from covote.files.tally import percent
from covote.labels import MEANINGS, STATUSES

if TYPE_CHECKING:
    from covote.files import Outcome
    from covote.files.review import Doubt
    from covote.labels import GoldScore


def summary(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome, for JSON."""
    tally = outcome.tally
    report = tally.experts
    gold = outcome.gold
    return {
        "items": tally.items,
        "votes": tally.votes,
        "labelled": tally.items - tally.unlabelled,
        **dict(zip(STATUSES, tally.statuses.tolist(), strict=True)),
        "in_doubt": report.doubtful(),
        "notes": [*outcome.silent(), *outcome.notes],
        "review": _review(outcome),
        "dropped": None if outcome.dropped is None else outcome.dropped.to_dict(),
        "uncovered_pairs": _uncovered(outcome),
        "gold": None if gold is None else _gold(gold),
        "experts": [
            {
                "name": name,
                "answers": int(tally.answers[i]),
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


def _uncovered(outcome: Outcome) -> int | None:
    """Return how many pairs of classes no one can tell apart; None where counting would take long."""
    few = len(outcome.panel.classes) <= output.MANY
    return outcome.panel.count_uncovered() if few else None


def tell(outcome: Outcome, seconds: float, method: str) -> None:
    """Print the outcome for people; `method` is the one that was asked for."""
    tally = outcome.tally
    output.say_notes(outcome.told())
    if method == "auto":
        best = "" if outcome.gold is None else ", the best on the gold items"
        output.say(f"Decoded by {outcome.method}{best}.")
    missing = _uncovered(outcome)
    if missing:
        uncovered = outcome.panel.uncovered(most=3)
        pairs = output.first_of((f"({a}, {b})" for a, b in uncovered), 3, missing)
        output.say(
            f"Note: the panel leaves {output.counted(missing, 'pair')} of classes uncovered, {pairs}: "
            "no one can tell them apart."
        )
    output.say(
        f"{output.counted(tally.items, 'item')}, {output.counted(tally.votes, 'vote')} from "
        f"{output.counted(len(tally.panel), 'expert')}, in {seconds:.1f} s."
    )
    for (name, meaning), count in zip(MEANINGS.items(), tally.statuses.tolist(), strict=True):
        if count:
            output.say(f"  {name:<11}{count:>10,}  {percent(count, tally.items):>6}  {meaning}")
    if tally.unlabelled:
        output.say(f"{output.counted(tally.unlabelled, 'item')} without a label.")
        first = next((look for look in outcome.looks if look.label is None and look.tied), None)
        if first is not None:
            output.say(f"  {first.item}: {settling(outcome.panel, first.tied)}")
    if tally.calibrated:
        output.say(_to_review(tally.doubt))
    if outcome.gold is not None:
        output.say(gold_sentence(outcome.gold))
    rates = dict(zip(tally.panel.names, tally.experts.accuracy.tolist(), strict=True))
    doubtful = tally.experts.doubtful()
    if doubtful:
        named = (f"{name} (agrees with {rates[name]:.0%} of the labels they know)" for name in doubtful)
        output.say(f"Possibly unreliable: {output.first_of(named, 6)}.")
    else:
        output.say("No expert stands out as unreliable.")


def _to_review(doubt: Doubt) -> str:
    """Say how many labels are expected to be wrong, and how many items to look at."""
    wrong = f"about {doubt.expected:,.0f}" if doubt.expected >= 0.5 else "less than one"
    said = f"Expect {wrong} wrong label{'' if wrong in ('about 1', 'less than one') else 's'}."
    looks = {doubt.needed(goal): goal for goal in GOALS}  # of goals that need equally many items, the highest
    first, *more = [(number, goal) for number, goal in looks.items() if number] or [(0, 0.0)]
    if not first[0]:
        return said
    items = "most doubtful item" if first[0] == 1 else f"{first[0]:,} most doubtful items"
    rest = "".join(f", {number:,} to get {goal:.0%}" for number, goal in more)
    return f"{said} Review the {items} to get {first[1]:.0%} right{rest} (--review FILE)."


def _review(outcome: Outcome) -> dict[str, Any] | None:
    tally = outcome.tally
    if not tally.calibrated:
        return None
    needed = {f"{goal:.0%}": tally.doubt.needed(goal) for goal in GOALS}
    return {"expected_wrong": tally.doubt.expected, "without_label": tally.unlabelled, "look_at_for": needed}
