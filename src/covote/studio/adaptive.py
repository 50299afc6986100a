"""Adaptive asking: one person after another, until no pair of classes is left in doubt.

The rule is elimination: an authority who answers something else contradicts a class, and the classes with the
fewest contradictions are alive. The next to be asked tells most alive classes apart per unit of cost.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from covote.studio.roster import Roster
from covote.studio.rules import Member
from covote.studio.schema import NONE


@dataclass(frozen=True)
class Doubt:
    """What the answers about an item leave open.

    `possible` are the classes that the fewest authorities contradict. A single one is settled once somebody
    has said it: that others know nothing of the item is no vote for it.
    """

    possible: NDArray[np.bool_]
    settled: bool


def doubt(roster: Roster, answers: Mapping[int, int]) -> Doubt:
    """Return what answers leave open (person id -> class id or NONE).

    A class is contradicted by everybody who knows it and answered something else.
    """
    against = np.zeros(len(roster.classes), dtype=np.int64)
    said = np.zeros(len(roster.classes), dtype=bool)
    for person_id, choice in answers.items():
        contradicted = roster.matrix[roster.row[person_id]].copy()
        if choice != NONE:
            contradicted[roster.column[choice]] = False
            said[roster.column[choice]] = True
        against += contradicted
    possible: NDArray[np.bool_] = against == against.min()
    return Doubt(possible, int(possible.sum()) == 1 and bool((possible & said).any()))


def gain(roster: Roster, left: Doubt, member: Member) -> int:
    """Return how many possible classes an answer of this person rules out, or confirms, at least."""
    if left.settled or member.id not in roster.row:
        return 0
    known = int((roster.matrix[roster.row[member.id]] & left.possible).sum())
    return known if int(left.possible.sum()) == 1 else max(0, known - 1)


def best_next(roster: Roster, left: Doubt, asked: Collection[int], item_id: int) -> int | None:
    """Return the person to ask next about an item; None if nobody can help.

    Equals take turns from item to item.
    """
    best: tuple[float, int, int] | None = None
    for one in roster.voters:
        if not one.active or one.role == "model" or one.id in asked:
            continue
        gained = gain(roster, left, one)
        if gained < 1:
            continue
        turn = (item_id * 2_654_435_761 + one.id * 40_503) % (1 << 32)
        rank = (-gained / max(one.cost, 1e-9), turn, one.id)
        if best is None or rank < best:
            best = rank
    return None if best is None else best[2]
