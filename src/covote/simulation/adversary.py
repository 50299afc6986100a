"""The most confusing answers: all noise conspires to back one wrong class."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError, TooLargeError
from covote.panel import Panel
from covote.simulation.noise import Noise
from covote.votes import Votes

_MOST_TRIED = 2_000_000  # candidate votes put before a decoder that we know nothing about

Decoder = Callable[[Votes], Any]


def adversarial(panel: Panel, against: Decoder | None, seed: int) -> Noise:
    """Choose, for every true class, the rivals that come closest to beating it.

    When the truth is k, the experts that do not know it can give rival j at most d_j - lambda_kj votes, all
    of which are consistent with j. Against the authority vote (Eq. (4)) the rival with the least
    lambda_kj / d_j scores highest; it ties with the truth where the pair is uncovered. Against any other
    decoder, every rival is tried, and those stay that it takes for the truth, or else those that leave the
    smallest margin.
    """
    if len(panel.classes) < 2:
        return Noise()
    chosen = _against_authority(panel) if against is None else _against(panel, against, seed)
    sizes = [len(rivals) for rivals in chosen]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Noise(rival_start=starts, rivals=np.concatenate(chosen).astype(np.int32))


def _against_authority(panel: Panel) -> list[NDArray[np.intp]]:
    degrees = panel.knows.sum(axis=0).astype(np.float64)
    chosen = []
    for k, together in enumerate(panel.pair_counts()):
        # Quotients of small integers: equal fractions are equal as float64, and unequal ones are not.
        held = np.where(degrees > 0, together / np.maximum(degrees, 1), np.inf)
        held[k] = np.inf
        # A panel in which nobody knows any other class has no rival to offer.
        chosen.append(np.flatnonzero(held == held.min()) if np.isfinite(held).any() else np.empty(0, np.intp))
    return chosen


def _against(panel: Panel, against: Decoder, seed: int) -> list[NDArray[np.intp]]:
    classes = len(panel.classes)
    if not callable(against):
        raise InputError(f"against must be a function that decodes Votes, not {against!r}")
    if classes * (classes - 1) * len(panel) > _MOST_TRIED:
        raise TooLargeError(
            f"trying every rival of {classes} classes against a decoder needs too many votes; "
            "leave out `against` for the authority vote"
        )
    truth, rival = np.nonzero(~np.eye(classes, dtype=bool))
    rng = np.random.default_rng([seed, 0xAD])
    answers = np.empty((len(truth), len(panel)), dtype=np.int64)
    for i, row in enumerate(panel.knows):
        noise = rng.choice(np.flatnonzero(row), size=len(truth))
        answers[:, i] = np.where(row[truth], truth, np.where(row[rival], rival, noise))
    labels = against(Votes.from_dense(answers, panel))
    value, margin = np.asarray(labels.index), np.asarray(labels.margin, dtype=np.float64)
    # How well the truth survives: below 0 where it does not.
    survives = np.where(value == truth, np.nan_to_num(margin), -1.0).reshape(classes, classes - 1)
    rivals = rival.reshape(classes, classes - 1)
    return [rivals[k][survives[k] == survives[k].min()] for k in range(classes)]
