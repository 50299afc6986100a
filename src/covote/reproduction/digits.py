"""The main job, small: nine experts of four digits each against one model that knows all ten."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from covote.covers import design
from covote.decoding import decode
from covote.panel import Panel
from covote.reproduction.accuracy import expected_accuracy
from covote.votes import Votes


@dataclass(frozen=True)
class DigitsResult:
    """What came out: the panel, and accuracies on held-out digits."""

    panel: Panel
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
    images = images / 16.0
    train, test, train_truth, test_truth = train_test_split(
        images, truth, test_size=0.4, random_state=seed, stratify=truth
    )
    model = LogisticRegression(C=10.0, max_iter=2000)
    panel = design(10, size, seed=seed)
    answers = np.empty((len(test), len(panel)), dtype=np.int8)
    inside = []
    for i, known in enumerate(panel.knows):
        familiar = known[train_truth]
        model.fit(train[familiar], train_truth[familiar])
        answers[:, i] = model.predict(test)
        asked = known[test_truth]
        inside.append(np.mean(answers[asked, i] == test_truth[asked]))
    labels = decode(Votes.from_dense(answers, panel), ties="report")
    model.fit(train, train_truth)
    return DigitsResult(
        panel=panel,
        trained_on=len(train),
        held_out=len(test),
        experts=float(np.mean(inside)),
        sure=int(np.sum(~labels.tied & (labels.violations == 0))),
        tied=int(np.sum(labels.tied)),
        panel_accuracy=expected_accuracy(labels, test_truth),
        centralised=float(model.score(test, test_truth)),
    )
