"""Federated averaging, one-shot votes, and both together.

Nine clients hold the images of four digits each. They can train a model each, once, and let covote decode
their votes; or average the weights of one common model, round by round; or begin the averaging with what the
panel knows already: the panel labels images that nobody has labelled, and one model learns from these labels.

    pip install 'covote[torch]'
    python -m paper.hybrid
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from covote import decode, design
from paper.federated import Clients, Weights, one_shot, rounds
from paper.trainers.networks import seeded
from paper.trainers.neural import Local

LOCAL = Local("strided", batch=16, rate=0.1)
EVERY = tuple(range(10))


def last(course: Iterator[tuple[list[Weights], int]]) -> list[Weights]:
    """Return the weights after the last round or epoch."""
    *_, (models, _) = course
    return models


def main() -> None:
    """Print how accurate the votes, the pupil and both averaged models are."""
    X, y = load_digits(return_X_y=True)
    X = (15 * X).astype(np.uint8).reshape(-1, 8, 8)
    X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    X, X_pool, y, _ = train_test_split(
        X, y, test_size=0.4, random_state=0, stratify=y
    )  # a pool without labels
    panel = design(10, 4, method="paper")
    subsets = [tuple(np.flatnonzero(known).tolist()) for known in panel.knows]
    with seeded(0):
        clients = Clients(X, y, subsets, 10, LOCAL, seed=0)

        def right(weights: Weights) -> float:
            return float(np.mean(clients.answers(weights, X_new).argmax(axis=1) == y_new))

        experts = last(one_shot(clients, 20))
        labels = decode(clients.votes(experts, panel, X_new))
        share = labels.chances(y_new).mean()
        print(f"One-shot votes of {len(panel)} experts: {share:.1%}")

        # The panel teaches one model with what it says about the pool.
        taught = decode(clients.votes(experts, panel, X_pool)).index
        known = taught >= 0
        (pupil,) = last(rounds(Clients(X_pool[known], taught[known], [EVERY], 10, LOCAL, 0), 20, None, 0))
        print(f"One model that learned from the panel's labels: {right(pupil):.1%}")

        print("\nFedAvg, 2 of 9 clients per round:")
        print("  rounds   from scratch   from the pupil")
        fresh = rounds(clients, 40, 2, seed=1)
        warm = rounds(clients, 40, 2, seed=1, start=pupil)
        for n, (([cold], _), ([hot], _)) in enumerate(zip(fresh, warm, strict=True), start=1):
            if n in (1, 5, 10, 20, 40):
                print(f"  {n:6}   {right(cold):12.1%}   {right(hot):14.1%}")


if __name__ == "__main__":
    main()
