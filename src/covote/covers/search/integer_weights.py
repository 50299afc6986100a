"""How many twins of each kind: numbers of classes per set of experts, by integer programming.

In a cover with few experts many classes are twins: they have the same experts. Annealing finds good families
of such sets, but it moves one class at a time, and ends a class or two short. Here the sets that several
classes share make a core; every set of experts that meets the whole core may join it, and an integer
programme says how many classes each should have, so that no expert has too many and any two sets meet.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.covers.blocks import Blocks, Cover
from covote.covers.search.dual_annealing import (
    RANDOM_HOT,
    Masks,
    blocks_of,
    blow_up_start,
    meet,
    random_start,
)
from covote.covers.search.state import Search

MOST_EXPERTS, MOST_FROM_BASES = 20, 36
"""With more experts too many sets meet any core; a smaller cover of the same proportions is a large core."""

TRIES, MOVES = 5, 1_000_000
"""How many families are tried for each number of experts, and the moves that anneal one."""

MOST_SETS = 400
"""Most sets of experts in an integer programme, beside those of the family."""

STEPS = 3_000_000
"""Steps of the search for sets that meet the core."""

NODES = 300
"""Most nodes that an integer programme may branch into."""


def settle_twins(search: Search) -> None:
    """Look for covers with fewer experts: anneal from nothing, then find the best numbers of twins."""
    from covote.covers.random_kernels import chance

    state = chance(search.seed)
    random = np.random.default_rng(search.seed)
    tries = 0
    while tries < TRIES and not search.over and len(search.found.blocks) <= MOST_EXPERTS + 1:
        experts = len(search.found.blocks) - 1
        masks = random_start(search.classes, experts, search.size, random)
        blocks = meet(masks, experts, search.size, moves=MOVES, state=state, hot=RANDOM_HOT)
        words = "annealing of meeting sets of experts"
        if blocks is not None:
            search.offer(Cover(blocks, words))
        tries = 0 if blocks is not None or _offer_twins(search, masks, words) else tries + 1
        search.part(0).advance(0)


def settle_bases(search: Search) -> None:
    """Look for covers with fewer experts: numbers of twins for the points of smaller covers."""
    random = np.random.default_rng(search.seed)
    for base in search.bases:
        found = True
        while (
            found and not search.over and len(base.blocks) < len(search.found.blocks) <= MOST_FROM_BASES + 1
        ):
            experts = len(search.found.blocks) - 1
            masks = blow_up_start(base.blocks, search.classes, experts, random)
            found = _offer_twins(search, masks, base.construction)
            search.part(0).advance(0)


def _offer_twins(search: Search, masks: Masks, construction: str) -> bool:
    """Offer the best numbers of twins with one expert less than before; return whether there are any."""
    experts = len(search.found.blocks) - 1
    twins = best_twins(masks, experts, search.size)
    if twins is not None:
        words = f"{construction}, numbers of twins by integer programming"
        search.offer(Cover(blocks_of(twins, experts, search.size), words))
    return twins is not None


def best_twins(masks: Masks, experts: int, size: int) -> Masks | None:
    """Return sets of experts for as many classes, of which any two meet, or None if none are found.

    Parameters
    ----------
    masks
        The experts of each class as bits (2 words x classes), of which some may not meet.
    """
    classes = masks.shape[1]
    kinds, numbers = np.unique(masks.T, axis=0, return_counts=True)
    order = np.argsort(-numbers, kind="stable")
    core = _meeting(kinds[order][numbers[order] > 1])
    if len(core) == 0:
        return None
    joining = _meeting_all(core, experts, -(-experts * size // classes))
    sets = np.unique(np.concatenate([kinds[kinds.any(axis=1)], joining]), axis=0)
    chosen = _programme(sets, classes, experts, size)
    return None if chosen is None else np.ascontiguousarray(np.repeat(sets, chosen, axis=0)[:classes].T)


def _meeting(kinds: Masks) -> Masks:
    """Return the kinds that meet all earlier ones that were returned."""
    core: list[Masks] = []
    for kind in kinds:
        if kind.any() and all((kind & other).any() for other in core):
            core.append(kind)
    return np.array(core, dtype=np.uint64).reshape(-1, 2)


def _meeting_all(core: Masks, experts: int, average: int) -> Masks:
    """Return the smallest sets of experts that meet all of the core; few are larger than the average."""
    from covote.covers.search.integer_weights_kernels import minimal_hits

    room = np.zeros((50 * MOST_SETS, 2), np.uint64)
    found = room[: minimal_hits(core, experts, average + 1, room, STEPS)]
    found = found[np.random.default_rng(0).permutation(len(found))]
    return found[np.argsort(np.bitwise_count(found).sum(axis=1), kind="stable")[:MOST_SETS]]


def _programme(sets: Masks, classes: int, experts: int, size: int) -> NDArray[np.int64] | None:
    """Choose numbers of classes per set: `classes` in all, at most `size` per expert, no two sets apart."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import bmat, csr_array, eye_array

    kinds = len(sets)
    has = np.array([(sets[:, j >> 6] >> np.uint64(j & 63)) & np.uint64(1) for j in range(experts)])
    load = csr_array(np.vstack([has, np.ones(kinds)]).astype(float))
    apart = np.argwhere(np.triu(~(sets[:, None] & sets[None]).any(axis=2), 1))
    some = np.unique(apart)  # sets that are apart from others have a switch
    switched = csr_array((np.ones(len(some)), (np.arange(len(some)), some)), shape=(len(some), kinds))
    place = (np.repeat(np.arange(len(apart)), 2), np.searchsorted(some, apart.ravel()))
    either = csr_array((np.ones(2 * len(apart)), place), shape=(len(apart), len(some)))
    rows = [[load, None], [switched, -float(size) * eye_array(len(some))], [None, either]]
    limits = np.repeat([size, classes, 0.0, 1.0], [experts, 1, len(some), len(apart)])
    most = np.concatenate([np.full(kinds, float(size)), np.ones(len(some))])
    for whole in (0, 1):  # without whole numbers first: that is quick, and often shows that there is no hope
        answer = milp(
            np.concatenate([-np.ones(kinds), np.zeros(len(some))]),
            constraints=LinearConstraint(bmat(rows if len(apart) else [[load]]), ub=limits),
            bounds=Bounds(0, most),
            integrality=np.full(len(most), whole),
            options={"node_limit": NODES} if whole else None,
        )
        if answer.x is None or -answer.fun < classes - 1e-6:
            return None
    numbers: NDArray[np.int64] = np.rint(answer.x[:kinds]).astype(np.int64)
    return numbers


def fitting_weights(blocks: Blocks, points: int, classes: int, size: int) -> NDArray[np.int32] | None:
    """Return how many classes each point of a cover may stand for, so that all fit; None if they do not.

    >>> fitting_weights(np.array([[0, 1], [0, 2], [1, 2]]), 3, 6, 4).tolist()
    [2, 2, 2]
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    on = np.zeros((len(blocks) + 1, points))
    on[np.arange(len(blocks))[:, None], blocks] = 1
    on[-1] = 1
    limits = np.repeat([float(size), float(classes)], [len(blocks), 1])
    answer = milp(
        -np.ones(points),
        constraints=LinearConstraint(on, ub=limits),
        bounds=Bounds(0, size),
        integrality=np.ones(points),
        options={"node_limit": NODES},
    )
    if answer.x is None or -answer.fun < classes - 1e-6:
        return None
    weights: NDArray[np.int32] = np.rint(answer.x).astype(np.int32)
    return weights
