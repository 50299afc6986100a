"""What experts answer about classes they do not know: tables for the compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import check_tables
from covote.compiled import helper, kernel
from covote.errors import InputError, TooLargeError
from covote.panel import Panel
from covote.votes import Votes

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_UNIT = 1.0 / (1 << 53)


@helper(inline="always")
def _mix(z: Any) -> Any:
    """Scramble 64 bits: the finaliser of SplitMix64."""
    z = np.uint64((z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9))
    z = np.uint64((z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB))
    return np.uint64(z ^ (z >> np.uint64(31)))


@helper(inline="always")
def _unit(bits: Any) -> float:
    """Return a number in [0, 1) with 53 random bits."""
    return float(bits >> np.uint64(11)) * _UNIT


@helper(inline="always")
def _below(bits: Any, count: int) -> Any:
    """Return an integer in 0..count-1; the bias is at most count / 2**32."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


class Conduct(NamedTuple):
    """How experts answer.

    Expert i knows the classes ``members[start[i]:start[i + 1]]``, ascending; `known_by` says the same as
    (classes x experts). The rest has one entry per expert: how often its answer is missing or "none of mine",
    how often it is right, and whether it never is.
    """

    start: NDArray[np.int64]
    members: NDArray[np.int64]
    known_by: NDArray[np.bool_]
    missing: NDArray[np.float64]
    none_inside: NDArray[np.float64]
    none_outside: NDArray[np.float64]
    accuracy: NDArray[np.float64]
    byzantine: NDArray[np.bool_]


@kernel
def draw(truth: Any, first: Any, keys: Any, panel: Any, noise: Any, none_code: Any, out: Any) -> None:
    """Fill `out` (experts x items) with class indices; -1 = not asked, `none_code` = "none of mine".

    `panel` are the :class:`Conduct`, `noise` is what they say about classes that they do not know.
    """
    start, members, known_by, byzantine = panel.start, panel.members, panel.known_by, panel.byzantine
    experts = len(start) - 1
    classes = len(known_by)
    has_habit = noise.habit.size > 0
    has_chances = noise.chances.size > 0
    any_byzantine = byzantine.any()
    for n in range(len(truth)):
        k = truth[n]
        target = np.int64(-1)
        place = np.uint64(first + n)
        choices = noise.rival_start[k + 1] - noise.rival_start[k] if noise.rivals.size else 0
        conspiracy = choices > 0
        if conspiracy:
            bits = _mix(keys[2] + place * _GOLDEN)
            target = np.int64(noise.rivals[noise.rival_start[k] + _below(bits, choices)])
        elif any_byzantine and classes > 1:
            bits = _mix(keys[2] + place * _GOLDEN)
            target = _below(bits, classes - 1)
            if target >= k:
                target += 1
        for i in range(experts):
            counter = (place * np.uint64(experts) + np.uint64(i)) * _GOLDEN
            inside = known_by[k, i]
            # One uniform number decides between the exclusive events; the threshold moves up.
            u = _unit(_mix(keys[0] + counter))
            if u < panel.missing[i]:
                out[i, n] = -1
                continue
            u = (u - panel.missing[i]) / (1.0 - panel.missing[i])
            silent = panel.none_inside[i] if inside else panel.none_outside[i]
            if u < silent and not byzantine[i]:
                out[i, n] = none_code
                continue
            bits = _mix(keys[1] + counter)
            size = start[i + 1] - start[i]
            wrong = byzantine[i]
            if inside and not wrong and not (has_chances and noise.chances_inside):
                u = (u - silent) / (1.0 - silent)
                if u < panel.accuracy[i]:
                    out[i, n] = k
                    continue
                wrong = True
            if target >= 0 and (conspiracy or byzantine[i]) and known_by[target, i]:
                out[i, n] = target
            elif wrong:
                out[i, n] = _other(members, start[i], size, k, inside, bits)
            elif has_chances:
                which = _first_above(noise.chances, noise.chances_start[i] + k * size, size, _unit(bits))
                out[i, n] = members[start[i] + which]
            elif has_habit and noise.habit[k, i] >= 0:
                out[i, n] = noise.habit[k, i]
            else:
                out[i, n] = members[start[i] + _below(bits, size)]


@helper(inline="always")
def _other(members: Any, begin: int, size: int, k: int, inside: bool, bits: Any) -> Any:
    """Return a class the expert knows, uniformly, but not the true one, unless it knows no other."""
    if not inside:
        return np.int64(members[begin + _below(bits, size)])
    if size == 1:
        return np.int64(k)
    # The members ascend, so everything from the true class on moves up by one place.
    place = begin + _below(bits, size - 1)
    if members[place] >= k:
        place += 1
    return np.int64(members[place])


@helper
def _first_above(sums: Any, begin: int, size: int, v: float) -> int:
    """Return the first of `size` ascending numbers that is above v; the last one if none is."""
    low, high = 0, size - 1
    while low < high:
        middle = (low + high) // 2
        if sums[begin + middle] > v:
            high = middle
        else:
            low = middle + 1
    return low


_MOST_CHANCES = 2**28  # cells of all confusion tables together: 2 GiB
_MOST_TRIED = 2_000_000  # candidate votes put before a decoder that we know nothing about

Decoder = Callable[[Votes], Any]


