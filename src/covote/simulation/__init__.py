"""Votes from known truth, under a model of the experts' mistakes: :func:`simulate`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_count
from covote.errors import InputError
from covote.panel import Name, Panel
from covote.simulation.noise import Adversarial, Conduct, Joint, Noise, Similar, confusions, draw
from covote.votes import NONE_OF_MINE, Votes

__all__ = ["Adversarial", "Joint", "Similar", "simulate"]

NoiseFunction = Callable[[np.random.Generator, NDArray[np.int64], int, NDArray[np.intp]], ArrayLike]


def simulate(
    panel: Panel,
    truth: ArrayLike,
    *,
    noise: str | Similar | Adversarial | Joint | NoiseFunction | Sequence[Any] | NDArray[Any] = "uniform",
    accuracy: float | ArrayLike = 1.0,
    missing: float | ArrayLike = 0.0,
    byzantine: Name | Iterable[Name] = (),
    none_rate: float | tuple[float, float] = 0.0,
    first: int = 0,
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
        :class:`Similar`, always the most similar class they know; ``"adversarial"`` or
        :class:`Adversarial`, all together for the wrong class that comes closest to winning; a function
        ``(rng, truth, expert, known) -> class indices``, called once per expert; one confusion table per
        expert (true class x answer), which then also holds inside expertise; or :class:`Joint`, a function
        that answers for all experts together, so that their mistakes may depend on each other.
    accuracy
        How often experts are right about classes they know; one number, or one per expert. A wrong answer is
        any other class that they know (with adversarial noise: the rival if they know it).
    missing
        How often an answer is missing; one number, or one per expert.
    byzantine
        Experts who are never right: they agree on a wrong class for each item.
    none_rate
        How often an expert answers "none of mine" about a class it does not know; or a pair, (inside
        expertise, outside).
    first
        The number of the first item: parts of the items, drawn apart, make the same votes as the whole.
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
    if isinstance(none_rate, tuple | list):
        if len(none_rate) != 2:
            raise InputError(f"none_rate must be one rate or a pair (inside, outside), not {none_rate!r}")
        inside, outside = none_rate
    else:
        inside, outside = 0.0, none_rate
    model = _noise_model(panel, noise, accuracy, seed)
    traitors = np.zeros(experts, dtype=bool)
    named = [byzantine] if isinstance(byzantine, str | int) else byzantine
    traitors[[panel.expert_index(name) for name in named]] = True
    conduct = Conduct(
        *panel.layout.known,
        np.ascontiguousarray(panel.knows.T),
        rate_per_expert(missing, experts, "missing"),
        rate_per_expert(inside, experts, "none_rate"),
        rate_per_expert(outside, experts, "none_rate"),
        rate_per_expert(accuracy, experts, "accuracy"),
        traitors,
    )
    keys = np.random.SeedSequence(seed).generate_state(3, np.uint64)
    answers = np.empty((experts, len(indices)), dtype=np.min_scalar_type(-max(2, len(panel.classes))))
    draw(indices, int(first), keys, conduct, model, NONE_OF_MINE, answers)
    if isinstance(noise, Joint):
        _ask_together(noise, panel, indices, traitors, answers, [seed, first])
    elif callable(noise):
        _ask(noise, panel, indices, traitors, answers, first, seed)
    return Votes.from_dense(answers.T, panel, items=np.arange(first, first + len(indices)) if first else None)


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


NOISES = {"uniform": None, "similar": Similar(), "adversarial": Adversarial()}
"""Noise by name."""


def _noise_model(panel: Panel, noise: Any, accuracy: Any, seed: int) -> Noise:
    if isinstance(noise, str):
        if noise not in NOISES:
            raise InputError(
                f"unknown noise {noise!r}; choose from {', '.join(NOISES)}, a function or confusion tables"
            )
        noise = NOISES[noise]
    if noise is None or callable(noise):
        return Noise()
    if isinstance(noise, Similar | Adversarial):
        return noise.model(panel, seed)
    if np.any(np.asarray(accuracy) != 1.0):
        what = "a joint function says" if isinstance(noise, Joint) else "confusion tables already say"
        raise InputError(f"{what} how accurate experts are; leave out accuracy")
    return Noise() if isinstance(noise, Joint) else confusions(panel, noise)


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


def _ask(
    noise: NoiseFunction,
    panel: Panel,
    truth: NDArray[np.int64],
    traitors: NDArray[np.bool_],
    answers: NDArray[Any],
    first: int,
    seed: int,
) -> None:
    """Replace every answer outside expertise by what the function says."""
    for i, row in enumerate(panel.knows):
        items = np.flatnonzero(~row[truth] & (answers[i] >= 0))
        if traitors[i] or not len(items):
            continue
        known = np.flatnonzero(row)
        said = np.asarray(noise(np.random.default_rng([seed, first, i]), truth[items], i, known))
        if said.shape != items.shape or said.dtype.kind not in "iu":
            raise InputError(
                f"the noise function gave {said.dtype} of shape {said.shape} for expert {panel.names[i]!r}; "
                f"it must give {len(items)} class indices"
            )
        wrong = ~np.isin(said, known)
        if wrong.any():
            raise InputError(
                f"the noise function answered {said[np.argmax(wrong)]} for expert {panel.names[i]!r}, "
                "a class index that it does not know"
            )
        answers[i, items] = said


def _ask_together(
    noise: Joint,
    panel: Panel,
    truth: NDArray[np.int64],
    traitors: NDArray[np.bool_],
    answers: NDArray[Any],
    seed: list[int],
) -> None:
    """Replace every answer by what the joint function says."""
    said = np.asarray(noise.answers(np.random.default_rng(seed), truth, panel))
    if said.shape != (len(truth), len(panel)) or said.dtype.kind not in "iu":
        raise InputError(
            f"the joint function gave {said.dtype} of shape {said.shape}; it must give class indices of "
            f"shape {(len(truth), len(panel))} (items x experts)"
        )
    there = (said >= 0) & (said < len(panel.classes))
    wrong = ~(there & panel.knows[np.arange(len(panel)), np.where(there, said, 0)])
    if wrong.any():
        n, i = np.argwhere(wrong)[0]
        raise InputError(
            f"the joint function answered {said[n, i]} for expert {panel.names[i]!r}, a class index that it "
            "does not know"
        )
    given = (answers >= 0) & ~traitors[:, None]
    answers[given] = said.T[given]
