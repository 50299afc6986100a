"""Decoders of your own: labels from scores, and a confidence from probabilities."""

from dataclasses import dataclass

import numpy as np
import pytest

from covote import Panel, Votes, decode
from covote.decoding import Decoder, labels_from_scores

PANEL = Panel(3, np.ones((3, 3)))
ROWS = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 2], [-1, -1, -1]])


@dataclass(frozen=True)
class MostVotes(Decoder):
    """The class with the most votes."""

    def score(self, votes, weights, evidence=True):
        return labels_from_scores(votes, self.counts(votes), evidence)

    @staticmethod
    def counts(votes):
        counts = np.stack([(votes.dense == k).sum(axis=1) for k in range(3)], axis=1)
        return np.where(counts.any(axis=1, keepdims=True), counts, -np.inf)


@dataclass(frozen=True)
class WithProba(MostVotes):
    """The same, with the shares of the votes as probabilities, or all in favour of one class."""

    favourite: int | None = None

    def proba(self, votes, weights):
        if self.favourite is not None:
            return np.tile([0.2, 0.2, 0.6], (len(votes), 1))[:, np.roll(range(3), self.favourite - 2)]
        counts = np.maximum(self.counts(votes), 0)
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)


def test_scores_alone_give_no_confidence():
    assert np.isnan(decode(Votes.from_dense(ROWS, PANEL), method=MostVotes()).confidence).all()


@pytest.mark.parametrize("proba", [False, True])
def test_probabilities_are_the_confidence(proba):
    labels = decode(Votes.from_dense(ROWS, PANEL), method=WithProba(), proba=proba)
    assert labels.index.tolist() == [0, 0, -1, -1]
    np.testing.assert_allclose(labels.confidence, [1, 2 / 3, 1 / 3, 0], rtol=1e-6)
    if proba:
        np.testing.assert_allclose(labels.proba[:3], [[1, 0, 0], [2 / 3, 1 / 3, 0], [1 / 3] * 3], rtol=1e-6)


def test_a_label_is_not_agreed_if_another_class_is_more_probable():
    votes = Votes.from_dense(ROWS, PANEL)
    assert decode(votes, method=WithProba()).status[0] == "agreed"
    assert decode(votes, method=WithProba(favourite=0)).status[0] == "agreed"
    assert decode(votes, method=WithProba(favourite=2)).status[0] == "conflict"
