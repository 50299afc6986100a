"""design(): panels from nothing."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import numpy as np

from ..bounds import best_lower_bound
from ..certificate import Certificate
from ..errors import CoverError, InputError, TooLargeError
from ..panel import Name, Panel, class_names, zeros
from .covers import Blocks, Cover
from .watching import Progress, Watch, interruptible

METHODS = ("auto", "paper", "random", "parallel")


def design(
    classes: int | Iterable[Name],
    size: int | Sequence[int],
    *,
    times: int = 1,
    method: str = "auto",
    effort: str = "normal",
    seed: int = 0,
    progress: Progress | None = None,
    experts: int | None = None,
) -> Panel:
    """Design a small panel in which every pair of classes is known by at least `times` experts.

    Parameters
    ----------
    classes
        The classes' names, or a number K for the classes 0..K-1.
    size
        How many classes each expert can know, or one capacity per expert.
    times
        How many experts must know each pair: 1 to cover, more against errors and outages.
    method
        "auto" for the portfolio of constructions and searches; "paper" for the paper's greedy set cover;
        "random" for random experts; "parallel" for parallel classes, every prefix of which is good.
    effort
        "fast" (constructions only), "normal" (about two seconds) or "max" (up to a minute).
    seed
        The same seed gives the same panel.
    progress
        Called with (moves made, moves planned, message) a few times a second.
    experts
        Number of experts for "random" and "parallel"; until every pair is covered unless given.

    Returns
    -------
    A panel that has been checked independently of how it was built; its `certificate` says which lower bound
    holds and how it was built. Ctrl-C during the search returns the best panel so far.

    >>> panel = design(13, 4)
    >>> print(panel.certificate)
    proved optimal: the Schonheim bound is 13; built from: projective plane of order 3
    """
    names = class_names(classes)
    if method not in METHODS:
        raise InputError(f"unknown method {method!r}; choose one of {', '.join(METHODS)}")
    if isinstance(size, int | np.integer) and not isinstance(size, bool):
        lower, bound = best_lower_bound(len(names), int(size), times)
        check_memory(lower, len(names), int(size))
        cover = _auto(len(names), int(size), times, effort, seed, progress, lower)
        return _checked(names, cover, times, lower, bound)
    raise InputError(f"size must be a whole number, not {size!r}")


def _auto(
    classes: int, size: int, times: int, effort: str, seed: int, progress: Progress | None, lower: int
) -> Cover:
    from .portfolio import best_cover, effort_named

    budget = effort_named(effort)
    watch = Watch(budget.total, progress)
    with interruptible(watch):
        return best_cover(classes, size, lower, effort=budget, seed=seed, watch=watch)


def _checked(names: tuple[Name, ...], cover: Cover, times: int, lower: int, bound: str) -> Panel:
    """Return the panel if it covers by an independent count, or fail loudly."""
    knows = zeros(len(cover.blocks), len(names))
    np.put_along_axis(knows, cover.blocks.astype(np.intp), True, axis=1)
    proof = Certificate(len(knows), lower, bound, cover.construction, times)
    panel = Panel(names, knows, certificate=proof)
    if not panel.covers(times):
        raise CoverError(
            f"the cover built from {cover.construction} misses pairs; please report this as a defect of covote"
        )
    return panel


def check_memory(experts: int, classes: int, size: int) -> None:
    """Refuse a panel that cannot fit into memory, before building it."""
    needed = experts * (2 * classes + 24 * size)
    available = _available_memory()
    if needed > available:
        raise TooLargeError(
            f"{classes} classes with experts of {size} need at least {experts} experts, about "
            f"{needed / 2**30:.1f} GiB of memory where {available / 2**30:.1f} GiB are available; "
            "choose larger experts or fewer classes"
        )


def _available_memory() -> int:
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError, AttributeError):  # pragma: no cover - not known on this system
        return 1 << 62


def blocks_of_rows(rows: Sequence[np.ndarray]) -> Blocks:  # type: ignore[type-arg]
    """Stack blocks of equal size."""
    return np.array([np.asarray(row) for row in rows], dtype=np.int32)
