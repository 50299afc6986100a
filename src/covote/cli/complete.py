"""`covote complete`: the fewest additional experts."""

from __future__ import annotations

from typing import Annotated

import typer

from covote.cli import panel_summary, terminal
from covote.cli.parameters import (
    Effort,
    Json,
    Output,
    PanelFile,
    Plot,
    Redundancy,
    Seed,
    Size,
    number,
    read_size,
)
from covote.panel import Panel


def complete(
    panel_file: PanelFile,
    size: Size,
    redundancy: Redundancy = 1,
    teach: Annotated[
        bool,
        typer.Option(
            "--teach",
            help="Teach the existing experts, up to SIZE classes each, instead of adding new ones.",
        ),
    ] = False,
    new_cost: Annotated[
        float | None,
        typer.Option(parser=number, help="Cost of a new expert (default: the mean of the others)."),
    ] = None,
    effort: Effort = "normal",
    seed: Seed = 0,
    output_file: Output = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Find the fewest experts to add to a panel.

    Afterwards every pair of classes is known by a common expert.
    """
    from covote.covers import complete as complete_panel
    from covote.covers.completing import fillers

    terminal.check_places(plot, panel=output_file, read=[panel_file])
    before = Panel.load(panel_file)
    with terminal.progress_bar() as progress:
        panel = complete_panel(
            before,
            read_size(size),
            redundancy=redundancy,
            teach=teach,
            new_cost=new_cost,
            effort=effort,
            seed=seed,
            progress=progress,
        )
    spare = [] if teach else fillers(panel, len(before), redundancy)
    if as_json:
        unneeded = {str(name): some for name, some in zip(panel.names[len(before) :], spare, strict=False)}
        terminal.say_json({**panel_summary.panel_dict(panel), **({} if teach else {"fillers": unneeded})})
    elif teach:
        _tell_lessons(before, panel)
    else:
        added = len(panel) - len(before)
        more = "1 more expert makes" if added == 1 else f"{added:,} more experts make"
        terminal.say(f"{more} the panel complete:" if added else "The panel already covers every pair.")
        new = zip(panel.names[len(before) :], panel.blocks()[len(before) :], spare, strict=True)
        for name, block, some in new:
            shown = (f"({known})" if known in some else str(known) for known in block)
            terminal.say(f"  {name}: {', '.join(shown)}")
        if any(spare):
            terminal.say("Classes in brackets are optional.")
        if added and new_cost is None and (before.cost != 1).any():
            terminal.say(
                f"A new expert is priced at {panel.cost[-1]:g}, the mean of the others; "
                "--new-cost changes it."
            )
        panel_summary.say_covered(panel.present)
        if added:
            panel_summary.say_fewest(panel, "new experts")
        panel_summary.show_matrix(panel.present)
    panel_summary.save_panel(panel, output_file, plot, quiet=as_json, new=len(panel) - len(before))


def _tell_lessons(before: Panel, panel: Panel) -> None:
    proof = panel.certificate
    assert proof is not None
    lessons = int(proof.size)
    more = "1 lesson makes" if lessons == 1 else f"{lessons:,} lessons make"
    terminal.say(f"{more} the panel complete:" if lessons else "The panel already covers every pair.")
    for name, known, now in zip(panel.names, before.knows, panel.knows, strict=True):
        new = [str(panel.classes[k]) for k in (now & ~known).nonzero()[0]]
        if new:
            terminal.say(f"  {name} learns {', '.join(new)}")
    panel_summary.say_covered(panel.present)
    if lessons:
        panel_summary.say_fewest(panel, "lessons")
    panel_summary.show_matrix(panel.present)
