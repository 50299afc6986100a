"""`covote select`: the cheapest experts that still cover, or the best for a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from covote.cli import panel_summary, terminal
from covote.cli.parameters import Effort, Json, Output, PanelFile, Plot, Redundancy, Seed, number
from covote.panel import Name, Panel


def select(
    panel_file: PanelFile,
    redundancy: Redundancy = 1,
    keep: Annotated[list[str] | None, typer.Option(help="Expert to keep (repeatable).")] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            parser=number,
            help="Spend at most this much; minimise the error bound instead of covering every pair.",
        ),
    ] = None,
    accuracy: Annotated[
        str | None,
        typer.Option(
            help="With --budget: how often experts are right about what they know, a number or a table "
            "(expert, accuracy) (default: 1)."
        ),
    ] = None,
    prior: Annotated[
        Path | None,
        typer.Option(help="With --budget: table of class frequencies (class, share) (default: uniform)."),
    ] = None,
    effort: Effort = "normal",
    seed: Seed = 0,
    output_file: Output = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Choose the cheapest experts, or the best for a budget.

    Without a budget, the chosen experts still cover every pair of classes."""
    from covote.covers import select as select_panel
    from covote.files import read_numbers

    terminal.check_places(plot, panel=output_file, read=[panel_file, accuracy, prior])
    pool = Panel.load(panel_file)
    rates = _accuracy(accuracy, pool)
    with terminal.progress_bar() as progress:
        panel = select_panel(
            pool,
            redundancy=redundancy,
            keep=_names(keep or [], pool),
            budget=budget,
            accuracy=rates,
            prior=None if prior is None else read_numbers(prior, pool.classes, "share"),
            effort=effort,
            seed=seed,
            progress=progress,
        )
    if as_json:
        share = {} if budget is None else {"worst_case_accuracy": panel_summary.worst_case(panel)}
        terminal.say_json({**panel_summary.panel_dict(panel), "cost": float(panel.cost.sum()), **share})
    else:
        _tell(panel, pool, budget, rates)
        if budget is not None:
            panel_summary.say_worst_case(panel)
        panel_summary.show_matrix(panel)
        panel_summary.say_redundancy(panel)
    panel_summary.save_panel(panel, output_file, plot, quiet=as_json)


def _accuracy(text: str | None, pool: Panel) -> float | dict[Name, float] | None:
    """Return the accuracy of all experts, or of each from a table."""
    from covote.files import read_numbers

    try:
        return None if text is None else float(text)
    except ValueError:
        return read_numbers(str(text), pool.names, "accuracy")


def _tell(panel: Panel, pool: Panel, budget: float | None, accuracy: Any) -> None:
    of_all = f"{len(panel)} of {terminal.counted(len(pool), 'expert')}"
    cost = f"at a cost of {panel.cost.sum():g} of {pool.cost.sum():g}."
    if budget is None:
        terminal.say(f"{of_all} cover every pair, {cost}")
        proof = panel.certificate
        assert proof is not None
        bar = "No cheaper choice" if proof.optimal else f"No choice for less than {proof.lower:g}"
        terminal.say(f"{bar} covers every pair.")
        return
    missing = panel.count_uncovered()
    covered = "cover every pair" if not missing else f"leave {terminal.counted(missing, 'pair')} uncovered"
    proof = panel.certificate
    assert proof is not None
    terminal.say(f"{of_all} {covered}, {cost}")
    right = (
        "are right about what they know as the table says"
        if isinstance(accuracy, dict)
        else "are never wrong about what they know"
        if accuracy in (None, 1)
        else f"are right about what they know {accuracy:.4g} of the time"
    )
    terminal.say(
        f"Error at most {proof.size:.4g}, if experts {right} and guess evenly about what they do not know; "
        f"no choice for {budget:g} has a bound below {proof.lower:.4g}."
    )


def _names(texts: list[str], pool: Panel) -> list[str | int]:
    """Read names from the command line, where the integer 7 and the string "7" look the same."""
    integers = {str(name): name for name in pool.names if isinstance(name, int)}
    strings = {name for name in pool.names if isinstance(name, str)}
    return [text if text in strings else integers.get(text, text) for text in texts]
