"""Replay: how many of the given answers each rule would have needed, and which labels they give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.asking.asker import Asker
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

    Labels are those of the default decoder. `agreement` is the share of items with the same label as from all
    answers; `accuracy` and `accuracy_all` are the shares of gold items that get the right label from the
    rule's answers and from all, None without gold.
    """

    answers_per_item: float
    cost_per_item: float
    agreement: float
    accuracy: float | None
    accuracy_all: float | None


@dataclass(frozen=True)
class Replay:
    """The result of a replay: one entry per rule, and quality against answers per item.

    `curve` maps a rule to points (answers per item, share right on gold or with the same label as from all).
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
    """Answer the questions of every rule from existing votes, and decode the answers.

    An answer that is not in the votes counts as no answer.
    """
    if not len(votes):
        raise InputError("there are no answers to replay; give a table with at least one item")
    truth = _truth(votes, gold)
    full = decode(votes, evidence=False).index
    names = ["elimination", "vote"] + (["repair"] if votes.panel.covers(3) else [])
    rules = {name: _measured(_asked(votes, name), full, truth) for name in names}
    curve = {name: _curve(votes, name, full, truth) for name in ("elimination", "vote")}
    known = bool((truth >= 0).any())
    return Replay(votes.panel, len(votes), votes.answers / len(votes), rules, curve, known)


def _truth(votes: Votes, gold: Mapping[Any, Name] | None) -> NDArray[np.int64]:
    truth = np.full(len(votes), -1, dtype=np.int64)
    if gold is not None:
        rows, classes = gold_rows(like_items(gold, votes), votes)
        if not len(rows):
            raise no_gold(gold)
        truth[rows] = classes
    return truth


def _asked(votes: Votes, rule: str, **terms: Any) -> Asker:
    """Return an asker that has asked everything, answered from the votes."""
    asker, dense = Asker(votes.panel, len(votes), rule, partial=True, **terms), votes.dense
    while len(asked := asker.next()):
        asker.tell_all(asked, dense[asked.item, asked.expert].astype(np.int64))
    return asker


def _measured(asker: Asker, full: Array, truth: Array) -> Replayed:
    label, known = decode(asker.votes(), evidence=False).index, truth >= 0
    some = bool(known.any())
    return Replayed(
        asker.answers / len(asker),
        asker.spent / len(asker),
        float((label == full).mean()),
        float((label[known] == truth[known]).mean()) if some else None,
        float((full[known] == truth[known]).mean()) if some else None,
    )


def _curve(votes: Votes, rule: str, full: Array, truth: Array) -> list[tuple[float, float]]:
    """Return (answers per item, quality) for growing numbers of answers that an item may take."""
    experts, points = len(votes.panel), []
    for budget in np.unique(np.rint(np.geomspace(1, experts, min(POINTS, experts))).astype(int)):
        found = _measured(_asked(votes, rule, cost=1, budget=int(budget)), full, truth)
        quality = found.agreement if found.accuracy is None else found.accuracy
        points.append((found.answers_per_item, quality))
    return points
