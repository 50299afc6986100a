"""How often methods are wrong on made-up votes of one panel, for several accuracies of its experts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count
from covote.decoding import decode
from covote.decoding.gold import wilson
from covote.errors import InputError, TooLargeError
from covote.panel import Panel
from covote.progress import Progress
from covote.simulation import simulate

ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""How often experts are right about what they know, by default."""


@dataclass(frozen=True)
class MethodErrors:
    """How often the labels of several methods are wrong, for several accuracies of the experts.

    Attributes
    ----------
    accuracies
        How often the experts are right about what they know.
    errors
        For each method (accuracies x 3): the error and its 95% interval.
    model
        The panel and how its experts answer, in words for the title of a picture.
    """

    accuracies: tuple[float, ...]
    errors: Mapping[str, NDArray[np.float64]]
    model: str = ""

    def rows(self) -> list[dict[str, Any]]:
        """Return one dict per accuracy, with the error of every method and its interval."""
        return [
            {
                "accuracy": accuracy,
                **{
                    method: dict(zip(("error", "low", "high"), map(float, errors[n]), strict=True))
                    for method, errors in self.errors.items()
                },
            }
            for n, accuracy in enumerate(self.accuracies)
        ]


def method_errors(
    panel: Panel,
    methods: Iterable[str],
    accuracies: Iterable[float] = ACCURACIES,
    *,
    items: int = 5000,
    seed: int = 0,
    progress: Progress | None = None,
    **model: Any,
) -> MethodErrors:
    """Measure how often methods are wrong on votes of one panel; all of them see the same votes.

    Parameters
    ----------
    panel
        The experts.
    methods
        The methods, as :func:`covote.decode` has them.
    accuracies
        How often experts are right about what they know.
    items
        How many items are labelled for each accuracy.
    seed
        Same seed, same votes.
    model
        Passed to :func:`covote.simulation.simulate`: noise, missing, ...

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
    >>> found = method_errors(panel, ["authority"], [0.6, 1.0], items=500)
    >>> bool(found.errors["authority"][0, 0] > found.errors["authority"][1, 0])
    True
    """
    names, rates = tuple(dict.fromkeys(methods)), tuple(accuracies)
    if not names or not rates:
        raise InputError("nothing to measure; give at least one method and one accuracy")
    check_count(items, "the number of items")
    plain = Panel(len(panel.classes), panel.knows)
    found = {method: np.empty((len(rates), 3)) for method in names}
    for n, accuracy in enumerate(rates):
        for m, method in enumerate(names):
            error = error_rate(plain, items, method, [seed, n], accuracy=accuracy, **model)
            low, high = wilson(error * items, items)
            found[method][n] = error, min(error, float(low)), max(error, float(high))
            if progress is not None:
                progress(n * len(names) + m + 1, len(rates) * len(names), method)
    size = f"{len(panel)} experts, {len(panel.classes)} classes"
    return MethodErrors(rates, found, f"Panel of {size}; {_noise(**model)}")


def _noise(noise: Any = "uniform", missing: float = 0.0, **others: Any) -> str:
    """Return what experts do with classes that they do not know, in words.

    >>> _noise("similar", missing=0.1)
    'similar noise, 10% missing'
    """
    kind = noise if isinstance(noise, str) else type(noise).__name__.lower()
    return f"{kind} noise" + (f", {missing:.0%} missing" if missing else "")


def error_rate(panel: Panel, items: int, method: str, seed: list[int], **model: Any) -> float:
    """Return how often the labels of simulated votes on random items are wrong.

    The classes must be 0..K-1. A class that no expert knows wins where, with experts that are never wrong
    about what they know, no other can be true.
    """
    if items > 1 << 40:
        raise TooLargeError(f"{items} items are too many for memory; take fewer")
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, len(panel.classes), items)
    labels = decode(simulate(panel, truth, seed=int(rng.integers(2**63)), **model), method=method)
    chance = labels.expected_score(truth)
    orphans = np.flatnonzero(~panel.knows.any(axis=0))
    if len(orphans) and np.all(np.asarray(model.get("accuracy", 1.0)) == 1):
        impossible = labels.violations > 0
        chance[impossible] = np.isin(truth[impossible], orphans) / len(orphans)
    return float(1 - chance.mean())
