"""A page about a replay: what each rule would have needed, and quality against answers per item."""

from __future__ import annotations

import os
from typing import Any

from covote import atomic
from covote.asking.replay import Replay
from covote.files.report import charts, html


def write_replay(path: str | os.PathLike[str], replay: Replay, source: str) -> None:
    """Write a page with the table and the curve; `source` is what the votes are called in it."""
    with charts.own_settings():
        picture = charts.inline(_figure(replay), "quality of the labels against answers per item")
    page = html.render("ask.html", {"replay": replay, "source": source, "picture": picture})
    atomic.write_text(path, page)


def _figure(replay: Replay) -> Any:
    figure, axes = charts.new_figure()
    for colour, (name, points) in zip(charts.COLOURS[1:], replay.curve.items(), strict=False):
        answers, quality = zip(*points, strict=True)
        axes.plot(answers, [100 * value for value in quality], marker="o", color=colour, label=name)
    axes.set_xlabel("answers per item")
    axes.set_ylabel("right, %" if replay.gold else "agreement with all, %")
    axes.legend(frameon=False)
    return figure
