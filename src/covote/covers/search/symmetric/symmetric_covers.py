"""Covers with a symmetry, for the case asked for and for others that it follows from."""

from __future__ import annotations

from collections.abc import Callable

from covote.bounds import best_lower_bound
from covote.covers.blocks import Cover, linking, resized
from covote.covers.search.efforts import Effort
from covote.covers.search.state import Search
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
"""Up to this size of experts Steiner systems nearby are looked for, and covers around a smaller cover."""


def turned(search: Search, effort: Effort) -> None:
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


def _turn(search: Search, classes: int, twists: int, goal: int, lower: int, moves: int) -> None:
    """Search a symmetric cover of so many classes with at most `goal` experts; it must help here."""
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


def _neighbours(search: Search, thorough: bool) -> list[tuple[int, int]]:
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


def turned_around_holes(search: Search, effort: Effort, part: Callable[[int], Cover]) -> None:
    """Search covers of which a smaller one is a part: a group leaves its classes where they are.

    What the bound allows is aimed at first, and then any cover that is better than the best.
    """
    if search.size > LARGEST_STEINER:
        return
    for goal in (search.lower, len(search.found.blocks) - 1):
        goal = min(goal, len(search.found.blocks) - 1)
        outside = {n: _around(search.classes, search.size, n) for n in _holes(search.classes, search.size)}
        holes = {
            n: part(n).blocks
            for n, least in outside.items()
            if not search.over and least + best_lower_bound(n, search.size)[0] <= goal
        }
        holes = {n: blocks for n, blocks in holes.items() if outside[n] + len(blocks) <= goal}
        if search.over or not holes:
            continue
        blocks = cyclic(
            search.classes,
            search.size,
            target=goal,
            moves=effort.symmetry // 2,
            seed=search.seed,
            lower=search.lower,
            twists=TWISTS,
            holes=holes,
            work=search.part(effort.symmetry // 2),
        )
        if blocks is not None:
            search.offer(Cover(blocks, "base blocks turned by a group around a smaller cover"))


def _holes(classes: int, size: int) -> range:
    """Return how many classes a smaller cover can have, if no block beside it has two of them."""
    return range(size, (classes - 1) // (size - 1) + 1)


def _around(classes: int, size: int, hole: int) -> int:
    """Return how many blocks are needed at least beside a smaller cover of `hole` classes.

    Each of its classes needs blocks with all others; every other class needs (v-1)/(k-1) blocks, and most
    places for it are in blocks with none of the smaller cover's classes.

    >>> _around(93, 4, 15)
    702
    """
    others = classes - hole
    through = hole * -(-others // (size - 1))
    places = others * -(-(classes - 1) // (size - 1)) - through * (size - 1)
    return through + max(0, -(-places // size))
