"""Panels as commands print and save them: who knows what, what is covered, what an outage costs."""

from __future__ import annotations

import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.bounds import worst_case_accuracy
from covote.cli.terminal import counted, draw, say, say_written
from covote.panel import Panel
from covote.panel.pictures import text_matrix

MANY = 2000
"""Classes beyond which a command does not count all pairs just to print a number."""
_MOST_CLASSES = 150  # classes up to which the worst case is computed
_SURVIVES = "A panel designed with --redundancy 2 survives the loss of any one expert."


def panel_dict(panel: Panel) -> dict[str, Any]:
    """Return a panel and its certificate, for JSON."""
    proof = panel.certificate
    certificate = None if proof is None else {**asdict(proof), "optimal": proof.optimal, "gap": proof.gap}
    return {**panel.to_dict(), "covers": panel.redundancy, "certificate": certificate}


def show_matrix(panel: Panel) -> None:
    """Print who knows what, if it is small enough to read."""
    experts, classes = panel.knows.shape
    if experts and classes <= 60:
        say()
        width = min(100, shutil.get_terminal_size((100, 40)).columns - 2)
        say("\n".join(f"  {line}".rstrip() for line in text_matrix(panel, width=width).splitlines()))
        say()


def say_covered(panel: Panel) -> None:
    """Print how many classes the experts know, and which pairs they cover."""
    experts, classes = panel.knows.shape
    if not experts:
        say(f"No experts yet for {counted(classes, 'class')}.")
        return
    is_single = experts == 1
    who = f"{counted(experts, 'expert')} who {'knows' if is_single else 'each know'} {_span(panel.sizes)} of"
    who += f" {counted(classes, 'class')}"
    redundancy = panel.redundancy
    pairs = classes * (classes - 1) // 2
    if redundancy == 0:
        missing = panel.count_uncovered()
        which = "the only pair" if pairs == 1 else f"{missing:,} of the {pairs:,} pairs"
        say(
            f"{counted(experts, 'expert')}, {counted(classes, 'class')}: for {which} of classes no expert "
            "knows both."
        )
    else:
        what = "the only pair" if pairs == 1 else f"all {pairs:,} pairs"
        often = {1: "", 2: ", each twice"}.get(redundancy, f", each {redundancy} times")
        often = often.replace(", each", "") if pairs == 1 else often
        say(f"{who} {'covers' if is_single else 'cover'} {what}{often}.")


def _span(values: NDArray[np.int64]) -> str:
    """Return "4", or "3 to 5"."""
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def say_fewest(panel: Panel, what: str = "experts") -> None:
    """Print how few could suffice; how this was proved is in the JSON and in the certificate."""
    proof = panel.certificate
    if proof is None or proof.lower <= 1:
        return  # that at least one is needed goes without saying
    few = f"Fewer than {proof.lower:g} {what} cannot suffice"
    say(f"{few}." if proof.optimal else f"{few}; perhaps {proof.size:g} are not needed.")


def say_redundancy(panel: Panel) -> None:
    """Print how many experts know each class, and the effect of an outage or a wrong answer."""
    experts, classes = panel.knows.shape
    if classes < 2 or not experts:
        return
    degrees = panel.knows.sum(axis=0)
    wrong = panel.correctable()
    text = f"Each class is known by {_span(degrees)} expert{'' if degrees.max() == 1 else 's'}. "
    if panel.redundancy == 0:
        text += "Items of these pairs can get the wrong label although no one made a mistake."
    elif panel.redundancy == 1 and classes > MANY:
        text += f"Losing an expert may leave pairs uncovered. {_SURVIVES}"
    elif panel.redundancy == 1:
        critical = panel.survives().critical
        lost = critical[0][1]
        worst = [repr(name) for name, pairs in critical if pairs == lost]
        if len(worst) <= 3:
            who = " or ".join(worst)
        else:
            who = (
                "any one expert" if len(worst) == experts else f"any of {len(worst)} of the {experts} experts"
            )
        text += f"Losing {who} leaves {counted(lost, 'pair')} uncovered. {_SURVIVES}"
    elif wrong == 0:
        wrong = panel.detectable()
        text += (
            f"{_lost(panel)} can be lost, and {counted(wrong, 'wrong answer')} per item "
            f"{'is' if wrong == 1 else 'are'} noticed."
        )
    else:
        text += (
            f"{_lost(panel)} can be lost, and --method authority repairs up to "
            f"{counted(wrong, 'wrong answer')} per item."
        )
    say(text)


def _lost(panel: Panel) -> str:
    """Return how many experts can be lost without losing a pair."""
    return "Any one expert" if panel.redundancy == 2 else f"Any {panel.redundancy - 1} experts"


def worst_case(panel: Panel) -> float | None:
    """Return the accuracy that the panel guarantees; None where finding it would take long."""
    return worst_case_accuracy(panel) if len(panel.classes) <= _MOST_CLASSES else None


def rounded_down(share: float) -> str:
    """Return a share that is promised, in whole percent.

    >>> rounded_down(2 / 3), rounded_down(0.7 - 1e-12)
    ('66%', '70%')
    """
    return f"{int(100 * share + 1e-6)}%"


def say_worst_case(panel: Panel) -> None:
    """Print what a panel that leaves pairs uncovered guarantees."""
    share = worst_case(panel)
    if share is not None and share < 1 - 1e-9:
        say(
            f"In the worst case {rounded_down(share)} of the items still get the right label (all classes "
            "equally frequent, experts right about what they know)."
        )


def save_panel(panel: Panel, file: Path | None, picture: Path | None, *, quiet: bool, new: int = 0) -> None:
    """Write the panel and its picture where asked, and say so; the last `new` experts are marked in it."""
    if file is not None:
        panel.save(file)
    if picture is not None:
        draw(lambda: panel.plot(new=new), picture)
    if not quiet:
        say_written(file, picture)
