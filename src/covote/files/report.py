"""The report on a file of votes: one HTML page with everything in it, no network needed."""

from __future__ import annotations

import datetime
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from covote import atomic
from covote.colours import DARK, LIGHT
from covote.decoding.expert_report import PairAgreement
from covote.decoding.explaining import advice, group_answers
from covote.decoding.gold import gold_sentence
from covote.files import charts
from covote.files.outcome import MOST_PAIRS, Outcome, percent
from covote.files.review import GOALS
from covote.labels import MEANINGS, STATUSES
from covote.panel import Name

if TYPE_CHECKING:
    from covote.asking.replay import Replay

_PAIRS = 15  # pairs of classes to list


def write_report(
    path: str | os.PathLike[str],
    outcome: Outcome,
    *,
    source: str = "votes",
    notes: Sequence[str] = (),
) -> None:
    """Write a report with pictures to one HTML file, completely or not at all.

    It shows the quality of the labels: a headline, how sure they are, how often experts agree with them,
    which classes are confused, and the items that are worth a second look.

    Parameters
    ----------
    path
        The ``.html`` file.
    outcome
        From :func:`decode_file` (or `.outcome` of :func:`label_file`).
    source
        What the answers are called in the report: its title.
    notes
        Warnings to show at its top, besides those of the outcome.
    """
    atomic.write_text(path, report_page(outcome, source=source, notes=notes))


def report_page(outcome: Outcome, *, source: str, notes: Sequence[str] = ()) -> str:
    """Return the report as HTML; see :func:`write_report`."""
    about = {
        "source": source,
        "method": outcome.method,
        "warnings": [*outcome.warnings(), *notes],
        "notes": [*outcome.notes, *outcome.findings],
    }
    with charts.own_settings():
        return _page("report.html", about | _contents(outcome))


def _contents(outcome: Outcome) -> dict[str, Any]:
    """Return everything the page shows."""
    from covote import __version__

    panel = outcome.panel
    pairs = outcome.agreement.pairs
    experts = _experts(outcome)
    return {
        "headline": headline(outcome),
        "gold": "" if outcome.gold is None else f"{gold_sentence(outcome.gold)} {outcome.better}",
        "made": f"{datetime.date.today()}, covote {__version__}",
        "items": outcome.items,
        "answers": outcome.votes.answers,
        "per_item": outcome.votes.answers / max(outcome.items, 1),
        "majority": outcome.otherwise_by_majority,
        "unlabelled": outcome.unlabelled,
        "panel": panel,
        "uncovered": _uncovered(outcome),
        "statuses": [
            (name, int(count), MEANINGS[name])
            for name, count in zip(STATUSES, outcome.statuses, strict=True)
            if count
        ],
        "confidence": charts.inline(charts.histogram(outcome.confidence), "Items by confidence")
        if outcome.confidence.any()
        else "",
        "review": _review(outcome),
        "violations": [(n, int(count)) for n, count in enumerate(outcome.violations) if count][:8],
        "experts": experts,
        "expert_chart": _expert_chart(experts),
        "matrix": charts.inline(charts.matrix(panel.names, panel.classes, panel.knows), "Who knows what"),
        "cut": max(panel.knows.shape) > charts.MOST,
        "classes": _classes(outcome),
        "pairs": _pairs(pairs),
        "heat": charts.inline(charts.heat(panel.classes, pairs.share), "Agreement per pair of classes")
        if pairs.both.size and len(panel.classes) > 1
        else "",
        "review_head": [
            (
                item,
                *group_answers(panel, item.candidates, item.answers),
                advice(panel, item.status, item.label, item.tied, item.answers),
            )
            for item in outcome.review_head
        ],
        "doubtful": outcome.experts.unreliable(),
    }


def write_replay(path: str | os.PathLike[str], replay: Replay, source: str) -> None:
    """Write a page about a replay: what each rule would have needed, and quality against answers per item.

    `source` is what the votes are called in it.
    """
    with charts.own_settings():
        picture = charts.inline(
            charts.quality_curves(replay), "quality of the labels against answers per item"
        )
    page = _page("ask.html", {"replay": replay, "source": source, "picture": picture})
    atomic.write_text(path, page)


def headline(outcome: Outcome) -> str:
    """Summarise the outcome in one sentence.

    >>> from covote import Panel, Votes, decode
    >>> votes = Votes.from_dense([[0, 0], [1, 1]], Panel(2, [[1, 1]] * 2))
    >>> headline(Outcome(votes, decode(votes)))
    'All 2 items have a label; no answer contradicts another.'
    """
    if not outcome.items:
        return "There are no items."
    doubt, open_items = outcome.expected_errors, outcome.unlabelled
    labelled = outcome.items - open_items
    which = "All" if not open_items else f"{labelled:,} of"
    parts = [f"{which} {outcome.items:,} items {'have' if labelled != 1 else 'has'} a label"]
    if outcome.items == 1:
        parts = ["The only item has no label" if open_items else "The only item has a label"]
    elif open_items:
        parts.append(f"{open_items:,} {'are' if open_items > 1 else 'is'} left open")
    if not outcome.unsure:
        parts.append("no answer contradicts another")
    elif outcome.calibrated and doubt.expected >= 0.5:
        wrong = f"{doubt.expected:,.0f}"
        parts.append(f"about {wrong} {'is' if wrong == '1' else 'are'} expected to be wrong")
    doubtful = outcome.experts.unreliable()
    if doubtful:
        named = ", ".join(str(name) for name in doubtful[:3]) + (" and others" if len(doubtful) > 3 else "")
        parts.append(f"{named} {'stand' if len(doubtful) > 1 else 'stands'} out as unreliable")
    return "; ".join(parts) + "."


