"""A Dask cluster: one that is running already, or worker processes on this machine."""

from __future__ import annotations

import logging
import os
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice, takewhile
from typing import Any, TypeVar

from covote.engines.nursery import Nursery
from covote.errors import EngineError, InputError, MissingDependencyError

Part = TypeVar("Part")
Result = TypeVar("Result")

AHEAD = 3
"""Parts in flight for every thread of the cluster: enough that no worker waits, few enough to stay lean."""

_SETTINGS: dict[str, Any] = {
    "distributed.worker.profile.enabled": False,
    # Watching itself fifty times a second costs more than many a part.
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.scheduler.work-stealing-interval": "1s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.diagnostics.nvml": False,
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
    "distributed.admin.large-graph-warning-threshold": "1GB",
}


class Dask:
    """Run parts on the workers of a Dask cluster.

    A part whose worker was lost is run again on another one, at most three times. Scripts that start workers
    of their own need ``if __name__ == "__main__":``, as with :mod:`multiprocessing`.

    Parameters
    ----------
    scheduler
        The address of a running scheduler, ``tcp://host:8786``. Its workers need covote, and must see the
        files under the same names. None: start worker processes on this machine, and stop them at the end.
    workers
        How many processes to start when there is no scheduler; one for each core unless given.
    rehearsal
        Called before processes are started, which are then forks of this one: what it loads, they need not
        load again. Only for a process that has not used several threads, be it through scikit-learn, torch or
        BLAS: their threads are not there in a fork. Without it, processes are forks of a new one.
    """

    def __init__(
        self,
        scheduler: str | None = None,
        workers: int | None = None,
        rehearsal: Callable[[], object] | None = None,
    ) -> None:
        if scheduler is not None and workers is not None:
            raise InputError(
                f"workers={workers} with scheduler={scheduler!r}: a running cluster has its own workers; "
                "give one of the two"
            )
        if workers is not None and workers < 1:
            raise InputError(f"workers must be at least 1, not {workers}")
        self.scheduler = scheduler
        self.workers = workers
        self.rehearsal = rehearsal
        self._own = 0  # processes of our own
        self._client: Any = None
        self._resources = ExitStack()

    def map(self, function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield the result of every part, in order; the cluster is a few parts ahead."""
        return self._results(self.client, function, iter(parts))

    def _results(
        self, client: Any, function: Callable[[Part], Result], parts: Iterator[Part]
    ) -> Generator[Result, None, None]:
        # The function may carry large tables: it goes to every worker once, and again where that is lost.
        carried = client.submit(_same, function, pure=False)
        waiting: deque[Any] = deque()
        ready: deque[Result] = deque()
        threads = _Threads(client, least=self._own or 1)
        try:
            while True:
                most = AHEAD * threads.count()
                room = most - len(waiting) - len(ready)
                if 2 * room >= most:  # several at a time: each message costs a millisecond
                    # Earlier parts first: their results are waited for.
                    more = list(islice(parts, room))
                    waiting += client.map(_applied, [carried] * len(more), more, pure=False)
                if not ready and not waiting:
                    return
                if not ready:
                    with _explained():
                        ready += _next_results(client, waiting)
                yield ready.popleft()
        finally:
            client.cancel([carried, *waiting])

    @property
    def client(self) -> Any:
        """The connection to the cluster, made when first asked for."""
        self.connect()
        return self._client

    def connect(self) -> None:
        """Connect to the cluster now, or start it, if that has not been done."""
        if self._client is None:
            self._client = self._connected()

    def _connected(self) -> Any:
        try:
            import dask
            import distributed
        except ImportError as error:
            raise MissingDependencyError(
                "the engine 'dask' needs distributed; install it with: pip install 'covote[dask]'"
            ) from error
        with ExitStack() as resources:
            resources.enter_context(dask.config.set(_SETTINGS))
            nursery = None
            if self.scheduler is not None:
                try:
                    client = distributed.Client(self.scheduler, set_as_default=False)
                except (OSError, ValueError) as error:
                    raise EngineError(
                        f"no Dask scheduler answers at {self.scheduler}: {error}; start one with `dask "
                        "scheduler`, or leave it out to use worker processes on this machine"
                    ) from error
            else:
                # That a worker was still starting when a short job had ended is no news.
                logging.getLogger("distributed.batched").setLevel(logging.WARNING)
                self._own = self.workers or len(os.sched_getaffinity(0))
                nursery = resources.enter_context(Nursery(self._own, _SETTINGS, self.rehearsal))
                try:
                    cluster = distributed.LocalCluster(
                        n_workers=0,
                        protocol="tcp://",
                        # A free port of this machine only, with nothing to be seen there.
                        dashboard_address="127.0.0.1:0",
                        scheduler_kwargs={"dashboard": False},
                    )
                except RuntimeError as error:
                    raise EngineError(f"a Dask cluster cannot be started on this machine: {error}") from error
                resources.enter_context(cluster)
                nursery.serve(cluster.scheduler_address)
                client = distributed.Client(cluster, set_as_default=False)
            resources.enter_context(client)
            if nursery is not None:
                _wait_for_workers(client, nursery)
            self._resources = resources.pop_all()
        return client

    def close(self) -> None:
        """Leave the cluster; stop it if it is our own."""
        self._client = None
        self._resources.close()

    def __enter__(self) -> Dask:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _wait_for_workers(client: Any, nursery: Nursery) -> None:
    """Wait until there is one, which tells that workers can start here."""
    while not client.nthreads():
        if not nursery.alive:
            raise EngineError("no worker process could be started on this machine; see above")
        time.sleep(0.05)


class _Threads:
    """How many threads the workers of a cluster have; asked for once a second, as workers come and go.

    At least as many as there will be soon: of workers of our own, all but the first may still be starting.
    """

    def __init__(self, client: Any, least: int) -> None:
        self._client, self._least = client, least
        self._count, self._until = 0, 0.0

    def count(self) -> int:
        now = time.monotonic()
        if not self._count or now > self._until:
            self._count, self._until = sum(self._client.nthreads().values()), now + 1
        return max(self._count, self._least)


def _next_results(client: Any, waiting: deque[Any]) -> list[Any]:
    """Wait for the first, and take along those after it that are there."""
    waiting[0].exception()  # waits
    if waiting[0].status != "finished":
        waiting[0].result()  # raises what went wrong
    there = list(takewhile(lambda future: future.status == "finished", waiting))
    results: list[Any] = client.gather(there)
    for _ in there:
        waiting.popleft()
    return results


def _same(value: Any) -> Any:
    return value


def _applied(function: Callable[[Part], Result], part: Part) -> Result:
    return function(part)


@contextmanager
def _explained() -> Iterator[None]:
    """Turn what went wrong with the cluster, not with the work, into one clear line."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    try:
        yield
    except KilledWorker as error:
        raise EngineError(
            f"a part of the work was lost with its worker {error.allowed_failures + 1} times, the last time "
            f"at {error.last_worker.address}; did the worker run out of memory? Give workers more of it"
        ) from error
    except (FutureCancelledError, CommClosedError) as error:
        raise EngineError(
            f"the Dask cluster gave up the work ({error}); is its scheduler still there?"
        ) from error
    except ModuleNotFoundError as error:
        raise EngineError(
            f"a worker cannot import {error.name!r}; install the same version of covote on every worker"
        ) from error
