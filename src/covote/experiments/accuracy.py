"""How often labels are right, and with which decoders the experiments label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decode import decode
from covote.labels import Labels
from covote.votes import Votes

from .parallel import in_threads
from .store import Experts
from .trainers import Subset

PAPER = "paper's vote"
PLAIN = "covote, votes alone"
DEFAULT = "covote, with probabilities"
METHODS: dict[str, tuple[bool, dict[str, Any]]] = {
    PAPER: (False, {"ties": "report"}),
    PLAIN: (False, {}),
    DEFAULT: (True, {}),
}
"""How the paper's panels are decoded: whether with probabilities, and the options of `decode`."""


def expected_accuracy(
    labels: Labels, truth: NDArray[np.integer[Any]], counted: NDArray[np.bool_] | None = None
) -> float:
    """Return the share of right labels; an item left tied counts what a fair draw would give.

    `counted` says which items count, all unless given. A panel may leave a class without an expert; such a
    class is never a label.
    """
    chance = chances(labels, truth)
    if counted is not None:
        chance = chance[counted]
    return float(chance.sum() / max(1, len(chance)))


def chances(labels: Labels, truth: NDArray[np.integer[Any]]) -> NDArray[np.float64]:
    """Return how likely each label is right: 0 or 1, or the chance of a fair draw where an item is tied."""
    right: NDArray[np.float64] = (labels.index == truth).astype(np.float64)
    left = np.flatnonzero(labels.index < 0)
    if len(left):
        among = labels.tied_indices(left)
        sizes = np.array([len(classes) for classes in among])
        owner = np.repeat(left, sizes)
        hit = np.concatenate(among) == truth[owner]
        np.add.at(right, owner[hit], 1 / np.repeat(sizes, sizes)[hit])
    return right


def panel_accuracy(experts: Experts, subsets: Sequence[Subset], split: str, method: str) -> float:
    """Return the accuracy, in percent, of a panel of stored experts by one of `METHODS`."""
    soft, options = METHODS[method]
    votes = experts.votes(subsets, split, soft=soft)
    return 100 * decoded(votes, experts.truth(split), **options)


def panel_accuracies(
    experts: Experts, panels: Iterable[Sequence[Subset]], split: str, method: str
) -> Iterator[float]:
    """Yield the accuracy of each of several panels, as they are decoded; all cores are used."""
    return in_threads(lambda subsets: panel_accuracy(experts, subsets, split, method), panels)


def decoded(
    votes: Votes,
    truth: NDArray[np.int64],
    method: str = "authority",
    *,
    counted: NDArray[np.bool_] | None = None,
    **options: Any,
) -> float:
    """Return the expected accuracy (0 to 1) of the labels that a decoder gives."""
    return expected_accuracy(decode(votes, method=method, **options), truth, counted)