def _review(outcome: Outcome) -> dict[str, Any]:
    """Return how many labels are expected to be wrong, and how many items to look at; empty if unknown."""
    if not outcome.calibrated:
        return {}
    doubt = outcome.expected_errors
    first = [n for n in (10, 25, 100, 1000) if n < doubt.items]
    return {
        "expected": doubt.expected,
        "among": [(n, doubt.among(n)) for n in first[:3]],
        "goals": [(goal, doubt.needed(goal)) for goal in GOALS],
        "curve": charts.inline(
            charts.review_curve(*doubt.curve(), GOALS), "Labels expected to be right after review"
        ),
    }


def _uncovered(outcome: Outcome) -> dict[str, Any]:
    """Return the number of pairs of classes that no expert can tell apart, and those with the most labels."""
    panel = outcome.panel
    if len(panel.classes) > MOST_PAIRS or panel.covers():
        return {}
    first, second = np.nonzero(np.triu(panel.pair_counts() == 0, 1))
    counts = outcome.classes
    concerned = np.minimum(counts[first], counts[second])
    order = np.lexsort((second, first, -(counts[first] + counts[second]), -concerned))[:_PAIRS]
    classes = panel.classes
    return {
        "number": len(first),
        "concerned": int(counts[np.union1d(first, second)].sum()),
        "pairs": [
            (classes[k], int(counts[k]), classes[j], int(counts[j]))
            for k, j in zip(first[order].tolist(), second[order].tolist(), strict=True)
        ],
    }


def _experts(outcome: Outcome) -> list[dict[str, Any]]:
    """Return the experts by the lower end of their interval, the lowest first; those without one are last."""
    report, gold = outcome.experts, outcome.gold
    doubtful = set(report.unreliable())
    rows = [
        {
            "name": name,
            "rate": None if np.isnan(report.accuracy[i]) else float(report.accuracy[i]),
            "low": float(report.low[i]),
            "high": float(report.high[i]),
            "knows": int(outcome.panel.sizes[i]),
            "inside": int(report.inside[i]),
            "outside": int(report.outside[i]),
            "nones": int(report.none[i]),
            "doubtful": name in doubtful,
            "gold": "" if gold is None else f"{gold.expert_right[i]:,} of {gold.expert_asked[i]:,}",
        }
        for i, name in enumerate(outcome.panel.names)
    ]
    return sorted(rows, key=lambda row: 2.0 if row["rate"] is None else row["low"])


def _expert_chart(experts: list[dict[str, Any]]) -> str:
    shown = experts[: charts.MOST]
    rates = [[float("nan") if row["rate"] is None else row["rate"], row["low"], row["high"]] for row in shown]
    figure = charts.whiskers(
        [row["name"] for row in shown], np.array(rates).reshape(-1, 3), [row["doubtful"] for row in shown]
    )
    return charts.inline(figure, "How often experts agree with the labels")


def _classes(outcome: Outcome) -> list[tuple[Name, int, float]]:
    """Return the most frequent labels with how many items have them, and their share of the largest."""
    counts = outcome.classes
    order = np.argsort(-counts, kind="stable")[: charts.MOST]
    peak = max(int(counts.max(initial=0)), 1)
    return [(outcome.panel.classes[k], int(counts[k]), float(counts[k]) / peak) for k in order if counts[k]]


def _pairs(pairs: PairAgreement) -> list[tuple[Name, Name, float, int]]:
    """Return the most confused pairs: (class, class, agreement, answers that differ)."""
    differ, share = pairs.both - pairs.agree, pairs.share
    rows, columns = np.nonzero(np.triu(differ, 1))
    order = np.lexsort((columns, rows, share[rows, columns]))[:_PAIRS]
    classes = pairs.panel.classes
    return [
        (classes[k], classes[j], float(share[k, j]), int(differ[k, j]))
        for k, j in zip(rows[order], columns[order], strict=True)
    ]


# The page


def _page(template: str, contents: Mapping[str, Any]) -> str:
    """Fill a template; what is not marked as safe is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("covote.files", "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, inline=_inline)
    return environment.get_template(template).render({"light": LIGHT, "dark": DARK, **contents})


def _inline(text: str) -> Any:
    """Turn the `code` and **bold** of a sentence into HTML; everything else is escaped."""
    from markupsafe import Markup, escape

    safe = str(escape(text))
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return Markup(re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", safe))
