"""`covote complete`: the fewest additional experts."""

from __future__ import annotations

from typing import Annotated

import typer

from covote.cli import output
from covote.cli.arguments import Effort, Json, Output, PanelFile, Plot, Redundancy, Seed, Size, read_size
from covote.panel import Panel


def complete(
    panel_file: PanelFile,
    size: Size,
    redundancy: Redundancy = 1,
    teach: Annotated[
        bool,
        typer.Option(
            "--teach",
            help="Teach the experts there are, up to SIZE classes each, instead of hiring new ones.",
        ),
    ] = False,
    effort: Effort = "normal",
    seed: Seed = 0,
    output_file: Output = None,
    plot: Plot = None,
    as_json: Json = False,
) -> None:
    """Find the fewest experts to add to a panel.

    Afterwards every pair of classes is known by a common expert."""
    from covote.covers import complete as complete_panel

    output.check_places(plot, panel=output_file, read=[panel_file])
    before = Panel.load(panel_file)
    with output.progress_bar() as progress:
        panel = complete_panel(
            before,
            read_size(size),
            redundancy=redundancy,
            teach=teach,
            effort=effort,
            seed=seed,
            progress=progress,
        )
    if as_json:
        output.say_json(output.panel_dict(panel))
    elif teach:
        _tell_lessons(before, panel)
    else:
        added = len(panel) - len(before)
        more = "1 more expert makes" if added == 1 else f"{added:,} more experts make"
        output.say(f"{more} the panel complete:" if added else "The panel is complete as it is.")
        for name, block in zip(panel.names[len(before) :], panel.blocks()[len(before) :], strict=True):
            output.say(f"  {name}: {', '.join(map(str, block))}")
        output.say_covered(panel)
        if added:
            output.say_proof(panel, " for new experts", "new experts too many")
        output.show_matrix(panel)
    output.keep(panel, output_file, plot, quiet=as_json)


def _tell_lessons(before: Panel, panel: Panel) -> None:
    proof = panel.certificate
    assert proof is not None
    lessons = int(proof.size)
    more = "1 lesson makes" if lessons == 1 else f"{lessons:,} lessons make"
    output.say(f"{more} the panel complete:" if lessons else "The panel is complete as it is.")
    for name, known, now in zip(panel.names, before.knows, panel.knows, strict=True):
        new = [str(panel.classes[k]) for k in (now & ~known).nonzero()[0]]
        if new:
            output.say(f"  {name} learns {', '.join(new)}")
    output.say_covered(panel)
    if lessons:
        output.say_proof(panel, " for lessons", "lessons too many")
    output.show_matrix(panel)
