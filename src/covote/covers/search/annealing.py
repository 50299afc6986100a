"""The annealing schedule of all searches: blocks, intersecting sets of experts, base blocks under a group."""

from __future__ import annotations

from collections.abc import Callable

from covote.progress import Work

STRETCH = 1_000_000
"""The most moves between two reports, about a tenth of a second."""


def cool(
    walk: Callable[[float, float, int], int], moves: int, hot: float, cold: float, work: Work | None = None
) -> int:
    """Cool a walk geometrically from `hot` to `cold` over `moves` moves; return the moves made.

    `walk` takes the first and last temperature of a stretch and its number of moves. It returns how many
    moves it made: fewer than requested if nothing is left to repair. `work` gets a report after every
    stretch, and may stop the walk.

    >>> cool(lambda first, last, moves: moves, 2_500_000, 1.0, 0.1)
    2500000
    >>> cool(lambda first, last, moves: 70, 2_500_000, 1.0, 0.1)
    70
    """
    made = 0
    while made < moves:
        step = min(STRETCH, moves - made)
        first, last = (hot * (cold / hot) ** (at / moves) for at in (made, made + step))
        done = walk(first, last, step)
        made += done
        stopped = work is not None and work.advance(done)
        if stopped or done < step:
            break
    return made
