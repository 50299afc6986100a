"""What the answers tell at all: covote's default next to decoders that are shown the truth.

    python benchmarks/ceiling.py --data-dir DIR --keep DIR [--profile quick]

Reads the votes that `covote reproduce` has kept; panels whose experts are not there are left out. Where
experts are missing or panels are random, a decoder may lose because it decodes badly, or because the answers
no longer tell the classes apart. So the same probabilities are also given to a logistic regression that
learns from the true classes of other test images (three folds), and to covote's `supervised`, which is shown
the same images. The default has no truth; how much the others lose is a hint of what must be lost.
"""

from __future__ import annotations

import argparse
import platform
from itertools import combinations
from pathlib import Path

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from covote.decoding import decode
from covote.reproduction.datasets import DataSource
from covote.reproduction.experiment import DEFAULT, Context, panel_accuracy, paper_panel, subsets_of
from covote.reproduction.tables.random import draws, needs

SIZES = (4, 6)
MOST = 10
"""So many removals of two experts; beyond that every n-th."""


def by_regression(experts, subsets):
    """Return the accuracy (%) of a regression on the logarithms of all probabilities."""
    given = [experts.by_subset[subset].probabilities["test"].astype(np.float64) for subset in subsets]
    logs = np.concatenate([np.log(p + 1e-3) for p in given], axis=1)
    model = LogisticRegression(C=0.05, max_iter=300)
    truth = experts.truth("test")
    return 100 * float(np.mean(cross_val_predict(model, logs - logs.mean(axis=0), truth, cv=3) == truth))


def by_supervised(experts, subsets):
    """Return the accuracy (%) of `supervised` on images that it was not shown."""
    votes, truth = experts.votes(subsets, "test", soft=True), experts.truth("test")
    right = np.zeros(len(truth), dtype=bool)
    for shown, rest in StratifiedKFold(3).split(truth, truth):
        gold = np.full(len(truth), -1)
        gold[shown] = truth[shown]
        right[rest] = (decode(votes, method="supervised", gold=gold).index == truth)[rest]
    return 100 * float(right.mean())


def panels(size, profile, seed):
    """Yield (what it is, panels): the cover, two experts removed from it, random panels of m* + 3."""
    cover = subsets_of(paper_panel(size))
    yield "greedy cover", [cover]
    left = [
        [subset for i, subset in enumerate(cover) if i not in lost]
        for lost in combinations(range(len(cover)), 2)
    ]
    whole = [rest for rest in left if len(set().union(*rest)) == len(set().union(*cover))]
    orphaned = [rest for rest in left if rest not in whole]
    yield "two removed, every class known", whole[:: -(-len(whole) // MOST)]
    if orphaned:
        yield "two removed, a class that no expert knows", orphaned
    yield "random, three more", draws(size, profile, seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--keep", type=Path, required=True, help="as for covote reproduce")
    parser.add_argument("--profile", default="quick")
    arguments = parser.parse_args()
    source, keep = DataSource(arguments.data_dir), arguments.keep
    context = Context(source, keep, arguments.profile, train=False, keep=keep)
    experts = context.experts("cifar10", needs(context)["cifar10"], partly=True)
    print(f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}")
    print(f"CIFAR-10, {experts.trainer.name}: accuracy in percent, and points behind the greedy cover\n")
    print("| panel | number | covote's default | behind | supervised | behind | regression | behind |")
    print("|---|---|---|---|---|---|---|---|")
    for size in SIZES:
        first = None
        for name, some in panels(size, arguments.profile, context.seed):
            found = [
                (
                    panel_accuracy(experts, panel, "test", DEFAULT),
                    by_supervised(experts, panel),
                    by_regression(experts, panel),
                )
                for panel in some
                if experts.has(panel)
            ]
            if not found:
                continue
            means = np.mean(found, axis=0)
            first = means if first is None else first
            pairs = zip(means, first, strict=True)
            cells = " | ".join(f"{own:.2f} | {cover - own:.2f}" for own, cover in pairs)
            print(f"| R = {size}, {name} | {len(found)} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
