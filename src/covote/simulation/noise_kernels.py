"""The compiled loop that draws answers: O(1) work per answer, the same answers in any order.

Every answer takes its random numbers from its own place in the stream (item number x experts + expert), so
that parts of the items can be drawn apart, in any order or on any thread, and make the same whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper, kernel

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
                row = noise.chances_start[i] + k * size
                v = _unit(bits)
                low, high = 0, size - 1
                while low < high:
                    middle = (low + high) // 2
                    if noise.chances[row + middle] > v:
                        high = middle
                    else:
                        low = middle + 1
                out[i, n] = members[start[i] + low]
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
