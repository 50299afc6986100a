"""`covote demo`: the main job, from start to end, in seconds."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from covote import atomic
from covote.cli import labels_summary, panel_summary, terminal

_GOLD = 50  # images whose digit is told


def demo(
    folder: Annotated[
        Path, typer.Option("-o", "--output", help="Folder for the panel, answers, labels and report.")
    ] = Path("demo"),
) -> None:
    """Label handwritten digits with a small panel, end to end."""
    from covote.files import Output, decode_file
    from covote.learn.digits import digits

    atomic.make_folder(folder, "--output")
    terminal.say(
        "Ten digits, and experts who can each tell only four of them apart. How many experts are needed?"
    )
    terminal.say()
    result = digits()
    panel_summary.say_covered(result.panel)
    panel_summary.say_fewest(result.panel)
    panel_summary.show_matrix(result.panel)
    terminal.say(
        f"Trained one model per expert on scikit-learn's digits, each on only the classes it knows\n"
        f"({result.trained_on} images), then asked all of them about {result.held_out} held-out images. "
        f"Most of the time\nthey had to answer about digits they have never seen."
    )
    terminal.say()
    terminal.say(f"  each expert, on digits it knows        {result.experts:6.1%}")
    terminal.say(f"  the panel, by the paper's vote         {result.panel_accuracy:6.1%}")
    terminal.say(f"  one centralised model of all digits    {result.centralised:6.1%}")
    terminal.say()
    terminal.say(
        f"{result.sure} of {result.held_out} images got a label that all its experts agree on; "
        f"{result.tied} were ties\n(counted as a fair draw)."
    )
    panel, answers, gold, labels, report = (
        folder / name for name in ("panel.toml", "answers.csv", "gold.csv", "labels.csv", "report.html")
    )
    result.panel.save(panel)
    result.votes.save(answers, "wide")
    known = (f"{item},{digit}\n" for item, digit in enumerate(result.truth[:_GOLD]))
    atomic.write_text(gold, "item,label\n" + "".join(known))
    terminal.say_written(panel, answers, gold)
    terminal.say()
    terminal.say(f"With files like these, and {_GOLD} images whose digit is known:")
    terminal.say(f"covote decode {answers} --panel {panel} --gold {gold} -o {labels} --report {report}")
    terminal.say()
    started = time.monotonic()
    outcome = decode_file(answers, Output(labels, report=report), panel, gold=gold)
    labels_summary.tell(outcome, time.monotonic() - started, "learned")
    terminal.say_written(labels, report)
    terminal.say(f"Next: open {report} in a browser, or ask why: covote explain {answers} 17 --panel {panel}")