class Noise(NamedTuple):
    """How the answers outside expertise come about; nothing set means uniformly at random.

    Attributes
    ----------
    habit
        (classes x experts) the one answer an expert always gives for a class it does not know, -1 if none.
    rival_start, rivals
        Per true class, the wrong classes that all noise may back together.
    chances, chances_start, chances_inside
        Cumulative probabilities of the answers, per expert and true class; `chances_inside` says whether
        they hold inside expertise too.
    """

    habit: NDArray[np.int32] = np.empty((0, 0), dtype=np.int32)
    rival_start: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    rivals: NDArray[np.int32] = np.empty(0, dtype=np.int32)
    chances: NDArray[np.float64] = np.empty(0)
    chances_start: NDArray[np.int64] = np.zeros(1, dtype=np.int64)
    chances_inside: bool = False


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

    def model(self, panel: Panel, seed: int) -> Noise:
        """Return the noise of a panel."""
        if not self.temperature >= 0:
            raise InputError(f"temperature must be 0 or more, not {self.temperature}")
        classes = len(panel.classes)
        if self.similarity is None:
            # Classes as random points in the plane: neighbours confuse, and confusion is symmetric.
            points = np.random.default_rng([seed, 0x51]).normal(size=(classes, 2))
        else:
            matrix = _checked_similarity(self.similarity, classes)
        if self.temperature > 0:
            _check_chances(panel)
        habit = np.full((classes, len(panel)), -1, dtype=np.int32)
        rows = []
        for i, row in enumerate(panel.knows):
            known = np.flatnonzero(row)
            if self.similarity is None:
                near = -np.hypot(*(points[:, None, :] - points[None, known, :]).transpose(2, 0, 1))
            else:
                near = matrix[:, known]
            if self.temperature == 0:
                habit[:, i] = known[np.argmax(near, axis=1)]
            else:
                weights = np.exp((near - near.max(axis=1, keepdims=True)) / self.temperature)
                rows.append(weights / weights.sum(axis=1, keepdims=True))
        return _from_rows(rows, inside=False) if self.temperature > 0 else Noise(habit=habit)


def _checked_similarity(similarity: ArrayLike, classes: int) -> NDArray[np.float64]:
    try:
        matrix = np.asarray(similarity, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"similarity must be a {classes} x {classes} matrix of numbers") from error
    if matrix.shape != (classes, classes):
        raise InputError(
            f"similarity has shape {matrix.shape}; it must be {classes} x {classes}, one row per true class"
        )
    if not np.isfinite(matrix).all():
        k, j = np.argwhere(~np.isfinite(matrix))[0]
        raise InputError(f"similarity[{k}, {j}] is {matrix[k, j]}; it must be a finite number")
    return matrix


def confusions(panel: Panel, tables: Sequence[Any] | NDArray[Any]) -> Noise:
    """Answers by a confusion table per expert: the probability of each answer, per true class.

    A table is (classes x classes), or (classes x the classes the expert knows).
    """
    _check_chances(panel)
    return _from_rows(check_tables(tables, panel), inside=True)


def _check_chances(panel: Panel) -> None:
    cells = len(panel.classes) * int(panel.sizes.sum())
    if cells > _MOST_CHANCES:
        raise TooLargeError(
            f"confusion tables for {len(panel)} experts and {len(panel.classes)} classes need "
            f"{cells * 8 / 2**30:.1f} GiB; use a temperature of 0"
        )


def _from_rows(rows: list[NDArray[np.float64]], *, inside: bool) -> Noise:
    sizes = [row.size for row in rows]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    sums = [np.cumsum(row, axis=1).ravel() for row in rows]
    return Noise(chances=np.concatenate([np.empty(0), *sums]), chances_start=starts, chances_inside=inside)


@dataclass(frozen=True)
class Joint:
    """Answers that experts give together: mistakes that depend on each other, inside expertise and outside.

    Attributes
    ----------
    answers
        A function ``(rng, truth, panel) -> class indices`` (items x experts): what every expert says about
        every item. Each answer must be a class that the expert knows.

    >>> from covote import simulate
    >>> panel = Panel.from_blocks(3, [[0, 1], [0, 1], [1, 2]])
    >>> def twins(rng, truth, panel):  # the first two experts always say the same
    ...     guess = rng.integers(0, 2, len(truth))
    ...     said = np.where(truth < 2, truth, guess)
    ...     return np.stack([said, said, np.where(truth > 0, truth, 1 + guess)], axis=1)
    >>> simulate(panel, [0, 1, 2, 2], noise=Joint(twins)).dense.tolist()
    [[0, 0, 2], [1, 1, 1], [1, 1, 2], [0, 0, 2]]
    """

    answers: Callable[[np.random.Generator, NDArray[np.int64], Panel], ArrayLike]

    def __post_init__(self) -> None:
        if not callable(self.answers):
            raise InputError(f"a joint noise needs a function (rng, truth, panel), not {self.answers!r}")


@dataclass(frozen=True)
class Adversarial:
    """Answers that all back, for every true class, one of the rivals that come closest to beating it.

    When the truth is k, the experts who do not know it can give rival j at most d_j - lambda_kj votes, all
    of which are consistent with j. Against the authority vote (Eq. (4)) the rival with the least
    lambda_kj / d_j scores highest; it ties with the truth where the pair is uncovered. Against any other
    decoder, every rival is tried, and those stay that it takes for the truth, or else those that leave the
    smallest margin.

    Attributes
    ----------
    against
        A function that decodes :class:`covote.Votes` (default: the authority vote).
    """

    against: Decoder | None = None

    def model(self, panel: Panel, seed: int) -> Noise:
        """Return the noise of a panel."""
        if len(panel.classes) < 2:
            return Noise()
        chosen = _against_authority(panel) if self.against is None else _against(panel, self.against, seed)
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
        # A panel in which no one knows any other class has no rival to offer.
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
