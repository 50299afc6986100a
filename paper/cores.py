"""Distribute work over the cores, with results that do not depend on their number."""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    import scipy.linalg  # noqa: F401  # only loaded libraries are limited
    from threadpoolctl import threadpool_limits

    limits: AbstractContextManager[Any] = threadpool_limits(1)
    return limits


def in_threads(function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """Yield ``function(item)`` for every item, in order, computed by one thread per core.

    This pays where the function spends its time outside Python, in matrix products or compiled loops. Only a
    few results wait to be taken, so memory stays bounded.

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


def in_processes(
    function: Callable[[Item], Result], items: Sequence[Item], workers: int | None = None
) -> Iterator[Result]:
    """Yield ``function(item)`` for every item, as each is ready, computed by one process per core.

    Processes stay for the next call, because loading torch takes them seconds; see :func:`end_processes`.
    """
    from joblib import Parallel, delayed, parallel_config

    number = max(1, min(workers or cores(), len(items)))
    # Idle workers that had ended left a later call waiting forever.
    with parallel_config("loky", idle_worker_timeout=24 * 3600):
        parallel = Parallel(n_jobs=number, return_as="generator_unordered", pre_dispatch=number)
    yield from parallel(delayed(function)(item) for item in items)


def end_processes() -> None:
    """End the processes that wait for the next call."""
    if "joblib" in sys.modules:
        from joblib.externals.loky import get_reusable_executor

        get_reusable_executor().shutdown(wait=True)
