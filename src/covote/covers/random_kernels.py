"""Compiled random numbers from an explicit state, the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import int64, njit, uint64
from numpy.typing import NDArray

State = NDArray[np.uint64]


def chance(seed: int) -> State:
    """Return a fresh state for :func:`draw` that depends on nothing but `seed`."""
    return np.random.SeedSequence(seed).generate_state(2, np.uint64) | np.uint64(1)


@njit(cache=True, inline="always")
def draw(state: State) -> Any:
    """Return 32 random bits (xorshift128+, upper half) and step the state."""
    a = state[0]
    b = state[1]
    state[0] = b
    a ^= a << uint64(23)
    a ^= (a >> uint64(17)) ^ b ^ (b >> uint64(26))
    state[1] = a
    return (a + b) >> uint64(32)


@njit(cache=True, inline="always")
def below(state: State, n: int) -> Any:
    """Return a random integer from 0 to n-1."""
    return int64((draw(state) * uint64(n)) >> uint64(32))
