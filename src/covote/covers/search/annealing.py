"""The harness of all annealings: of blocks, of meeting sets of experts, of base blocks under a group."""

from __future__ import annotations

from collections.abc import Callable

from covote.progress import Work

STRETCH = 1_000_000
"""Most moves between two looks at the clock of the caller: a tenth of a second."""


def cool(
    walk: Callable[[float, float, int], int], moves: int, hot: float, cold: float, work: Work | None = None
) -> int:
    """Let a walk cool down geometrically from `hot` to `cold` over `moves` moves; return the moves made.

    `walk` takes the first and the last temperature of a stretch and its moves. It returns how many of them
    it made: fewer than asked for when nothing is left to repair. `work` hears of every stretch, and may stop.

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
