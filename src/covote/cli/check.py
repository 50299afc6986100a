"""`covote check`: what a panel covers, and what it survives."""

from __future__ import annotations

import typer

from covote import atomic
from covote.bounds import best_lower_bound
from covote.cli import output
from covote.cli.arguments import Json, PanelFile, Picture, Times
from covote.panel import Panel

_SHOWN = 20  # uncovered pairs, and experts without whom there are more, that are listed
_MOST = 100_000  # the same in JSON


def check(panel_file: PanelFile, times: Times = 1, picture: Picture = None, as_json: Json = False) -> None:
    """Say which pairs of classes a panel covers. Exit status 1 if any is uncovered."""
    output.check_picture(picture)
    atomic.check_apart([picture], [panel_file])
    panel = Panel.load(panel_file)
    missing = panel.count_uncovered(times)
    if as_json:
        output.say_json(
            {
                "experts": len(panel),
                "classes": len(panel.classes),
                "covers": panel.redundancy,
                "asked": times,
                "uncovered_pairs": missing,
                "uncovered": panel.uncovered(times, most=_MOST),
                "correctable": panel.correctable(),
                "detectable": panel.detectable(),
                "single_points_of_failure": [
                    {"expert": name, "pairs": pairs} for name, pairs in panel.survives().critical
                ],
            }
        )
    else:
        _tell(panel, missing, times)
        if missing:
            size = max(2, int(panel.sizes.max(initial=0)))
            more = "" if times == 1 else f" --times {times}"
            output.say(f"Next: covote complete {panel_file} {size}{more} -o complete.toml")
    output.keep(panel, None, picture, quiet=as_json)
    if missing:
        raise typer.Exit(1)


def _tell_outages(panel: Panel) -> None:
    critical = panel.survives().critical
    if not critical or critical[0][1] == critical[-1][1]:
        return  # nobody, or everybody alike: that was said already
    shown = ", ".join(f"{name} ({pairs:,})" for name, pairs in critical[:_SHOWN])
    more = f" and {len(critical) - _SHOWN:,} more" if len(critical) > _SHOWN else ""
    output.say(f"Single points of failure (pairs lost without them): {shown}{more}.")


def _tell(panel: Panel, missing: int, times: int) -> None:
    output.say_covered(panel)
    output.show_matrix(panel)
    output.say_redundancy(panel)
    _tell_outages(panel)
    if missing:
        pairs = ", ".join(f"({a}, {b})" for a, b in panel.uncovered(times, most=_SHOWN))
        more = f" and {missing - _SHOWN:,} more" if missing > _SHOWN else ""
        often = "" if times == 1 else f" {times} times"
        output.say(f"Not covered{often}: {pairs}{more}.")
    elif len(panel) and len(panel.classes) > 1:
        size = int(panel.sizes.max())
        if size >= 2:
            fewest, name = best_lower_bound(len(panel.classes), size, times)
            output.say(
                f"Any panel of experts with at most {output.counted(size, 'class')} needs at least "
                f"{output.counted(fewest, 'expert')} ({name}); this one has {len(panel):,}."
            )
