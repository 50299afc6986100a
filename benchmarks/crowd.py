"""Answers of real crowds: covote's em and dawid-skene next to those of crowd-kit.

python benchmarks/crowd.py --data ../shared/data [-o benchmarks/results/crowd.md] [SET ...]
"""

from __future__ import annotations

import argparse
import datetime
import sys
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


def crowd_table(data: Path, only: tuple[str, ...] = (), largest: int = LARGEST) -> list[str]:
    """Return a Markdown table of accuracies on the items whose truth is known."""
    peers = crowd_kit()
    head = ["learned", "em", "dawid-skene", *peers, *(["dawid-skene against crowd-kit's"] if peers else [])]
    lines = [f"Crowds (accuracy in %, {'next to crowd-kit' if peers else 'crowd-kit is not installed'}):", ""]
    lines += [f"| set | items | answers | {' | '.join(head)} |", "|---|---|---|" + "---|" * len(head)]
    found = {
        path.stem: crowd(path) for path in sorted((data / "crowd").glob("*.parquet")) if wanted(path, only)
    }
    for name, (votes, truth, frame) in sorted(found.items(), key=lambda case: case[1][0].answers):
        if votes.answers > largest:
            continue
        known = truth >= 0
        labels = [decode(votes, method=method).index for method in ("learned", "em", "dawid-skene")]
        labels += [peer(frame).reindex(votes.items).to_numpy() for peer in peers.values()]
        right = [100 * (each[known] == truth[known]).mean() for each in labels]
        cells = [f"{value:.2f}" for value in right] + ([f"{right[2] - right[-1]:+.2f}"] if peers else [])
        lines.append(f"| {name} | {len(votes)} | {votes.answers} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return lines


def wanted(path: Path, only: tuple[str, ...]) -> bool:
    """Leave out sets without truth, with one answer per item, and with experts of one class."""
    return path.stem not in ("derm_rankings", "cifar100n", EVERYONE_KNOWS_ONE) and (
        not only or path.stem in only
    )


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


def main() -> None:
    """Measure the sets and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    here = Path(__file__).resolve().parent
    parser.add_argument("--data", type=Path, default=here.parent.parent / "shared/data", help="data folder")
    parser.add_argument("--largest", type=int, default=LARGEST, help="leave out sets with more answers")
    parser.add_argument("-o", "--output", type=Path, default=here / "results/crowd.md")
    parser.add_argument("only", nargs="*", help="only these sets")
    given = parser.parse_args()
    lines = ["# Crowds", "", f"`python {' '.join(sys.argv)}`, {datetime.date.today()}.", ""]
    lines += crowd_table(given.data, tuple(given.only), given.largest)
    given.output.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
