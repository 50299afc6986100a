"""Every bound for K classes and experts of size R, side by side, as plain rows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from covote.arguments import check_probability, check_size
from covote.bounds import answers_needed, cover_sizes, paper, statistical


@dataclass(frozen=True)
class BoundRow:
    """One line of the table: no fewer ("lower") or no more ("upper") than `value` are needed.

    `goal` is what is counted and what it must achieve, `needs` what the bound assumes beyond that.
    """

    name: str
    kind: Literal["lower", "upper"]
    value: int
    goal: str
    needs: str
    source: str


def bound_table(classes: int, size: int, error: float = 0.01, delta: float = 0.05) -> list[BoundRow]:
    """Return all bounds that apply: for covers, for an error probability, and for asking one by one.

    >>> [(row.name, row.kind, row.value) for row in bound_table(10, 4)][:3]
    [('counting', 'lower', 8), ('Schonheim', 'lower', 8), ('Hanani', 'lower', 8)]
    """
    K, R = check_size(classes, size)
    error = check_probability(error, "error")
    delta = check_probability(delta, "delta")
    return [*_covers(K, R, delta), *_statistical(K, R, error), *_asking(K, R)]


def _covers(K: int, R: int, delta: float) -> Iterator[BoundRow]:
    goal = "experts that cover every pair of classes"
    best, reason = cover_sizes.best_lower_bound(K, R)
    groups = cover_sizes.two_group_bound(K, R)
    lower = [
        ("counting", paper.counting_bound(K, R), "paper: Thm 2"),
        ("Schonheim", cover_sizes.schonheim_bound(K, R), "Schonheim (1964)"),
        ("Hanani", cover_sizes.hanani_bound(K, R), "Hanani (1975)"),
        ("Horsley", cover_sizes.horsley_bound(K, R), "Horsley (2017)"),
        ("few experts", cover_sizes.small_bound(K, R), "Mills (1979)"),
        (f"best proved: {reason}", best, "covote docs bounds"),
    ]
    for name, value, source in lower:
        yield BoundRow(name, "lower", value, goal, "any experts", source)
    yield BoundRow("two groups", "upper", groups, goal, "free choice", "covote docs bounds")
    greedy = math.floor(paper.greedy_guarantee(R) * groups)
    yield BoundRow("greedy set cover", "upper", greedy, goal, "greedy choice", "paper: H(C(R,2))")
    exists = paper.random_cover_bound(K, R)
    yield BoundRow("random cover exists", "upper", exists, goal, "best random draw", "paper: Thm 3")
    often = paper.random_cover_bound(K, R, delta)
    yield BoundRow("random cover", "upper", often, goal, f"random, fails {delta:.3g}", "paper: Thm 3")


def _statistical(K: int, R: int, error: float) -> Iterator[BoundRow]:
    goal = f"experts for an error of {error:g}, if classes and noise are uniform"
    noise = "any experts"
    yield BoundRow("Fano", "lower", paper.fano_bound(K, R, error), goal, noise, "paper: Thm 4")
    converse = statistical.converse_bound(K, R, error)
    yield BoundRow("converse", "lower", converse, goal, noise, "covote docs bounds")
    random = "random experts"
    thm5 = paper.random_panel_bound(K, R, error)
    yield BoundRow("random panel", "upper", thm5, goal, random, "paper: Thm 5")
    union = statistical.random_panel_experts(K, R, error)
    yield BoundRow("random panel, union", "upper", union, goal, random, "covote docs bounds")
    if K % R == 0:
        needs = "random partitions"
        value = statistical.random_partitions_bound(K, R, error)
        yield BoundRow("random partitions", "upper", value, goal, needs, "covote docs bounds")


def _asking(K: int, R: int) -> Iterator[BoundRow]:
    goal = "answers per item, asking one expert at a time"
    chosen = "free choice"
    answers = answers_needed.adaptive_answers(K, R)
    yield BoundRow("adaptive", "lower", answers, goal, chosen, "covote docs bounds")
    yield BoundRow("adaptive", "upper", answers, goal, chosen, "covote docs bounds")
    experts = cover_sizes.two_group_bound(K, R)
    greedy = answers_needed.elimination_bound(K, experts)
    needs = f"covering panel of {experts:,}"
    yield BoundRow("greedy elimination", "upper", greedy, goal, needs, "covote docs bounds")
