"""Design a panel from scratch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, cast

import numpy as np

from covote.arguments import check_count
from covote.bounds import best_lower_bound
from covote.covers.blocks import UnequalBlocks
from covote.covers.capacities import capacity_cover
from covote.covers.constructions.paper_greedy import paper_cover
from covote.covers.constructions.random_panels import random_panel
from covote.covers.search.efforts import effort_named
from covote.covers.search.portfolio import best_cover
from covote.errors import CoverError, InputError, TooLargeError
from covote.panel import Certificate, Name, Panel, class_names, zeros
from covote.progress import Progress, Work


def design(
    classes: int | Iterable[Name],
    size: int | Sequence[int],
    *,
    redundancy: int = 1,
    method: str = "auto",
    effort: str = "normal",
    seed: int = 0,
    progress: Progress | None = None,
    experts: int | None = None,
) -> Panel:
    """Design a small panel in which every pair of classes is known by at least `redundancy` experts.

    Parameters
    ----------
    classes
        The classes' names, or a number K for the classes 0..K-1.
    size
        How many classes each expert can know, or one capacity per expert.
    redundancy
        How many experts must know each pair: 1 to cover, more against errors and outages.
    method
        "auto" for the portfolio of constructions and searches; "paper" for the paper's greedy set cover;
        "random" for random experts.
    effort
        "fast" (constructions only), "normal" (about two seconds) or "max" (up to a minute).
    seed
        The same seed gives the same panel.
    progress
        Called with (moves made, moves planned, message) a few times a second.
    experts
        Number of experts for "random" (default: until every pair is covered).

    Returns
    -------
    A panel that has been verified independently of its construction. Its `certificate` has the lower bound
    and the construction. Ctrl-C during the search returns the best panel so far.

    >>> panel = design(13, 4)
    >>> print(panel.certificate)
    proved optimal: the Schonheim bound is 13; built from: projective plane of order 3
    """
    names = class_names(classes)
    if method not in BUILDERS:
        raise InputError(f"unknown method {method!r}; choose one of {', '.join(BUILDERS)}")
    effort_named(effort)
    check_count(seed, "seed", 0)
    if experts is not None and method != "random":
        raise InputError(f"experts={experts} is for method 'random', not {method!r}")
    if isinstance(size, int | np.integer) and not isinstance(size, bool):
        if len(names) == 1:
            raise InputError("a single class needs no panel; give at least 2 classes")
        largest = int(size)
        bound = best_lower_bound(len(names), largest, redundancy)
        check_memory(bound[0], len(names), largest)
        case = _Case(len(names), largest, redundancy, bound[0], experts, effort, seed, progress)
        cover = BUILDERS[method](case)
    else:
        if method != "auto":
            raise InputError(f"a list of capacities needs method 'auto', not {method!r}")
        cover = capacity_cover(len(names), cast("Sequence[int]", size), redundancy, effort, seed, progress)
        largest = max(len(block) for block in cover.blocks)
        bound = best_lower_bound(len(names), largest, redundancy)
    return _verify(names, cover, redundancy, bound, must_cover=experts is None)


class _Case(NamedTuple):
    """What a builder needs to know."""

    classes: int
    size: int
    redundancy: int
    lower: int
    experts: int | None
    effort: str
    seed: int
    progress: Progress | None


def _search(case: _Case) -> UnequalBlocks:
    effort = effort_named(case.effort)
    with Work(effort.total, case.progress) as work:
        blocks, how = best_cover(
            case.classes,
            case.size,
            case.lower,
            times=case.redundancy,
            effort=effort,
            seed=case.seed,
            work=work,
        )
    return UnequalBlocks(list(blocks), f"{how}; search interrupted" if work.stopped else how)


BUILDERS: dict[str, Callable[[_Case], UnequalBlocks]] = {
    "auto": _search,
    "paper": lambda case: paper_cover(case.classes, case.size, case.redundancy),
    "random": lambda case: random_panel(case.classes, case.size, case.redundancy, case.experts, case.seed),
}
"""How `design` finds the experts, by the name of the method."""


def _verify(
    names: tuple[Name, ...], cover: UnequalBlocks, redundancy: int, bound: tuple[int, str], must_cover: bool
) -> Panel:
    """Return the panel with its certificate; raise an error unless an independent count confirms the cover.

    A given number of random experts need not cover; such a panel has no certificate.
    """
    knows = zeros(len(cover.blocks), len(names))
    for row, block in zip(knows, cover.blocks, strict=True):
        row[block] = True
    panel = Panel(names, knows)
    if panel.covers(redundancy):
        return panel.with_certificate(Certificate(len(knows), *bound, cover.construction, redundancy))
    if must_cover:
        raise CoverError(f"the panel built from {cover.construction} misses pairs; please report this defect")
    return panel


def check_memory(experts: int, classes: int, size: int) -> None:
    """Reject a panel that cannot fit into memory, before building it."""
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
