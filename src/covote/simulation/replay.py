"""Replay: how many of the given answers would have been enough under each rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.asking import Asker, Posterior
from covote.decoding import decode
from covote.decoding.gold import gold_rows, like_items, no_gold
from covote.errors import InputError
from covote.panel import Name, Panel
from covote.votes import Votes

Array = NDArray[Any]
POINTS = 12
"""Budgets per item at which the curve is measured, at most."""


@dataclass(frozen=True)
class Replayed:
    """What a rule would have needed, and the quality of its labels.

    `agreement` is the share of items with the same label as the vote of all experts; `accuracy` and
    `accuracy_all` are the shares of gold items that the rule and all experts label right, None without gold.
    """

    answers_per_item: float
    cost_per_item: float
    agreement: float
    accuracy: float | None
    accuracy_all: float | None


@dataclass(frozen=True)
class Replay:
    """The result of a replay: one entry per rule, and quality against answers per item.

    `curve` maps a rule to points (answers per item, share right on gold or in agreement with the full vote).
    """

    panel: Panel
    items: int
    everyone: float
    rules: Mapping[str, Replayed]
    curve: Mapping[str, list[tuple[float, float]]]
    gold: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the replay as plain dicts and lists."""
        rules = {
            name: {what: value for what, value in asdict(found).items() if value is not None}
            for name, found in self.rules.items()
        }
        curve = {name: [list(point) for point in points] for name, points in self.curve.items()}
        return {
            "items": self.items,
            "experts": len(self.panel),
            "answers_of_all": self.everyone,
            "rules": rules,
            "curve": curve,
        }


def replay(votes: Votes, gold: Mapping[Any, Name] | None = None) -> Replay:
    """Answer the questions of every rule from existing votes.

    An answer that is not in the votes counts as no answer. With gold, the rule ``posterior`` learns from
    one half of the gold items and is measured on the other, and vice versa.
    """
    if not len(votes):
        raise InputError("there are no votes to replay; give a table with at least one item")
    truth = _truth(votes, gold)
    full = decode(votes, method="authority", evidence=False).index
    known = truth >= 0
    rules: dict[str, Replayed] = {}
    for name in ["elimination", "vote"] + (["repair"] if votes.panel.redundancy > 2 else []):
        asker = Asker(votes.panel, len(votes), name, partial=True)
        rules[name] = _measured(votes, [(asker, np.arange(len(votes)))], full, truth)
    if known.sum() >= 2:
        rules["posterior"] = _measured(votes, _halves(votes, truth), full, truth)
    curve = {name: _curve(votes, name, full, truth) for name in ("elimination", "vote")}
    return Replay(votes.panel, len(votes), votes.answers / len(votes), rules, curve, bool(known.any()))


def _truth(votes: Votes, gold: Mapping[Any, Name] | None) -> NDArray[np.int64]:
    truth = np.full(len(votes), -1, dtype=np.int64)
    if gold is not None:
        rows, classes = gold_rows(like_items(gold, votes), votes)
        if not len(rows):
            raise no_gold(gold)
        truth[rows] = classes
    return truth


def _halves(votes: Votes, truth: Array) -> list[tuple[Asker, Array]]:
    """Return two askers with their items; each has learned from the gold items of the other."""
    parts = []
    turn = np.where(truth >= 0, np.cumsum(truth >= 0) % 2, np.arange(len(truth)) % 2)
    for half in (0, 1):
        shown = np.flatnonzero((truth >= 0) & (turn != half))
        rule = Posterior.learned(votes.subset(shown), truth[shown])
        rows = np.flatnonzero(turn == half)
        parts.append((Asker(votes.panel, len(rows), rule), rows))
    return parts


def _ask(asker: Asker, rows: Array, dense: Array) -> Array:
    """Ask everything from the votes on some items, and return the labels."""
    while len(asked := asker.next()):
        asker.tell_all(asked, dense[rows[asked.item], asked.expert].astype(np.int64))
    label = asker.labels().index
    left = label < 0
    if left.any():
        # Ties that the rule leaves are decided like those of all votes.
        label = np.where(left, decode(asker.votes(), method="authority", evidence=False).index, label)
    return label


def _measured(votes: Votes, parts: list[tuple[Asker, Array]], full: Array, truth: Array) -> Replayed:
    label = np.empty(len(votes), dtype=np.int64)
    for asker, rows in parts:
        label[rows] = _ask(asker, rows, votes.dense)
    known = truth >= 0
    some = bool(known.any())
    return Replayed(
        sum(asker.answers for asker, _ in parts) / len(votes),
        sum(asker.spent for asker, _ in parts) / len(votes),
        float((label == full).mean()),
        float((label[known] == truth[known]).mean()) if some else None,
        float((full[known] == truth[known]).mean()) if some else None,
    )


def _curve(votes: Votes, rule: str, full: Array, truth: Array) -> list[tuple[float, float]]:
    """Return (answers per item, quality) for growing numbers of answers that an item may take."""
    experts = len(votes.panel)
    budgets = np.unique(np.rint(np.geomspace(1, experts, min(POINTS, experts))).astype(int))
    rows, points = np.arange(len(votes)), []
    for budget in budgets:
        asker = Asker(votes.panel, len(votes), rule, cost=1, budget=int(budget), partial=True)
        label = _ask(asker, rows, votes.dense)
        known = truth >= 0
        right = (label[known] == truth[known]) if known.any() else label == full
        points.append((asker.answers / len(votes), float(right.mean())))
    return points
