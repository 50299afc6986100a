"""A run of models over a dataset, as `covote label` prints it: questions, failures, tokens and costs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covote.arguments import money
from covote.cli import labels_summary, terminal

if TYPE_CHECKING:
    from covote.labelling import ExpertRun, Labelling
    from covote.labelling.previewing import UsageEstimate


def show_estimate(found: UsageEstimate) -> None:
    """Print a prompt, and what a run would take."""
    if found.expert is not None:
        terminal.say(f"The first prompt to {found.expert}:\n\n{found.prompt}\n")
    cells = [
        (str(name), f"{used.calls:,}", *((f"{used.tokens_in:,}", f"{used.tokens_out:,}", money(used.cost))
         if chat else ("", "", "")))
        for name, used, chat in found.rows
    ]  # fmt: skip
    total = found.total
    total_row = ("language models", f"{total.calls:,}", f"{total.tokens_in:,}", f"{total.tokens_out:,}",
             money(total.cost))  # fmt: skip
    heads = ("expert", "calls", "tokens in", "tokens out", "cost")
    several = len(cells) > 1 and found.expert is not None
    terminal.say_table(heads, [*cells, total_row] if several else cells, "<>>>>")
    terminal.say("Tokens are estimated from the length of the prompts. Nothing was asked.")


def failure_notes(found: Labelling) -> list[str]:
    """Return what went wrong with which expert, and what that does to coverage."""
    notes = [_failure(run) for run in found.experts if run.missing and run.reason]
    uncovered = found.uncovered
    if notes and uncovered:
        shown = terminal.first_of((f"{one} and {other}" for one, other in uncovered), 4)
        notes.append(
            f"where answers are missing, no one can tell {terminal.counted(len(uncovered), 'pair')} "
            f"of classes apart: {shown}"
        )
    elif notes:
        notes.append("where answers are missing, the other experts still cover every pair of classes")
    return notes


def _failure(run: ExpertRun) -> str:
    some = (
        "all its answers"
        if run.missing == run.wanted
        else f"its answers to {run.missing:,} of {run.wanted:,} items"
    )
    others = [
        f"{failure} ({count} times)" for failure, count in run.failures.items() if failure != run.reason
    ]
    repeats = run.failures[run.reason]
    often = f" {repeats} times" if repeats > 1 else ""
    return "; ".join([f"{run.reason}{often} ({some} are missing)", *others])


def tell(found: Labelling, ask: str) -> None:
    """Print what was asked, and what it cost."""
    questions = sum(run.asked for run in found.experts)
    needed = sum(run.wanted for run in found.experts)
    there = sum(run.before for run in found.experts)
    before = f" ({there:,} of {needed:,} answers were there already)" if there else ""
    decide = ""
    if found.soft and found.outcome.method == "learned":
        plain = len(found.without_probabilities)
        whose = (
            f"the probabilities of {len(found.experts) - plain} of them" if plain else "their probabilities"
        )
        decide = f"; {whose} decide ties"
    terminal.say(
        f"Asked {terminal.counted(len(found.experts), 'expert')} {questions:,} questions{before}{decide}."
    )
    if ask != "everyone":
        saved = found.questions - needed
        panel = found.outcome.panel
        cost = [panel.cost[panel.expert_index(run.name)] for run in found.experts]
        spent = sum(run.wanted * each for run, each in zip(found.experts, cost, strict=True))
        full = found.questions / len(found.experts) * sum(cost)
        terminal.say(
            f"Asked with --ask {ask}: {saved:,} of {found.questions:,} questions were saved; cost "
            f"{spent:,.6g} instead of {full:,.6g}."
        )
    for run in found.experts:
        if run.usage.calls:
            used = run.usage
            terminal.say(
                f"Expert {run.name!r}: {used.calls:,} calls, {used.tokens_in:,} tokens in and "
                f"{used.tokens_out:,} out{f', cost {money(used.cost)}' if used.cost else ''}, in all runs."
            )
    if found.over_budget:
        terminal.say("The budget was reached; a larger --budget asks the rest.")


def summary(found: Labelling, ask: str) -> dict[str, Any]:
    """Return the run and its labels, for JSON."""
    data = labels_summary.summary(found.outcome)
    runs = {str(run.name): run for run in found.experts}
    for expert in data["experts"]:
        run = runs.get(str(expert["name"]))
        if run is None:  # a stored table
            continue
        expert.update(
            wanted=run.wanted,
            asked=run.asked,
            calls=run.calls,
            failed=run.failed,
            missing=run.missing,
            reason=run.reason or None,
            lost=run.lost,
            failures=dict(run.failures),
            **({"usage": run.usage._asdict()} if run.usage.calls else {}),
        )
    needed = sum(run.wanted for run in found.experts)
    return {
        **data,
        "questions": found.questions,
        "saved": found.questions - needed if ask != "everyone" else 0,
        "probabilities": found.soft,
        "without_probabilities": list(found.without_probabilities),
        "uncovered": [list(pair) for pair in found.uncovered],
        "answers": str(found.answers),
    }
