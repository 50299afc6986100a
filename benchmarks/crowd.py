"""Answers of real crowds: the default, a majority vote, em and dawid-skene, compared with crowd-kit.

python benchmarks/crowd.py --data ../shared/data [-o benchmarks/results/crowd.md] [SET ...]
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from covote import Panel, Votes, decode

METHODS = ("learned", "majority", "em", "dawid-skene")
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
    head = [*METHODS, *peers, *(["dawid-skene against crowd-kit's"] if peers else [])]
    lines = [f"| set | items | answers | {' | '.join(head)} |", "|---|---|---|" + "---|" * len(head)]
    found = {
        path.stem: crowd(path) for path in sorted((data / "crowd").glob("*.parquet")) if wanted(path, only)
    }
    found_right = []
    for name, (votes, truth, frame) in sorted(found.items(), key=lambda case: case[1][0].answers):
        if votes.answers > largest:
            continue
        known = truth >= 0
        right = [
            accuracy(decode(votes, method=method).expected_score(np.maximum(truth, 0)), known)
            for method in METHODS
        ]
        right += [
            accuracy(peer(frame).reindex(votes.items).to_numpy() == truth, known) for peer in peers.values()
        ]
        cells = [f"{value:.2f}" for value in right] + ([f"{right[3] - right[-1]:+.2f}"] if peers else [])
        found_right.append(right)
        lines.append(f"| {name} | {len(votes)} | {votes.answers} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    means = " | ".join(f"**{mean:.2f}**" for mean in np.mean(found_right, axis=0))
    return [*lines, f"| **mean of {len(found_right)}** | | | {means} |{' |' * bool(peers)}"]


def accuracy(right: np.ndarray, known: np.ndarray) -> float:
    """Return how many percent of the items whose class is known are right."""
    return 100 * float(right[known].mean())


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
    lines = [
        "# How good are the labels of a crowd in which everyone knows every class?",
        "",
        "Accuracy in percent, on the items whose class is known:",
        "",
        *crowd_table(given.data, tuple(given.only), given.largest),
        "",
        "## How it was measured",
        "",
        "`python benchmarks/crowd.py --data FOLDER`: real people, some of whom answered each item, no panel "
        "and no probabilities. A tie counts for a fair draw.",
        "",
        "## Where it falls short",
        "",
        "No method is best on every crowd. The default is made for people who know only some of the classes.",
    ]
    given.output.write_text("\n".join([*lines, ""]), encoding="utf-8")


if __name__ == "__main__":
    main()
