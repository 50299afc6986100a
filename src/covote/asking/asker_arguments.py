"""Checks of an Asker's arguments: costs, budgets and limits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.arguments import per_name
from covote.asking.choosing import Rule
from covote.errors import CoverError, InputError
from covote.panel import Panel

Array = NDArray[Any]


def checked_costs(panel: Panel, cost: Any) -> NDArray[np.float64]:
    """Return the cost of an answer from each expert (default: as in the panel)."""
    if cost is None:
        return panel.cost
    costs = per_name(cost, panel.names, panel.expert_index, "cost", "expert")
    for name, value in zip(panel.names, costs, strict=True):
        if not (math.isfinite(value) and value >= 0):
            raise InputError(f"cost {value} of expert {name!r} must be a finite number, 0 or more")
    return costs


def checked_money(amount: float | None, what: str, cost: Array) -> float:
    """Return a budget that pays for at least one answer (default: infinite)."""
    if amount is None:
        return math.inf
    if isinstance(amount, bool) or not isinstance(amount, int | float | np.number) or math.isnan(amount):
        raise InputError(f"{what} must be a number, not {amount!r}")
    if not len(cost) or amount < cost.min():
        cheapest = f"the cheapest expert costs {cost.min():g}" if len(cost) else "all experts are away"
        raise InputError(f"{what} {amount:g} buys no answer: {cheapest}; raise it, or leave it out")
    return float(amount)


def check_promise(panel: Panel, rule: Rule, away: NDArray[np.bool_]) -> None:
    """Reject a rule whose guarantee needs more experts than there are."""
    if not rule.redundancy:
        return
    if away.all():
        raise CoverError("all experts are away, so nothing can be asked; leave one on the panel")
    left = panel.without(*(panel.names[i] for i in np.flatnonzero(away))) if away.any() else panel
    if left.covers(rule.redundancy):
        return
    pairs = left.uncovered(rule.redundancy)
    shown = ", ".join(f"{a!r} and {b!r}" for a, b in pairs[:3]) + (" ..." if len(pairs) > 3 else "")
    need = "a common expert" if rule.redundancy == 1 else f"{rule.redundancy} common experts"
    raise CoverError(
        f"the rule {rule.name!r} needs {need} for every pair of classes, and {len(pairs)} "
        f"pair{'s' * (len(pairs) > 1)} {'have' if len(pairs) > 1 else 'has'} fewer: {shown}; add experts "
        "(complete() lists them), or pass partial=True to settle what can be settled"
    )
