"""Votes from known truth, under a model of the experts' mistakes: :func:`simulate`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_count
from covote.errors import InputError
from covote.panel import Panel
from covote.votes import NONE_OF_MINE, NOT_ASKED, Votes

__all__ = ["Similar", "simulate"]

NOISES = ("uniform", "similar", "adversarial")
"""Noise by name."""

PART = 1 << 16
"""Items to draw at once."""

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Similar:
    """Answers by similarity: a class that an expert does not know looks like the nearest one it knows.

    Real classifiers do this, all in the same way for the same class, so that noise agrees with noise: the
    hard case (theory: section 5).

    Attributes
    ----------
    similarity
        (classes x classes) Larger is more alike (default: the distances of random points in a plane).
    temperature
        0 always answers the most similar class; above, the answer v has weight exp(similarity / temperature).
    """

    similarity: ArrayLike | None = None
    temperature: float = 0.0

    def matrix(self, classes: int, seed: int) -> NDArray[np.float64]:
        """Return how alike the classes are (classes x classes)."""
        if not self.temperature >= 0:
            raise InputError(f"temperature must be 0 or more, not {self.temperature}")
        if self.similarity is None:
            # Classes as random points in the plane: neighbours confuse, and confusion is symmetric.
            points = np.random.default_rng([seed, 0x51]).normal(size=(classes, 2))
            apart: NDArray[np.float64] = np.hypot(
                *(points[:, None, :] - points[None, :, :]).transpose(2, 0, 1)
            )
            return -apart
        try:
            matrix = np.asarray(self.similarity, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"similarity must be a {classes} x {classes} matrix of numbers") from error
        if matrix.shape != (classes, classes):
            raise InputError(
                f"similarity has shape {matrix.shape}; it must be {classes} x {classes}, one row per class"
            )
        if not np.isfinite(matrix).all():
            k, j = np.argwhere(~np.isfinite(matrix))[0]
            raise InputError(f"similarity[{k}, {j}] is {matrix[k, j]}; it must be a finite number")
        return matrix

    def answers(
        self,
        matrix: NDArray[np.float64],
        known: NDArray[np.intp],
        truth: NDArray[np.int64],
        drawn: NDArray[np.float64],
    ) -> NDArray[np.intp]:
        """Return what an expert who knows some classes says, by numbers drawn from [0, 1), one per item."""
        near = matrix[:, known]
        if self.temperature == 0:
            return np.asarray(known[near.argmax(axis=1)][truth])
        weights = np.exp((near - near.max(axis=1, keepdims=True)) / self.temperature)
        chances = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        place = (chances[truth] <= drawn[:, None]).sum(axis=1)
        return np.asarray(known[np.minimum(place, len(known) - 1)])


def simulate(
    panel: Panel,
    truth: ArrayLike,
    *,
    noise: str | Similar = "uniform",
    accuracy: float | ArrayLike = 1.0,
    missing: float | ArrayLike = 0.0,
    none_rate: float | tuple[float, float] = 0.0,
    seed: int = 0,
) -> Votes:
    """Simulate the votes of a panel on items with known classes.

    Paper: the model of the statistical setting (perfect inside expertise, uniform outside) is the default.

    Parameters
    ----------
    panel
        Who knows what.
    truth
        The true class of each item: names, or indices into ``panel.classes``. Where the classes are
        integers themselves, integers are names.
    noise
        How experts answer about classes they do not know: ``"uniform"``; ``"similar"`` or
        :class:`Similar`, always the most similar class they know; ``"adversarial"``, all together for the
        wrong class that comes closest to winning the paper's vote. For another model, make
        :class:`covote.Votes` from your own matrix of answers.
    accuracy
        How often experts are right about classes they know; one number, or one per expert. A wrong answer is
        any other class that they know (with adversarial noise: the rival if they know it).
    missing
        How often an answer is missing; one number, or one per expert.
    none_rate
        How often an expert answers "none of mine" about a class it does not know; or a pair, (inside
        expertise, outside).
    seed
        Same seed, same votes, on every machine.

    >>> panel = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    >>> simulate(panel, ["cat", "fox"], seed=1).dense
    array([[0, 2, 0],
           [0, 2, 2]], dtype=int8)
    """
    indices = truth_indices(panel, truth)
    check_count(seed, "seed", 0)
    experts = len(panel)
    if not isinstance(noise, Similar) and noise not in NOISES:
        raise InputError(f"unknown noise {noise!r}; choose from {', '.join(NOISES)} or Similar(...)")
    rates = none_rate if isinstance(none_rate, tuple | list) else (0.0, none_rate)
    if len(rates) != 2:
        raise InputError(f"none_rate must be one rate or a pair (inside, outside), not {none_rate!r}")
    behaviour = Behaviour(
        rate_per_expert(missing, experts, "missing"),
        rate_per_expert(rates[0], experts, "none_rate"),
        rate_per_expert(rates[1], experts, "none_rate"),
        rate_per_expert(accuracy, experts, "accuracy"),
    )
    answers = np.empty((experts, len(indices)), dtype=np.min_scalar_type(-max(2, len(panel.classes))))
    similar = Similar() if noise == "similar" else noise if isinstance(noise, Similar) else None
    rivals = _strongest_rivals(panel) if noise == "adversarial" and len(panel.classes) > 1 else None
    for items, column in _drawn(panel, indices, behaviour, similar, rivals, seed):
        answers[column[0], items] = column[1]
    return Votes.from_dense(answers.T, panel)


class Behaviour(NamedTuple):
    """How experts answer, one entry per expert.

    How often an answer is missing, or "none of mine" about a class they know and about another one, and how
    often it is right about one that they know.
    """

    missing: NDArray[np.float64]
    none_inside: NDArray[np.float64]
    none_outside: NDArray[np.float64]
    accuracy: NDArray[np.float64]


def _drawn(
    panel: Panel,
    truth: NDArray[np.int64],
    behaviour: Behaviour,
    similar: Similar | None,
    rivals: list[NDArray[np.intp]] | None,
    seed: int,
) -> Iterator[tuple[slice, tuple[int, NDArray[np.int64]]]]:
    """Yield (items, (expert, answers)); an answer depends on the seed, the item and the expert alone."""
    keys = np.random.SeedSequence(seed).generate_state(3, np.uint64)
    matrix = None if similar is None else similar.matrix(len(panel.classes), seed)
    for start in range(0, len(truth), PART):
        items = slice(start, start + PART)
        true = truth[items]
        place = np.arange(start, start + len(true), dtype=np.uint64)
        target = None if rivals is None else _targets(true, _mixed(keys[2] + place * _GOLDEN), rivals)
        for i, known_by in enumerate(panel.knows):
            known = np.flatnonzero(known_by)
            counter = (place * np.uint64(len(panel)) + np.uint64(i)) * _GOLDEN
            event, bits = (_mixed(key + counter) for key in keys[:2])
            guess = _uniform(known, bits)
            if similar is not None and matrix is not None and len(known):
                guess = similar.answers(matrix, known, true, _unit(bits))
            knows = known_by[true]
            wrong = np.where(knows, _other(known, true, bits), _uniform(known, bits))
            if target is not None:
                rival = known_by[target] & (target >= 0)
                guess, wrong = np.where(rival, target, guess), np.where(rival, target, wrong)
            # One uniform number decides between the exclusive events; the threshold moves up.
            u = _unit(event)
            absent = u < behaviour.missing[i]
            u = _rest(u, behaviour.missing[i])
            none = np.where(knows, behaviour.none_inside[i], behaviour.none_outside[i])
            right = knows & (_rest(u, none) < behaviour.accuracy[i])
            answer = np.select(
                [absent, u < none, right, knows], [NOT_ASKED, NONE_OF_MINE, true, wrong], guess
            )
            yield items, (i, answer)


def _targets(
    true: NDArray[np.int64], bits: NDArray[np.uint64], rivals: list[NDArray[np.intp]]
) -> NDArray[np.int64]:
    """Return the rival of each item's class on which experts agree, -1 if there is none."""
    target = np.full(len(true), -1, dtype=np.int64)
    for k in np.unique(true):
        if len(rivals[k]):
            target[true == k] = rivals[k][_below(bits[true == k], len(rivals[k]))]
    return target


