"""How often labels are right, and with which decoders the experiments label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.decoding import decode
from covote.labels import Labels
from covote.reproduction.cores import in_threads
from covote.reproduction.store import Experts
from covote.reproduction.trainers import Subset
from covote.votes import Votes

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
    chance = labels.chances(truth)
    if counted is not None:
        chance = chance[counted]
    return float(chance.sum() / max(1, len(chance)))


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
