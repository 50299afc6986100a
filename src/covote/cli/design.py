"""`covote design`: the fewest experts for these classes."""

from __future__ import annotations

from typing import Annotated

import typer

from covote.cli import panel_summary, terminal
from covote.cli.parameters import (
    Effort,
    Json,
    Output,
    Plot,
    Redundancy,
    Seed,
    Size,
    choice,
    integer,
    read_classes,
    read_model,
    read_size,
)


def design(
    classes: Annotated[
        str, typer.Argument(help="How many classes, a text file with one class per line, or a panel file.")
    ],
    size: Size,
    redundancy: Redundancy = 1,
    method: Annotated[
        str,
        typer.Option(
            help="The fewest experts (auto), the paper's greedy cover, or random experts.",
            **choice("auto", "paper", "random"),
        ),
    ] = "auto",
    experts: Annotated[
        int | None, typer.Option(parser=integer, help="How many experts, with --method random.")
    ] = None,
    effort: Effort = "normal",
    seed: Seed = 0,
    model: Annotated[
        str | None,
        typer.Option(
            help="The model that answers for every expert, as a panel file has it: chat:ADDRESS, or an "
            "inline table with its options."
        ),
    ] = None,
    output_file: Output = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Design a small panel that covers every pair of classes.

    Ctrl-C during the search gives the best panel found so far.
    """
    from covote.covers import design as design_panel
    from covote.panel import Panel

    terminal.check_places(plot, panel=output_file, read=[classes])
    answering = None
    if model is not None:
        from covote.models.entries import entry

        answering = read_model(model)
        entry(answering)  # a mistake in it is reported before the search
    with terminal.progress_bar() as progress:
        panel = design_panel(
            read_classes(classes),
            read_size(size),
            redundancy=redundancy,
            method=method,
            effort=effort,
            seed=seed,
            experts=experts,
            progress=progress,
        )
    if answering is not None:
        panel = Panel(
            panel.classes, panel.knows, panel.names, panel.cost,
            models=[answering] * len(panel), certificate=panel.certificate,
        )  # fmt: skip
    if as_json:
        terminal.say_json(panel_summary.panel_dict(panel))
    else:
        panel_summary.say_covered(panel)
        panel_summary.say_fewest(panel)
        panel_summary.show_matrix(panel)
        panel_summary.say_redundancy(panel)
    panel_summary.save_panel(panel, output_file, plot, quiet=as_json)
    if output_file is not None and not as_json:
        work = "decode answers.csv" if model is None else "label items.csv"
        terminal.say(f"Next: covote {work} --panel {output_file} -o labels.csv")
