"""Covers with a symmetry, for the case asked for and for others that it follows from."""

from __future__ import annotations

from covote.bounds import best_lower_bound
from covote.covers.blocks import Cover, linking, resized
from covote.covers.search.best_so_far import CoverSearch
from covote.covers.search.efforts import Effort
from covote.covers.search.symmetric.base_block_search import cyclic

SYMMETRIC = 12
"""Up to this size of experts symmetric covers are often the best."""

TWISTS = 3
"""Most multipliers in a group of symmetries."""

THOROUGH = 10_000_000
"""Moves per group of symmetries from which on more of them are tried."""

NEIGHBOURS = 3
"""How many numbers of classes near the one asked for are searched for symmetric covers."""

LARGEST_STEINER = 7
"""Up to this size of experts Steiner systems nearby are looked for."""


def turned(search: CoverSearch, effort: Effort) -> None:
    """Search covers with a symmetry, here and for a few classes more or less."""
    if effort.symmetry == 0:
        return
    thorough = effort.symmetry >= THOROUGH
    for classes, twists in [(search.classes, 1), *_neighbours(search, thorough)]:
        lower, _ = best_lower_bound(classes, search.size)
        short = twists > 1 or search.size > SYMMETRIC
        moves = effort.symmetry // 3 if short else effort.symmetry
        if thorough and twists > 1 and steiner(classes, search.size):
            # On the way to a system with every pair once, covers that are nearly as good only take time.
            _turn(search, classes, twists, lower, lower, moves)
        goal = len(search.found.blocks) - linking(search.classes, classes, search.size) - 1
        _turn(search, classes, twists, goal, lower, moves)


def _turn(search: CoverSearch, classes: int, twists: int, goal: int, lower: int, moves: int) -> None:
    """Search a symmetric cover with at most `goal` experts that helps with the case asked for."""
    most = len(search.found.blocks) - linking(search.classes, classes, search.size) - 1
    if search.over or lower > min(goal, most):
        return
    blocks = cyclic(
        classes,
        search.size,
        target=goal,
        moves=moves,
        seed=search.seed,
        lower=lower,
        twists=twists,
        work=search.part(moves),
    )
    if blocks is not None:
        cover = Cover(blocks, "base blocks turned by a group")
        search.offer(resized(cover, search.classes, search.size))


def _neighbours(search: CoverSearch, thorough: bool) -> list[tuple[int, int]]:
    """List numbers of classes whose best conceivable cover would help here, and the multipliers to try.

    Steiner systems are so rich in symmetry, and so much better than what is around them, that for small
    experts it pays to look for them; a thorough search looks at others as well.
    """
    nearby = range(max(search.size + 1, search.classes - 3), search.classes + 6)
    if search.size > LARGEST_STEINER:
        nearby = range(search.classes, search.classes + 1)
    promises = []
    experts = len(search.found.blocks)
    for classes in nearby:
        lower, _ = best_lower_bound(classes, search.size)
        promise = experts - lower - linking(search.classes, classes, search.size)
        if promise > 0 and (thorough or steiner(classes, search.size)):
            promises.append((-promise, abs(classes - search.classes), classes))
    return [(classes, TWISTS) for *_, classes in sorted(promises)[:NEIGHBOURS]]


def steiner(classes: int, size: int) -> bool:
    """Whether counting allows every pair in exactly one block.

    >>> [v for v in range(5, 50) if steiner(v, 5)]
    [5, 21, 25, 41, 45]
    """
    return (classes - 1) % (size - 1) == 0 and classes * (classes - 1) % (size * (size - 1)) == 0
