"""The outcome of decoding, as commands print it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from covote.cli import panel_summary, terminal
from covote.decoding.explaining import advice
from covote.decoding.gold import gold_sentence, wilson
from covote.files.outcome import percent
from covote.files.review import GOALS
from covote.labels import MEANINGS, STATUSES

if TYPE_CHECKING:
    from covote.decoding import ExpertReport
    from covote.files import Outcome
    from covote.files.review import ExpectedErrors
    from covote.labels import GoldScore

DOUBTFUL = 0.05
"""Share of wrong labels above which the summary advises gold items."""


def summary(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome, for JSON."""
    report = outcome.experts
    gold = outcome.gold
    return {
        "items": outcome.items,
        "answers": outcome.votes.answers,
        "labelled": outcome.items - outcome.unlabelled,
        "otherwise_by_majority": outcome.otherwise_by_majority,
        **dict(zip(STATUSES, outcome.statuses.tolist(), strict=True)),
        "unreliable": report.unreliable(),
        "notes": [*outcome.unanswered_experts(), *outcome.notes, *outcome.findings],
        "review": _review(outcome),
        "dropped": None if outcome.dropped is None else outcome.dropped.to_dict(),
        "uncovered_pairs": _uncovered(outcome),
        "gold": None if gold is None else _gold(gold),
        "better": outcome.better or None,
        "experts": [
            {
                "name": name,
                "answers": int(outcome.answers[i]),
                "inside": int(report.inside[i]),
                "agreement": None if report.inside[i] == 0 else float(report.accuracy[i]),
                "low": float(report.low[i]),
                "high": float(report.high[i]),
                "none_of_mine": int(report.none[i]),
                "gold": None
                if gold is None
                else {"known": int(gold.expert_asked[i]), "right": int(gold.expert_right[i])},
            }
            for i, name in enumerate(outcome.panel.names)
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
        "refutes": score.refutes,
        "doubtful": score.doubtful,
    }


def _uncovered(outcome: Outcome) -> int | None:
    """Return how many pairs of classes no one can tell apart; None where counting would take long."""
    few = len(outcome.panel.classes) <= panel_summary.MANY
    return outcome.panel.count_uncovered() if few else None


def tell(outcome: Outcome, seconds: float, method: str, review: Path | None = None) -> None:
    """Print the outcome for people; `method` is the one that was asked for, `review` the list written."""
    terminal.say_notes([*outcome.warnings(), *outcome.notes])
    if method == "auto":
        best = "" if outcome.gold is None else ", the best on the gold items"
        terminal.say(f"Decoded by {outcome.method}{best}.")
    missing = _uncovered(outcome)
    if missing:
        uncovered = outcome.panel.uncovered(most=3)
        pairs = terminal.first_of((f"{a} and {b}" for a, b in uncovered), 3, missing)
        terminal.say(
            f"For {terminal.counted(missing, 'pair')} of classes no expert knows both: {pairs}. Labels "
            "between them are guesses."
        )
    items = terminal.counted(outcome.items, "item")
    answers = terminal.counted(outcome.votes.answers, "answer")
    experts = terminal.counted(len(outcome.panel), "expert")
    terminal.say(f"{items}, {answers} from {experts}{_per_item(outcome)}, in {seconds:.1f} s.")
    for (name, meaning), count in zip(MEANINGS.items(), outcome.statuses.tolist(), strict=True):
        if count:
            terminal.say(f"  {name:<11}{count:>10,}  {percent(count, outcome.items):>6}  {meaning}")
    if outcome.unlabelled:
        terminal.say(f"{terminal.counted(outcome.unlabelled, 'item')} without a label.")
        first = next((item for item in outcome.review_head if item.label is None and item.tied), None)
        if first is not None:
            todo = advice(outcome.panel, first.status, None, first.tied, first.answers)
            terminal.say(f"  {first.item}: {todo}")
    if outcome.method != "majority" and outcome.items > outcome.unlabelled:
        terminal.say(_next_to_majority(outcome.otherwise_by_majority))
    if outcome.calibrated:
        terminal.say(_to_review(outcome.expected_errors, review))
        if outcome.gold is None and outcome.expected_errors.expected > max(0.5, DOUBTFUL * outcome.items):
            terminal.say(
                "This rests on the answers alone: about five gold items per class, drawn at random, would "
                "halve its error (--gold)."
            )
    if outcome.gold is not None:
        terminal.say(gold_sentence(outcome.gold))
    if outcome.better:
        terminal.say(outcome.better)
    terminal.say(_unreliable(outcome.experts))


def _next_to_majority(otherwise: int) -> str:
    if not otherwise:
        return "A majority vote would not label any item differently."
    return f"A majority vote would label {terminal.counted(otherwise, 'item')} differently."


def _per_item(outcome: Outcome) -> str:
    """Say how many answers an item has."""
    number = np.flatnonzero(outcome.answers_per_item)
    if not len(number) or number[0] == number[-1]:
        return f" ({number[0]} per item)" if len(number) else ""
    return f" ({outcome.votes.answers / outcome.items:.1f} per item, {number[0]} to {number[-1]})"


def _unreliable(report: ExpertReport) -> str:
    """Name the experts who stand out, and how the others do."""
    unreliable = report.unreliable()
    if not unreliable:
        return "No expert stands out as unreliable."
    rates = dict(zip(report.panel.names, report.accuracy.tolist(), strict=True))
    others = [rate for name, rate in rates.items() if name not in unreliable and rate == rate]
    rest = f" (others: {np.median(others):.0%})" if others else ""
    if len(unreliable) == 1:
        (name,) = unreliable
        agrees = f"who agrees with the label in {rates[name]:.0%} of the cases in their field"
        return f"Possibly unreliable: {name}, {agrees}{rest}."
    named = terminal.first_of((f"{name} {rates[name]:.0%}" for name in unreliable), 6)
    return f"Possibly unreliable, by how often they agree with the label in their field: {named}{rest}."


def _to_review(doubt: ExpectedErrors, review: Path | None) -> str:
    """Say how many labels are expected to be wrong, how many items to look at, and where they are listed."""
    labels = doubt.items - doubt.open
    if doubt.expected < 0.5:
        sentence = f"Probably fewer than one of {labels:,} labels is wrong."
    else:
        number = f"{doubt.expected:,.0f}"
        are = "is" if number == "1" else "are"
        sentence = (
            f"About {number} of {labels:,} labels ({_rounded(doubt.expected / labels)}) {are} probably wrong."
        )
    most = {doubt.needed(goal): goal for goal in GOALS}  # of goals that need equally many items, the highest
    now = _rounded((doubt.expected + doubt.open) / doubt.items)
    steps = [(number, 1 - goal) for number, goal in most.items() if number and f"{1 - goal:.0%}" != now]
    if not steps:
        return sentence
    (first, left), *more = steps
    items = "most doubtful item" if first == 1 else f"{first:,} most doubtful items"
    items = f"all {first:,} items" if first == doubt.items > 1 else f"the {items}"
    this = "wrong and missing labels" if doubt.open else "this"
    rest = "".join(f", checking {number:,} to {error:.0%}" for number, error in more)
    return (
        f"{sentence} Checking {items} should bring {this} to {left:.0%}{rest} ({review or '--review FILE'})."
    )


def _rounded(share: float) -> str:
    """Return an estimated share: whole percent from 1% on."""
    return f"{share:.0%}" if share >= 0.01 else percent(share)


def _review(outcome: Outcome) -> dict[str, Any] | None:
    if not outcome.calibrated:
        return None
    needed = {f"{goal:.0%}": outcome.expected_errors.needed(goal) for goal in GOALS}
    return {
        "expected_wrong": outcome.expected_errors.expected,
        "without_label": outcome.unlabelled,
        "look_at_for": needed,
    }
