"""Several servers asked at the same time, each one question after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from covote.models.http import PATIENCE, Patience

Asked = TypeVar("Asked")
Said = TypeVar("Said")

MOST = 8
"""Servers that are asked at the same time."""
WAKE = 0.25
"""Seconds after which a wait looks up: a Ctrl-C that comes just before a wait without end is not seen."""


def side_by_side(
    ask: Callable[[Asked], Said], streams: Sequence[Iterator[Asked]], most: int = MOST
) -> Iterator[Said]:
    """Yield what comes of the questions of several streams, as it comes.

    A stream's next question is taken, in this thread, when its last one has been answered: so there is never
    more than one of a stream on its way. Where the caller stops, requests on their way are given up.

    >>> sorted(side_by_side(abs, [iter([-1, -2]), iter([]), iter([-3])]))
    [1, 2, 3]
    """
    waiting = deque(streams)
    running: dict[Future[Said], Iterator[Asked]] = {}
    patience, all_answered = Patience(), False
    pool = ThreadPoolExecutor(
        max(1, min(most, len(streams))), "covote-ask", initializer=PATIENCE.set, initargs=(patience,)
    )
    try:
        while waiting or running:
            while waiting and len(running) < most:
                stream = waiting.popleft()
                for question in stream:
                    running[pool.submit(ask, question)] = stream
                    break
            for future in wait(running, WAKE, FIRST_COMPLETED).done:
                waiting.appendleft(running.pop(future))
                yield future.result()
        all_answered = True
    finally:
        # Whether a request is on its way is not asked of `running`: Ctrl-C may come before it is noted there.
        if not all_answered:
            patience.give_up()
        pool.shutdown(wait=all_answered, cancel_futures=True)
