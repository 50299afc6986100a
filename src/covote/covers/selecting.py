"""Choose the cheapest experts of a pool who still cover every pair."""

from __future__ import annotations

import math
from collections.abc import Iterable
from math import ceil, gcd
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_accuracy, check_count, class_weights
from covote.bounds import best_lower_bound
from covote.covers.budget import Pool, afford
from covote.covers.search.efforts import effort_named
from covote.covers.set_cover.local_search import WeightedSearch
from covote.covers.set_cover.problem import PoolCover, pool_cover
from covote.covers.set_cover.proofs import cheaper_cover, lagrangian_bound
from covote.errors import CoverError, InputError
from covote.panel import Certificate, Name, Panel
from covote.progress import Progress, Work

Flags = NDArray[np.bool_]

PROVABLE = 10_000
"""The most entries of a problem for an integer program."""

ENTRIES_PER_NODE = 10_000
"""How many times all entries of a problem could be touched in the time of a node of an integer program."""

EASY = 300
"""Steps of the first local search, which solves easy problems."""


def select(
    panel: Panel,
    *,
    redundancy: int = 1,
    keep: Iterable[Name] = (),
    budget: float | None = None,
    accuracy: Any = None,
    prior: Any = None,
    effort: str = "normal",
    seed: int = 0,
    progress: Progress | None = None,
) -> Panel:
    """Choose the cheapest experts of a panel who still cover every pair, each `redundancy` times.

    With a `budget`, choose the affordable experts with the smallest bound on the error instead, whether they
    cover every pair or not.

    Parameters
    ----------
    panel
        The pool to choose from, with its costs; experts who have left are not chosen.
    redundancy
        How many experts must know each pair.
    keep
        Names of experts who must stay.
    budget
        The most that the chosen experts may cost together.
    accuracy, prior
        With a budget: how often experts are right inside their expertise (one number, default 1; one per
        expert; or by name), and how frequent the classes are (in their order or by name, of any sum). See
        :func:`covote.bounds.confusion_bound`.
    effort
        "fast", "normal" (up to about 8 seconds) or "max" (a minute).
    seed
        The same seed gives the same choice.
    progress
        Called with (steps made, steps planned, message) a few times a second.

    Returns
    -------
    The chosen experts, in the order of the pool, with a certificate: their total cost (with a budget: their
    bound on the error), and a lower bound for every choice. Ctrl-C during the search returns the best choice
    so far.

    >>> pool = Panel.from_blocks(list("abcd"), ["abc", "abd", "cd", "abcd"], cost=[2, 2, 1, 7])
    >>> chosen = select(pool)
    >>> chosen.names, chosen.certificate.size, chosen.certificate.optimal
    (('expert-1', 'expert-2', 'expert-3'), 5.0, True)
    >>> select(pool, budget=4).names
    ('expert-1', 'expert-2')
    """
    redundancy = check_count(redundancy, "redundancy")
    effort_named(effort)
    check_count(seed, "seed", 0)
    panel = panel.present
    required = _required(panel, keep)
    if budget is not None:
        return _select_within_budget(panel, budget, redundancy, required, accuracy, prior, effort, progress)
    if accuracy is not None or prior is not None:
        raise InputError("accuracy and prior say how to spend a budget; give a budget as well")
    _check_cover(panel, redundancy)
    # Experts who must stay, who cost nothing, or without whom a pair is lost.
    fixed = required | (panel.cost == 0) | _indispensable(panel, redundancy)
    problem = _open_problem(panel, fixed, redundancy)
    candidates = np.flatnonzero(~fixed)
    base = float(panel.cost[fixed].sum())
    chosen, lower, bound = _solve(problem, effort, seed, progress)
    inside = fixed.copy()
    inside[candidates[chosen]] = True
    inside = _without_redundant(panel, inside, required, redundancy)
    total = float(panel.cost[inside].sum())
    lower += base
    counted, name = _counting_bound(panel, required, redundancy)
    if counted > lower:
        lower, bound = counted, name
    if total - lower <= 1e-9 * total:
        lower = total
    result = panel.only(*(panel.names[i] for i in np.flatnonzero(inside)))
    if not result.covers(redundancy):  # pragma: no cover
        raise CoverError("the chosen experts do not cover; please report this as a fault of covote")
    how = (
        "local search with row weights over the pool" if len(problem.demand) else "the experts all pairs need"
    )
    return result.with_certificate(Certificate(total, min(lower, total), bound, how, redundancy))


def _select_within_budget(
    panel: Panel, budget: float, redundancy: int, required: Flags, accuracy: Any, prior: Any,
    effort: str, progress: Progress | None,
) -> Panel:  # fmt: skip
    """Return the experts within a budget who have the smallest bound on the error."""
    if redundancy != 1:
        raise InputError("with a budget, redundancy cannot be promised; leave it out")
    if isinstance(budget, bool) or not isinstance(budget, Real) or not 0 <= float(budget) < math.inf:
        raise InputError(f"budget={budget!r} must be a number, 0 or more")
    least = float(panel.cost[required].sum())
    if least > budget:
        raise InputError(f"the experts that must stay cost {least:g}, more than the budget of {budget:g}")
    rates = check_accuracy(1.0 if accuracy is None else accuracy, panel)
    pool = Pool(panel, float(budget), rates, class_weights(prior, panel))
    found = afford(pool, required, effort, progress)
    error, lower = min(1.0, found.error), min(1.0, found.lower)
    if error - lower <= 1e-12:
        lower = error
    result = panel.only(*(panel.names[i] for i in np.flatnonzero(found.chosen)))
    how = f"greedy choices and exchanges within a budget of {budget:g}"
    return result.with_certificate(Certificate(error, lower, "submodular", how, int(result.covers())))


