"""Which panel to train: the one that was given, or one designed for the classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.covers import design
from covote.errors import InputError
from covote.panel import Name, Panel
from covote.panel.checks import did_you_mean


def default_size(classes: int) -> int:
    """Return how many classes an expert should know if nobody says.

    As in a projective plane, about as many experts as classes, and about sqrt(K) authorities for each.

    >>> [default_size(classes) for classes in (2, 3, 10, 26, 77)]
    [2, 3, 4, 6, 10]
    """
    return min(classes, 1 + round(math.sqrt(classes)))


def names_of(classes: NDArray[Any]) -> tuple[Name, ...]:
    """Return the classes as names; what cannot be one (a float, a truth value, "") as it is written.

    >>> names_of(np.array([0.5, 1.5]))
    ('0.5', '1.5')
    """
    plain = classes.tolist()
    if all(
        isinstance(name, str | int) and not isinstance(name, bool) and str(name).strip() for name in plain
    ):
        return tuple(plain)
    return tuple(map(repr, plain))


def designed(
    classes: NDArray[Any], size: int | Sequence[int] | None, times: int, method: str, seed: int
) -> Panel:
    """Return a panel for the classes; experts larger than all classes together know all of them."""
    names = names_of(classes)
    if len(names) == 1:
        return Panel(names, [[True]])
    if size is None:
        wanted: int | tuple[int, ...] = default_size(len(names))
    elif isinstance(size, int | np.integer):
        wanted = min(int(size), len(names))
    else:
        wanted = tuple(min(int(one), len(names)) for one in size)
    blocks = _design(len(names), wanted, times, method, seed)
    return Panel(names, blocks.knows, blocks.names, certificate=blocks.certificate)


@lru_cache(maxsize=64)
def _design(classes: int, size: int | tuple[int, ...], times: int, method: str, seed: int) -> Panel:
    """Design once for all folds of a search; longer searches would cost more than the experts they save."""
    capacity = list(size) if isinstance(size, tuple) else size
    return design(classes, capacity, times=times, method=method, effort="fast", seed=seed)


def matched(panel: Panel, classes: NDArray[Any]) -> Panel:
    """Return the panel with its classes as they were seen: sorted, and without those that were not.

    Experts that know none of the seen classes are left out: there is nothing to train them on.
    """
    column = {name: k for k, name in enumerate(panel.classes)}
    known = dict(zip(names_of(classes), classes.tolist(), strict=True))
    missing = [name for name, value in known.items() if name not in column and value not in column]
    if missing:
        raise InputError(
            f"y has {len(missing)} of {len(known)} classes that the panel does not have, such as "
            f"{missing[0]!r}{did_you_mean(missing[0], panel.classes)}; "
            "the classes of the panel must be the labels in y"
        )
    order = [column[name] if name in column else column[value] for name, value in known.items()]
    knows = panel.knows[:, order]
    kept = np.flatnonzero(knows.any(axis=1))
    if len(kept) == 0:
        raise InputError("no expert of the panel knows any class in y; check the names of the classes")
    return Panel(
        [panel.classes[k] for k in order],
        knows[kept],
        [panel.names[i] for i in kept],
        panel.cost[kept],
        models=[panel.models[i] for i in kept],
        certificate=panel.certificate if len(order) == len(column) else None,
    )


def uncovered_warning(panel: Panel) -> str | None:
    """Return a warning if some pair of classes has no common expert."""
    if panel.covers():
        return None
    pairs = panel.uncovered()
    first, second = pairs[0]
    return (
        f"{len(pairs)} pairs of classes have no common expert, such as {first!r} and {second!r}: their items "
        "may tie, and ties are decided by the experts' confidence alone; covote.complete(panel, size) says "
        "who is missing"
    )
