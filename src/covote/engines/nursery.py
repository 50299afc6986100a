"""Worker processes of one's own: forks of one process that has loaded everything once.

A process that only waits, the nursery, starts the workers, and starts another one for each that is lost. It
runs no threads, so that it can fork at any time; it ends with its workers when the pipe to the process that
asked for them is closed, whatever happened to that process.
"""

from __future__ import annotations

import asyncio
import atexit
import gc
import logging
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from typing import Any

FORKS = sys.platform == "linux"
"""Where processes can fork safely once libraries are loaded."""
PATIENCE = 1.0
"""Seconds that workers have to leave when they are no longer needed."""


class Nursery:
    """Worker processes for a cluster on this machine, there until the end of a ``with`` block.

    Parameters
    ----------
    workers
        How many.
    settings
        Dask's, for workers.
    rehearsal
        Called here first, if it is given: the workers are forks of this process, and find loaded what it has
        loaded. Without it, or where this process runs threads, they are forks of a new one.
    """

    def __init__(
        self, workers: int, settings: dict[str, Any], rehearsal: Callable[[], object] | None = None
    ) -> None:
        if rehearsal is not None:
            rehearsal()
        ours = FORKS and rehearsal is not None and threading.active_count() == 1
        there, self._orders = Pipe(duplex=False)
        # A fork holds the other end too, and would never see it closed.
        arguments = (there, self._orders if ours else None, workers, settings)
        context: Any = get_context("fork" if ours else "spawn")
        self._process = context.Process(target=_tend, args=arguments)
        with warnings.catch_warnings():
            # Threads of OpenBLAS and Arrow, which themselves see to it that a process can fork.
            warnings.simplefilter("ignore", DeprecationWarning)
            self._process.start()
        there.close()

    def serve(self, address: str) -> None:
        """Let the workers start to work for the scheduler at that address."""
        self._orders.send(address)

    @property
    def alive(self) -> bool:
        """Whether there are workers, or will be."""
        return bool(self._process.is_alive())

    def __enter__(self) -> Nursery:
        atexit.register(self._orders.close)  # before multiprocessing waits for processes that wait for us
        return self

    def __exit__(self, *_: object) -> None:
        atexit.unregister(self._orders.close)
        self._orders.close()
        self._process.join()


def _tend(orders: Connection, other_end: Connection | None, count: int, settings: dict[str, Any]) -> None:
    """Keep so many workers alive until the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked for the work
    if other_end is not None:
        other_end.close()
    from distributed.versions import get_versions

    get_versions()  # loaded, and looked up, once for all workers
    try:
        address = orders.recv()
    except EOFError:
        return
    gc.freeze()  # what is there now stays: looking it through would only copy it into every worker
    context: Any = get_context("fork" if FORKS else "spawn")

    def started() -> Any:
        worker = context.Process(target=_work, args=(address, count, settings), daemon=True)
        worker.start()
        return worker

    workers = [started() for _ in range(count)]
    while workers:
        ended = wait([orders, *(worker.sentinel for worker in workers)])
        if orders in ended:
            break
        # One that was killed is replaced; one that failed by itself would fail again.
        lost = [worker for worker in workers if worker.sentinel in ended]
        workers = [worker for worker in workers if worker not in lost]
        for worker in lost:
            worker.join()
            workers += [started()] if worker.exitcode < 0 else []
    until = time.monotonic() + PATIENCE
    for worker in workers:
        worker.join(max(0.0, until - time.monotonic()))
        worker.kill()


def _work(address: str, count: int, settings: dict[str, Any]) -> None:
    """Be a worker of the cluster at that address until it ends."""
    import dask

    # What matters is told to the scheduler, or ends the process; that a cluster has ended is no error.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with dask.config.set(settings):
        asyncio.run(_working(address, count))


async def _working(address: str, count: int) -> None:
    from distributed import Worker
    from distributed.system import MEMORY_LIMIT

    room = MEMORY_LIMIT // count
    async with Worker(address, nthreads=1, host="127.0.0.1", memory_limit=room) as worker:
        await worker.finished()