def _solve(problem: PoolCover, effort: str, seed: int, progress: Progress | None) -> tuple[Flags, float, str]:
    """Return the chosen columns, a lower bound, and its name."""
    unit = cost_unit(problem.cost)
    if len(problem.demand) == 0:
        return np.zeros(len(problem.cost), dtype=bool), 0.0, "indispensable experts"
    search = WeightedSearch(problem, seed)
    budget = effort_named(effort)
    planned = search.steps(budget.choosing)
    lower, bound = 0.0, "Lagrangian"
    with Work(planned, progress) as work:
        for steps in (min(EASY, planned // 20), planned // 20):
            search.run(steps - search.made, work)
            lower = round_up(lagrangian_bound(problem, search.total, budget.bounding, work), unit)
            if work.stopped or lower >= search.total * (1 - 1e-9):
                return search.best, lower, bound
        entries = len(problem.column_rows)
        if entries <= PROVABLE:
            nodes = 1 + budget.choosing // (ENTRIES_PER_NODE * entries)
            best, proved = cheaper_cover(problem, search.best, unit, nodes)
            search.offer(best)
            if proved:
                return search.best, search.total, "integer programming"
        search.run(planned - search.made, work)
    return search.best, lower, bound


def cost_unit(cost: NDArray[np.float64]) -> float:
    """Return a number of which all costs are multiples; 0 if there is no such decimal number.

    >>> cost_unit(np.array([1.5, 2.25])), cost_unit(np.array([1.0, 2**0.5]))
    (0.75, 0)
    """
    for scale in (1, 10, 100, 1000):
        integers = np.round(cost * scale)
        if np.abs(cost * scale - integers).max(initial=0) <= 1e-9 and integers.max(initial=0) < 2**40:
            return gcd(*integers.astype(np.int64).tolist()) / scale
    return 0


def round_up(bound: float, unit: float) -> float:
    """Raise a bound to the next multiple of the unit of the costs.

    >>> round_up(6.2, 0.5), round_up(6.0000000001, 1), round_up(6.2, 0)
    (6.5, 6, 6.2)
    """
    return ceil(bound / unit - 1e-6) * unit if unit > 0 else bound


def _required(panel: Panel, keep: Iterable[Name]) -> Flags:
    if not isinstance(keep, Iterable | int | np.integer):
        raise InputError(f"keep={keep!r}; give the names of the experts that must stay")
    names = [keep] if isinstance(keep, str | int | np.integer) else list(keep)
    required = np.zeros(len(panel), dtype=bool)
    for name in names:
        required[panel.expert_index(name)] = True
    return required


def _check_cover(panel: Panel, redundancy: int) -> None:
    missing = panel.uncovered(redundancy)
    if not missing:
        return
    shown = ", ".join(f"{a!r} and {b!r}" for a, b in missing[:3]) + (", ..." if len(missing) > 3 else "")
    number = "1 pair of classes is" if len(missing) == 1 else f"{len(missing)} pairs of classes are"
    fewer = "no expert of this pool" if redundancy == 1 else f"fewer than {redundancy} experts of this pool"
    raise CoverError(
        f"{number} known by {fewer} ({shown}); add experts first, with complete(panel, size) or "
        "`covote complete`"
    )


def _indispensable(panel: Panel, redundancy: int) -> Flags:
    """Return the experts without whom a pair would be covered too rarely."""
    critical = panel.pair_counts() == redundancy
    np.fill_diagonal(critical, False)
    known = [np.flatnonzero(row) for row in panel.knows]
    return np.array([critical[np.ix_(k, k)].any() for k in known], dtype=bool)


def _open_problem(panel: Panel, fixed: Flags, redundancy: int) -> PoolCover:
    """Return the problem of choosing experts in addition to the fixed ones."""
    need = np.full((len(panel.classes),) * 2, redundancy, dtype=np.int32)
    if fixed.any():
        need -= panel.only(*(panel.names[i] for i in np.flatnonzero(fixed))).pair_counts()
    return pool_cover(panel.knows[~fixed], need, panel.cost[~fixed])


def _without_redundant(panel: Panel, inside: Flags, required: Flags, redundancy: int) -> Flags:
    """Drop redundant experts, the most expensive first."""
    inside = inside.copy()
    counts = panel.only(*(panel.names[i] for i in np.flatnonzero(inside))).pair_counts()
    np.fill_diagonal(counts, np.iinfo(np.int32).max)
    for i in np.argsort(-panel.cost, kind="stable"):
        known = np.flatnonzero(panel.knows[i])
        if inside[i] and not required[i] and counts[np.ix_(known, known)].min() > redundancy:
            inside[i] = False
            counts[np.ix_(known, known)] -= 1
    return inside


def _counting_bound(panel: Panel, required: Flags, redundancy: int) -> tuple[float, str]:
    """Return the least cost of as many experts as every cover by experts of this size needs."""
    if len(panel.classes) < 2 or len(panel) == 0:
        return 0.0, "no pairs"
    fewest, name = best_lower_bound(len(panel.classes), int(panel.sizes.max()), redundancy)
    others = np.sort(panel.cost[~required])[: max(0, fewest - int(required.sum()))]
    return float(panel.cost[required].sum() + others.sum()), f"cheapest {fewest} experts ({name})"
