"""`covote select`: the cheapest experts that still cover, or the best for a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from covote.cli import panel_summary, terminal
from covote.cli.parameters import Effort, Json, Output, PanelFile, Plot, Redundancy, Seed, number
from covote.errors import InputError
from covote.panel import Panel


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

    table = None if accuracy is None or _is_number(accuracy) else Path(accuracy)
    terminal.check_places(plot, panel=output_file, read=[panel_file, table, prior])
    pool = Panel.load(panel_file)
    model = _model(pool, accuracy, table, prior)
    with terminal.progress_bar() as progress:
        panel = select_panel(
            pool,
            redundancy=redundancy,
            keep=_names(keep or [], pool),
            budget=budget,
            **model,
            effort=effort,
            seed=seed,
            progress=progress,
        )
    if as_json:
        share = {} if budget is None else {"worst_case_accuracy": panel_summary.worst_case(panel)}
        terminal.say_json({**panel_summary.panel_dict(panel), "cost": float(panel.cost.sum()), **share})
    else:
        _tell(panel, pool, budget, model)
        if budget is not None:
            panel_summary.say_worst_case(panel)
        panel_summary.show_matrix(panel)
        panel_summary.say_redundancy(panel)
    panel_summary.save_panel(panel, output_file, plot, quiet=as_json)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _model(pool: Panel, accuracy: str | None, table: Path | None, prior: Path | None) -> dict[str, Any]:
    """Return accuracies and prior from the command line or tables, as `select` takes them."""
    from covote.files import read_numbers

    found: dict[str, Any] = {"accuracy": None, "prior": None}
    if table is not None:
        found["accuracy"] = read_numbers(table, pool.names, "accuracy")
    elif accuracy is not None:
        found["accuracy"] = float(accuracy)
    if prior is not None:
        shares = read_numbers(prior, pool.classes, "share")
        values = [shares[name] for name in pool.classes]
        total = sum(values)
        if not abs(total - 1) < 1e-3 or min(values) < 0:
            raise InputError(
                f"{prior}: class shares must be 0 or more and sum to 1, not to {total:g}; divide them by "
                "their sum"
            )
        found["prior"] = [value / total for value in values]
    return found


def _tell(panel: Panel, pool: Panel, budget: float | None, model: dict[str, Any]) -> None:
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
    accuracy = model["accuracy"]
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
