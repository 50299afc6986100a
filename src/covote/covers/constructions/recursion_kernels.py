"""The rules of :mod:`covote.covers.constructions.recursion_rules`, compiled."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from numba import njit

from covote.covers.constructions import recursion_rules


def _compiled(module: dict[str, Any]) -> dict[str, Any]:
    """Compile the functions of a module into a namespace of their own, where they call each other."""
    space = dict(module)
    for name, function in module.items():
        if isinstance(function, FunctionType):
            twin = FunctionType(function.__code__, space, name, function.__defaults__)
            twin.__qualname__, twin.__module__ = name, __name__
            space[name] = njit(cache=True)(twin)
    return space


fill = _compiled(vars(recursion_rules))["fill"]
