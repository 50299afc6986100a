"""The compiled loop that draws answers: O(1) work per answer, the same answers in any order.

Every answer takes its random numbers from its own place in the stream (item number x experts + expert), so
that parts of the items can be drawn apart, in any order or on any thread, and make the same whole.
"""

from __future__ import annotations

from typing import Any

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


@kernel
def draw(
    truth: NDArray[np.int64],
    first: int,
    keys: NDArray[np.uint64],
    known_by: NDArray[np.bool_],
    start: NDArray[np.int64],
    members: NDArray[np.int32],
    missing: NDArray[np.float64],
    none_inside: NDArray[np.float64],
    none_outside: NDArray[np.float64],
    accuracy: NDArray[np.float64],
    byzantine: NDArray[np.bool_],
    habit: NDArray[np.int32],
    rival_start: NDArray[np.int64],
    rivals: NDArray[np.int32],
    chances: NDArray[np.float64],
    chances_start: NDArray[np.int64],
    chances_inside: bool,
    none_code: int,
    out: NDArray[Any],
) -> None:
    """Fill `out` (experts x items) with class indices; -1 = not asked, `none_code` = "none of mine".

    `known_by` is classes x experts; an expert's classes are members[start[i]:start[i+1]], ascending.
    `habit` (classes x experts, or empty) is the fixed answer outside expertise, -1 for none. `rivals` of a
    true class are the classes that all noise backs together (empty: no conspiracy). `chances` (or empty) are
    cumulative probabilities of an expert's answers, per true class.
    """
    experts = len(start) - 1
    classes = len(known_by)
    has_habit = habit.size > 0
    has_chances = chances.size > 0
    any_byzantine = byzantine.any()
    for n in range(len(truth)):
        k = truth[n]
        target = np.int64(-1)
        place = np.uint64(first + n)
        choices = rival_start[k + 1] - rival_start[k] if rivals.size else 0
        conspiracy = choices > 0
        if conspiracy:
            bits = _mix(keys[2] + place * _GOLDEN)
            target = np.int64(rivals[rival_start[k] + _below(bits, choices)])
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
            if u < missing[i]:
                out[i, n] = -1
                continue
            u = (u - missing[i]) / (1.0 - missing[i])
            silent = none_inside[i] if inside else none_outside[i]
            if u < silent and not byzantine[i]:
                out[i, n] = none_code
                continue
            bits = _mix(keys[1] + counter)
            size = start[i + 1] - start[i]
            wrong = byzantine[i]
            if inside and not wrong and not (has_chances and chances_inside):
                u = (u - silent) / (1.0 - silent)
                if u < accuracy[i]:
                    out[i, n] = k
                    continue
                wrong = True
            if target >= 0 and (conspiracy or byzantine[i]) and known_by[target, i]:
                out[i, n] = target
            elif wrong:
                out[i, n] = _other(members, start[i], size, k, inside, bits)
            elif has_chances:
                row = chances_start[i] + k * size
                v = _unit(bits)
                low, high = 0, size - 1
                while low < high:
                    middle = (low + high) // 2
                    if chances[row + middle] > v:
                        high = middle
                    else:
                        low = middle + 1
                out[i, n] = members[start[i] + low]
            elif has_habit and habit[k, i] >= 0:
                out[i, n] = habit[k, i]
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