def _strongest_rivals(panel: Panel) -> list[NDArray[np.intp]]:
    """Return for every true class the wrong classes that come closest to beating it in the paper's vote.

    When the truth is k, the experts who do not know it can give rival j at most d_j - lambda_kj votes, all
    of which are consistent with j. The rival with the least lambda_kj / d_j scores highest; it ties with the
    truth where the pair is uncovered.
    """
    degrees = panel.knows.sum(axis=0).astype(np.float64)
    chosen = []
    for k, together in enumerate(panel.pair_counts()):
        # Quotients of small integers: equal fractions are equal as float64, and unequal ones are not.
        held = np.where(degrees > 0, together / np.maximum(degrees, 1), np.inf)
        held[k] = np.inf
        # A panel in which no one knows any other class has no rival to offer.
        chosen.append(np.flatnonzero(held == held.min()) if np.isfinite(held).any() else np.empty(0, np.intp))
    return chosen


# Random numbers: the finaliser of SplitMix64 (Steele, Lea and Flood, 2014) scrambles a counter.


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _unit(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Return numbers in [0, 1) with 53 random bits."""
    return (bits >> np.uint64(11)).astype(np.float64) / (1 << 53)


def _below(bits: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    """Return integers in 0..count-1; the bias is at most count / 2**32."""
    return (((bits >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32)).astype(np.int64)


def _rest(u: NDArray[np.float64], share: Any) -> NDArray[np.float64]:
    """Return numbers above a share as numbers in [0, 1)."""
    rest: NDArray[np.float64] = (u - share) / np.maximum(1.0 - share, 1e-300)
    return rest


def _uniform(known: NDArray[np.intp], bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return one of the known classes; an expert who knows none is not asked."""
    return known[_below(bits, len(known))] if len(known) else np.full(len(bits), NOT_ASKED)


def _other(known: NDArray[np.intp], true: NDArray[np.int64], bits: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return a known class that is not the true one, unless the expert knows no other."""
    if len(known) < 2:
        return true
    place = _below(bits, len(known) - 1)
    # The known classes ascend, so everything from the true class on moves up by one place.
    return known[place + (known[place] >= true)]


def truth_indices(panel: Panel, truth: ArrayLike) -> NDArray[np.int64]:
    """Return true classes, given by name or by index, as indices."""
    values = np.asarray(truth)
    if values.ndim != 1:
        raise InputError(f"truth has shape {values.shape}; it must be one class per item")
    classes = len(panel.classes)
    if not len(values):
        return np.empty(0, dtype=np.int64)
    if values.dtype.kind in "iu":
        named = any(isinstance(name, int) for name in panel.classes)
        if not named or panel.classes == tuple(range(classes)):
            wrong = (values < 0) | (values >= classes)
            if wrong.any():
                n = int(np.argmax(wrong))
                raise InputError(
                    f"truth of item {n} is {values[n]}; there are {classes} classes, 0 to {classes - 1}"
                )
            return values.astype(np.int64)
    elif values.dtype.kind not in "UOS":
        raise InputError(f"truth is of type {values.dtype}; give class names or indices")
    names, inverse = np.unique(values, return_inverse=True) if values.dtype.kind != "O" else (None, None)
    if names is None:
        return np.array([panel.class_index(name) for name in values], dtype=np.int64)
    index = np.array([panel.class_index(name) for name in names.tolist()], dtype=np.int64)
    return index[inverse]


def rate_per_expert(value: Any, experts: int, what: str) -> NDArray[np.float64]:
    """Return one rate in [0, 1] per expert."""
    try:
        rates = np.broadcast_to(np.asarray(value, dtype=np.float64), (experts,)).copy()
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be one number or one per expert ({experts}), not {value!r}") from error
    if not ((rates >= 0) & (rates <= 1)).all():
        wrong = rates[~((rates >= 0) & (rates <= 1))][0]
        raise InputError(f"{what} is {wrong}; it must be between 0 and 1")
    return rates
