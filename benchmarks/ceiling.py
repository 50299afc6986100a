"""What the answers tell at all: covote's default beside a regression that is shown the truth.

    python benchmarks/ceiling.py --data-dir DIR --out DIR [--profile quick]

Reads the votes that `covote reproduce` has stored under OUT. Where experts are missing or panels are random,
a decoder may lose because it decodes badly, or because the answers no longer tell the classes apart. So the
same probabilities are also given to a logistic regression that learns from the true classes of other test
images (three folds). No decoder has the truth; how much the regression loses is a hint of what must be lost.
"""

from __future__ import annotations

import argparse
import platform
from itertools import combinations
from pathlib import Path

import numpy as np
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from covote.experiments.accuracy import DEFAULT, panel_accuracy
from covote.experiments.context import Context, paper_panel, subsets_of
from covote.experiments.data import Source
from covote.experiments.tables.random import draws, needs

SIZES = (4, 6)
MOST = 10
"""So many removals of two experts; beyond that every n-th."""


def shown_the_truth(experts, subsets):
    """Return the accuracy (%) of a regression on the logarithms of all probabilities."""
    given = [experts.by_subset[subset].probabilities["test"].astype(np.float64) for subset in subsets]
    logs = np.concatenate([np.log(p + 1e-3) for p in given], axis=1)
    model = LogisticRegression(C=0.05, max_iter=300)
    truth = experts.truth("test")
    return 100 * float(np.mean(cross_val_predict(model, logs - logs.mean(axis=0), truth, cv=3) == truth))


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
        yield "two removed, a class that nobody knows", orphaned
    yield "random, three more", draws(size, profile, seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True, help="the folder of covote reproduce")
    parser.add_argument("--profile", default="quick")
    arguments = parser.parse_args()
    context = Context(Source(arguments.data_dir), arguments.out, arguments.profile, train=False)
    experts = context.experts("cifar10", needs(context)["cifar10"], partly=True)
    print(f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}")
    print(f"CIFAR-10, {experts.trainer.name}: accuracy in percent, and points behind the greedy cover\n")
    print("| panel | number | covote's default | behind | regression shown the truth | behind |")
    print("|---|---|---|---|---|---|")
    for size in SIZES:
        first = None
        for name, some in panels(size, arguments.profile, context.seed):
            both = np.mean(
                [
                    (panel_accuracy(experts, p, "test", DEFAULT), shown_the_truth(experts, p))
                    for p in some
                    if experts.has(p)
                ],
                axis=0,
            )
            first = both if first is None else first
            cells = " | ".join(
                f"{own:.2f} | {cover - own:.2f}" for own, cover in zip(both, first, strict=True)
            )
            print(f"| R = {size}, {name} | {len(some)} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
