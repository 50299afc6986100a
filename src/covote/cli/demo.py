"""`covote demo`: the main job, from start to end, in seconds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covote import atomic
from covote.cli import output


def demo(
    folder: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the panel and its picture.")
    ] = Path("demo"),
) -> None:
    """Label handwritten digits with a small panel, end to end."""
    from covote.learn.digits import digits

    atomic.make_folder(folder, "--output")
    output.say(
        "Ten digits, and experts who can each tell only four of them apart. How many experts are needed?"
    )
    output.say()
    result = digits()
    output.say_covered(result.panel)
    output.say_proof(result.panel, built=False)
    output.show_matrix(result.panel)
    output.say(
        f"Trained one model per expert on scikit-learn's digits, each on only the classes it knows\n"
        f"({result.trained_on} images), then asked all of them about {result.held_out} held-out images. "
        f"Most of the time\nthey had to answer about digits they have never seen."
    )
    output.say()
    output.say(f"  each expert, on digits it knows        {result.experts:6.1%}")
    output.say(f"  the panel, by the paper's vote         {result.panel_accuracy:6.1%}")
    output.say(f"  one centralised model of all digits    {result.centralised:6.1%}")
    output.say()
    output.say(
        f"{result.sure} of {result.held_out} images got a label that all its experts agree on; "
        f"{result.tied} were ties\n(counted as a fair draw)."
    )
    picture, file = folder / "panel.png", folder / "panel.toml"
    output.save_panel(result.panel, file, picture, quiet=False)
    output.say(f"Look at {picture}; then try: covote check {file}")
