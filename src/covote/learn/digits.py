"""The main job, small: nine experts of four digits each against one model that knows all ten."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covote.decoding import decode
from covote.learn import PanelClassifier
from covote.panel import Panel
from covote.votes import Votes


@dataclass(frozen=True)
class DigitsResult:
    """The panel, its votes on held-out digits with their true classes, and accuracies on these."""

    panel: Panel
    votes: Votes
    truth: list[int]
    trained_on: int
    held_out: int
    experts: float
    sure: int
    tied: int
    panel_accuracy: float
    centralised: float


def digits(size: int = 4, seed: int = 0) -> DigitsResult:
    """Train one model per expert on scikit-learn's digits, and label held-out digits by their votes.

    Paper: section Experiments, on a set that ships with scikit-learn. Each expert sees only images of the
    digits it knows, and must answer one of them for every image.
    """
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split

    images, truth = load_digits(return_X_y=True)
    train, test, train_truth, test_truth = train_test_split(
        images / 16.0, truth, test_size=0.4, random_state=seed, stratify=truth
    )
    model = LogisticRegression(C=10.0, max_iter=2000)
    experts = PanelClassifier(model, size=size, random_state=seed).fit(train, train_truth)
    panel, votes = experts.panel_, experts.votes(test)
    right = votes.dense == test_truth[:, None]
    inside = [right[known[test_truth], i].mean() for i, known in enumerate(panel.knows)]
    labels = decode(votes, method="authority")
    model.fit(train, train_truth)
    return DigitsResult(
        panel=panel,
        votes=votes,
        truth=test_truth.tolist(),
        trained_on=len(train),
        held_out=len(test),
        experts=float(np.mean(inside)),
        sure=int(np.sum(~labels.tied & (labels.violations == 0))),
        tied=int(np.sum(labels.tied)),
        panel_accuracy=float(labels.expected_score(test_truth).mean()),
        centralised=float(model.score(test, test_truth)),
    )
