"""The report on a file of votes: one HTML page with everything in it, no network needed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from covote import atomic
from covote.files.decoding_files import Outcome
from covote.files.report import charts
from covote.files.report.html import render
from covote.files.report.tally import Look, Tally
from covote.labels import STATUSES
from covote.panel import Name

_PAIRS = 15  # most confused pairs of classes to list
MEANINGS = {
    "sure": "If nobody erred, no other class is possible.",
    "tied": "Several classes are equally good; a label here is the choice of a tie rule.",
    "conflict": "Somebody must have erred; the label explains the votes best.",
    "unheard": "Nobody who knows some class answered, so that class is still possible.",
}


def write_report(
    path: str | os.PathLike[str],
    outcome: Outcome,
    *,
    source: str,
    method: str,
    inferred: bool = False,
    notes: Sequence[str] = (),
) -> None:
    """Write the report on an outcome to an HTML file, completely or not at all."""
    page = report_page(outcome, source=source, method=method, inferred=inferred, notes=notes)
    atomic.write_text(path, page)


def report_page(
    outcome: Outcome, *, source: str, method: str, inferred: bool = False, notes: Sequence[str] = ()
) -> str:
    """Return the report as HTML; `notes` are warnings to show at its top."""
    told = {"source": source, "method": method, "inferred": inferred, "notes": notes}
    return render(
        "covote.files.report", "report.html", {"percent": _percent}, told | _contents(outcome.tally)
    )


def _contents(tally: Tally) -> dict[str, Any]:
    """Return everything the page shows."""
    panel = tally.panel
    names = [str(name) for name in panel.classes]
    agreement = tally.pair_agreement()
    return {
        "items": tally.items,
        "votes": tally.votes,
        "unlabelled": int(tally.classes[-1]),
        "panel": panel,
        "statuses": [
            (name, int(count), MEANINGS[name]) for name, count in zip(STATUSES, tally.statuses, strict=True)
        ],
        "status_bar": charts.shares(STATUSES, [int(count) for count in tally.statuses]),
        "confidence": charts.histogram(tally.confidences, 0, 1, "confidence")
        if tally.confidences.any()
        else "",
        "violations": [(n, int(count)) for n, count in enumerate(tally.violations) if count][:8],
        "experts": _experts(tally),
        "expert_chart": _expert_chart(tally),
        "matrix": charts.matrix(panel.names, names, panel.knows),
        "cut": max(panel.knows.shape) > charts.MOST,
        "classes": _classes(tally),
        "pairs": _pairs(tally, agreement),
        "heat": charts.heat(names, agreement) if agreement.size and len(names) > 1 else "",
        "looks": [(look, _by_weight(look)) for look in tally.second_look],
        "doubtful": tally.doubtful(),
    }


def _by_weight(look: Look) -> list[tuple[Name, Name | None, bool]]:
    """Return what was said about an item: first by experts who know the label, of these first who differ."""

    def rank(answer: tuple[Name, Name | None, bool]) -> int:
        _, said, knows = answer
        if knows:
            return int(said == look.label)
        return 2 if said == look.runner_up else 3

    return sorted(look.answers, key=rank)


def _experts(tally: Tally) -> list[dict[str, Any]]:
    """Return the experts, the least reliable first."""
    rates, doubtful = tally.accuracy(), set(tally.doubtful())
    rows = [
        {
            "name": name,
            "rate": None if np.isnan(rates[i, 0]) else float(rates[i, 0]),
            "low": float(rates[i, 1]),
            "high": float(rates[i, 2]),
            "knows": int(tally.panel.sizes[i]),
            "inside": int(tally.asked[i].sum()),
            "outside": int(tally.outside[i]),
            "nones": int(tally.nones[i]),
            "doubtful": name in doubtful,
        }
        for i, name in enumerate(tally.panel.names)
    ]
    return sorted(rows, key=lambda row: 2.0 if row["rate"] is None else row["rate"])


def _expert_chart(tally: Tally) -> str:
    experts = _experts(tally)[: charts.MOST]
    rates = [
        [float("nan") if row["rate"] is None else row["rate"], row["low"], row["high"]] for row in experts
    ]
    return charts.whiskers(
        [row["name"] for row in experts], np.array(rates).reshape(-1, 3), [row["doubtful"] for row in experts]
    )


def _classes(tally: Tally) -> list[tuple[Any, int, float]]:
    """Return the most frequent labels with how many items have them, and their share of the largest."""
    counts = tally.classes[:-1]
    order = np.argsort(-counts, kind="stable")[: charts.MOST]
    peak = max(int(counts.max(initial=0)), 1)
    return [(tally.panel.classes[k], int(counts[k]), float(counts[k]) / peak) for k in order if counts[k]]


def _pairs(tally: Tally, agreement: np.ndarray[Any, Any]) -> list[tuple[Any, Any, float, int]]:
    """Return the most confused pairs: (class, class, agreement, answers that differ)."""
    if not agreement.size:
        return []
    differ = tally.wrong + tally.wrong.T
    rows, columns = np.nonzero(np.triu(differ, 1))
    order = np.lexsort((columns, rows, agreement[rows, columns]))[:_PAIRS]
    classes = tally.panel.classes
    return [
        (classes[k], classes[j], float(agreement[k, j]), int(differ[k, j]))
        for k, j in zip(rows[order], columns[order], strict=True)
    ]


def _percent(part: float, whole: float = 1.0) -> str:
    """Return a share as text that says 0% or 100% only if it is."""
    share = 100 * part / whole if whole else 0.0
    if share in (0.0, 100.0):
        return f"{share:.0f}%"
    return "<0.1%" if share < 0.1 else ">99.9%" if share > 99.9 else f"{share:.1f}%"
