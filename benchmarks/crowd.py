"""Answers of real crowds: covote's em and dawid-skene beside those of crowd-kit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from covote import Panel, Votes, decode

LARGEST = 160_000  # answers; crowd-kit takes minutes beyond
EVERYONE_KNOWS_ONE = "trec_rules"


def crowd(path: Path) -> tuple[Votes, np.ndarray, Any]:
    """Return (votes, truth with -1 where unknown, table of task, worker, label without repeated answers)."""
    import pandas as pd

    table = pd.read_parquet(path).drop_duplicates(["item", "expert"])
    item, items = pd.factorize(table.item, sort=True)
    expert, experts = pd.factorize(table.expert, sort=True)
    truth = np.full(len(items), -1)
    known = table.truth.notna().to_numpy()
    truth[item[known]] = table.truth[known].to_numpy().astype(int)
    classes = int(max(table.label.max(), truth.max())) + 1
    order = np.lexsort((expert, item))
    indptr = np.searchsorted(item[order], np.arange(len(items) + 1))
    panel = Panel(classes, np.ones((len(experts), classes), dtype=bool))
    votes = Votes.from_ragged(indptr, expert[order], table.label.to_numpy()[order], panel, items=items)
    frame = table.rename(columns={"item": "task", "expert": "worker"})[["task", "worker", "label"]]
    return votes, truth, frame


def crowd_table(data: Path) -> list[str]:
    """Return a Markdown table of accuracies on the items whose truth is known."""
    peers = crowd_kit()
    head = ["authority", "em", "dawid-skene", *peers]
    lines = [f"Crowds (accuracy in %, {'crowd-kit beside' if peers else 'crowd-kit is not installed'}):", ""]
    lines += [f"| set | items | {' | '.join(head)} |", "|---|---|" + "---|" * len(head)]
    for path in sorted((data / "crowd").glob("*.parquet")):
        if path.stem in ("derm_rankings", "cifar100n", EVERYONE_KNOWS_ONE):
            continue  # no truth, one answer per item, experts of one class
        votes, truth, frame = crowd(path)
        if votes.answers > LARGEST:
            continue
        known = truth >= 0
        found = [decode(votes, method=method).index for method in ("authority", "em", "dawid-skene")]
        found += [peer(frame).reindex(votes.items).to_numpy() for peer in peers.values()]
        cells = [f"{100 * (labels[known] == truth[known]).mean():.2f}" for labels in found]
        lines.append(f"| {path.stem} | {len(votes)} | {' | '.join(cells)} |")
    return lines


def crowd_kit() -> dict[str, Any]:
    """Return crowd-kit's two methods, or nothing if it is not installed."""
    try:
        from crowdkit.aggregation import DawidSkene, OneCoinDawidSkene
    except ImportError:
        return {}
    return {
        "crowd-kit OneCoinDawidSkene": lambda frame: OneCoinDawidSkene(n_iter=100).fit_predict(frame),
        "crowd-kit DawidSkene": lambda frame: DawidSkene(n_iter=100).fit_predict(frame),
    }
