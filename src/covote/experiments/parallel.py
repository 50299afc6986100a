"""Work shared out over the cores, with results that do not depend on how many there are."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def one_thread_each() -> AbstractContextManager[Any]:
    """Let every matrix product use one thread: its sums have one order, on any number of cores."""
    import scipy.linalg  # noqa: F401  # only what is loaded by now is told
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield ``function(item)`` for every item, in order, computed by one thread per core.

    Worth it where the function spends its time outside of Python: products of matrices, compiled loops.
    Few results wait to be taken, so that memory stays bounded.

    >>> list(in_threads(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    number = cores()
    with one_thread_each(), ThreadPoolExecutor(number) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(function, item))
                if len(waiting) > 2 * number:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for task in waiting:
                task.cancel()
