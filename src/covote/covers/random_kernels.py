"""Random numbers from an explicit state, the same on every machine, compiled or not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.compiled import helper

State = NDArray[np.uint64]


def random_state(seed: int) -> State:
    """Return a fresh state for :func:`draw` that depends on nothing but `seed`."""
    return np.random.SeedSequence(seed).generate_state(2, np.uint64) | np.uint64(1)


@helper
def draw(state: State) -> Any:
    """Return 32 random bits and step the state.

    xorshift128+, upper half (Vigna 2017, "Further scramblings of Marsaglia's xorshift generators").
    """
    a = state[0]
    b = state[1]
    state[0] = b
    a ^= a << np.uint64(23)
    a ^= (a >> np.uint64(17)) ^ b ^ (b >> np.uint64(26))
    state[1] = a
    return (a + b) >> np.uint64(32)


@helper
def below(state: State, n: int) -> Any:
    """Return a random integer from 0 to n-1."""
    return np.int64((draw(state) * np.uint64(n)) >> np.uint64(32))
