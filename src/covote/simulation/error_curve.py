"""Error curves: against the number of experts, next to the bounds, and against the accuracy of the experts.

Paper: the statistical setting (Thm 4, Thm 5), random experts that are perfect inside their expertise and
uniform outside.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count, check_size
from covote.bounds import random_panel_error, random_panel_experts
from covote.decoding import decode
from covote.decoding.gold import wilson
from covote.errors import InputError, TooLargeError
from covote.panel import Panel
from covote.progress import Progress
from covote.simulation import simulate

IDEAL: dict[str, Any] = {"noise": "uniform", "accuracy": 1.0, "missing": 0.0}
"""The model for which the bounds hold."""
ACCURACIES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0)
"""How often experts are right about what they know, by default."""


@dataclass(frozen=True)
class ErrorCurve:
    """How often the label is wrong, for several numbers of experts.

    Attributes
    ----------
    classes, size
        K and R.
    experts
        The numbers of experts (m).
    error, low, high
        Measured error probability and its 95% interval (over items and panels).
    fano, converse
        No panel can have a smaller error (Thm 4; theory: section 5).
    random_panels, paper
        Random panels have a smaller error on average (theory: section 5; Thm 5).
    ideal
        Whether the bounds hold here: for perfect experts that answer every item, and uniform noise.
    model
        How experts answer, and the method, in words for the title of a picture.
    """

    classes: int
    size: int
    experts: tuple[int, ...]
    error: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    fano: NDArray[np.float64]
    converse: NDArray[np.float64]
    random_panels: NDArray[np.float64]
    paper: NDArray[np.float64]
    ideal: bool = True
    model: str = ""

    def rows(self) -> list[dict[str, float]]:
        """Return one dict per number of experts; without bounds where these do not hold."""
        names = ["error", "low", "high"]
        names += ["fano", "converse", "random_panels", "paper"] if self.ideal else []
        return [
            {"experts": m, **{name: float(getattr(self, name)[n]) for name in names}}
            for n, m in enumerate(self.experts)
        ]


def error_curve(
    classes: int,
    size: int,
    experts: Iterable[int] | None = None,
    *,
    panels: int = 100,
    items: int = 500,
    method: str = "likelihood",
    seed: int = 0,
    progress: Progress | None = None,
    **model: Any,
) -> ErrorCurve:
    """Measure the error of random panels against their number of experts.

    Parameters
    ----------
    classes, size
        K and R: every expert knows R random classes.
    experts
        The numbers of experts to try (default: from where errors are frequent to where they are rare).
    panels, items
        How many random panels for each number, and how many items for each panel.
    method
        How to decode; the default is the most likely class under the paper's model.
    seed
        Same seed, same curve.
    model
        Passed to :func:`covote.simulation.simulate`: noise, accuracy, missing, ... The bounds hold for the
        default.

    A tie counts as an error with the probability of picking another of the tied classes.

    >>> curve = error_curve(10, 4, [5, 20], panels=5, items=100)
    >>> bool(curve.error[1] < curve.error[0])
    True
    """
    check_size(classes, size)
    if experts is None:
        most = random_panel_experts(classes, size, 0.001) if size < classes else 4
        experts = sorted({max(1, round(most * step / 8)) for step in range(1, 9)})
    sizes = tuple(check_count(m, "the number of experts") for m in experts)
    if not sizes:
        raise InputError("no numbers of experts; give at least one")
    check_count(panels, "the number of panels")
    check_count(items, "the number of items")
    measured = np.empty((len(sizes), 3))
    for n, m in enumerate(sizes):
        rates = []
        for p in range(panels):
            panel = random_panel(classes, size, m, [seed, m, p])
            rates.append(error_rate(panel, items, method, [seed, m, p, 1], **model))
            if progress is not None:
                progress(n * panels + p + 1, len(sizes) * panels, f"{m} experts")
        measured[n] = clustered_interval(np.array(rates), items)
    return ErrorCurve(
        classes, size, sizes, measured[:, 0], measured[:, 1], measured[:, 2],
        np.array([fano_error(classes, size, m) for m in sizes]),
        np.array([converse_error(classes, size, m) for m in sizes]),
        np.array([random_panel_error(classes, size, m) for m in sizes]),
        np.array([paper_error(classes, size, m) for m in sizes]),
        all(name in IDEAL and np.all(np.asarray(value) == IDEAL[name]) for name, value in model.items()),
        f"{_noise(**model)}, {method}",
    )  # fmt: skip


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
            found[method][n] = clustered_interval(np.array([error]), items)
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


def random_panel(classes: int, size: int, experts: int, seed: list[int]) -> Panel:
    """Return experts that each know `size` classes, all subsets equally likely (the model of Thm 5)."""
    return Panel(classes, random_knowledge(classes, size, experts, seed))


def random_knowledge(classes: int, size: int, experts: int, seed: list[int]) -> NDArray[np.bool_]:
    """Return who knows what in such a panel (experts x classes)."""
    if experts * classes > 1 << 40:
        raise TooLargeError(f"{experts} experts by {classes} classes are too many for memory; take fewer")
    return np.random.default_rng(seed).random((experts, classes)).argsort(axis=1) < size


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
    chance = labels.chances(truth)
    orphans = np.flatnonzero(~panel.knows.any(axis=0))
    if len(orphans) and np.all(np.asarray(model.get("accuracy", 1.0)) == 1) and not model.get("byzantine"):
        impossible = labels.violations > 0
        chance[impossible] = np.isin(truth[impossible], orphans) / len(orphans)
    return float(1 - chance.mean())


def clustered_interval(rates: NDArray[np.float64], items: int) -> tuple[float, float, float]:
    """Return the mean of the panels' error rates and its 95% interval.

    Items of one panel are alike, so they count for less than independent ones: Wilson's interval with the
    number of independent items that would scatter as the panels do.
    """
    mean, panels = float(rates.mean()), len(rates)
    number = float(panels * items)
    scatter = float(rates.var(ddof=1)) / panels if panels > 1 else 0.0
    if scatter > 0:
        number = min(number, mean * (1 - mean) / scatter)
    number = max(number, 1.0)
    low, high = wilson(mean * number, number)
    return mean, min(mean, float(low)), max(mean, float(high))


def fano_error(classes: int, size: int, experts: int) -> float:
    """No panel has a smaller error: Thm 4 solved for the error, 1 - (m R/K ln R + ln 2) / ln K.

    >>> round(fano_error(100, 12, 10), 3)
    0.202
    """
    told = experts * size / classes * math.log(size) + math.log(2)
    return max(0.0, 1 - told / math.log(classes)) if classes > 1 else 0.0


def converse_error(classes: int, size: int, experts: int) -> float:
    """No panel has a smaller error: the best of 1 - R^t/K - m R / (K (t+1)) over t >= 0 (theory: section 5).

    >>> round(converse_error(100, 12, 10), 3)
    0.28
    """
    best, t = 0.0, 0
    while size**t < classes:
        best = max(best, 1 - size**t / classes - experts * size / (classes * (t + 1)))
        t += 1
    return best


def paper_error(classes: int, size: int, experts: int) -> float:
    """Random panels have less error on average: Thm 5 solved for it, K exp(-m (K-R)(R-1) / (K(K-1))).

    >>> round(paper_error(100, 12, 95), 3)
    0.009
    """
    if size == classes:
        return 0.0
    rate = (classes - size) * (size - 1) / (classes * (classes - 1))
    return min(1.0, classes * math.exp(-experts * rate))
