"""Checks that all bounds share: what may be asked at all."""

from __future__ import annotations

import math
from numbers import Integral

from covote.errors import InputError


def check_count(value: int, what: str, least: int = 1) -> int:
    """Return `value` as an int of at least `least`, or say what is wrong with it.

    >>> check_count(3, "times")
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{what} must be a whole number, not {value!r}")
    if value < least:
        raise InputError(f"{what} must be at least {least}, not {value}")
    return int(value)


def check_size(classes: int, size: int) -> tuple[int, int]:
    """Return the number of classes and the size of the experts as ints, or say why no panel fits them."""
    classes = check_count(classes, "the number of classes", 2)
    size = check_count(size, "the size of an expert", 2)
    if size > classes:
        raise InputError(
            f"an expert of size {size} cannot know more than the {classes} classes there are; "
            f"choose a size from 2 to {classes}"
        )
    return classes, size


def check_probability(value: float, what: str) -> float:
    """Return a probability strictly between 0 and 1, or say what is wrong with it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be a number between 0 and 1, not {value!r}") from None
    if not (math.isfinite(number) and 0 < number < 1):
        raise InputError(f"{what} must lie strictly between 0 and 1, not {value}; try 0.01")
    return number
