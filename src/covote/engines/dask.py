"""A Dask cluster: one that is running already, or worker processes on this machine."""

from __future__ import annotations

import logging
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import islice
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any, TypeVar

from covote.errors import EngineError, InputError, MissingDependencyError

Part = TypeVar("Part")
Result = TypeVar("Result")

AHEAD = 3
"""Parts in flight for every thread of the cluster: enough that no worker waits, few enough to save memory."""

_SETTINGS: dict[str, Any] = {
    # Workers are forks of one process that has loaded what all of them need; see `_preload`.
    "distributed.worker.multiprocessing-method": "forkserver" if sys.platform == "linux" else "spawn",
    "distributed.worker.profile.enabled": False,
    # Monitoring fifty times a second would cost more than many parts do.
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
    "distributed.admin.large-graph-warning-threshold": "1GB",
}


class Dask:
    """Run parts on the workers of a Dask cluster.

    A part whose worker was lost is run again on another one, at most three times. Scripts that start workers
    of their own need ``if __name__ == "__main__":``, as with :mod:`multiprocessing`. The workers end with
    the ``with`` block, with the process, and on SIGTERM.

    Parameters
    ----------
    scheduler
        The address of a running scheduler, ``tcp://host:8786``. Its workers need covote, and must see the
        files under the same names. None: start worker processes on this machine, and stop them at the end.
        Only this process can talk to them.
    workers
        How many processes to start when there is no scheduler; one per core by default.
    """

    def __init__(self, scheduler: str | None = None, workers: int | None = None) -> None:
        if scheduler is not None and workers is not None:
            raise InputError(
                f"workers={workers} with scheduler={scheduler!r}: a running cluster has its own workers; "
                "give one of the two"
            )
        if workers is not None and workers < 1:
            raise InputError(f"workers must be at least 1, not {workers}")
        self.scheduler = scheduler
        self.workers = workers
        self._client: Any = None
        self._resources = ExitStack()

    def map(self, function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield the result of every part, in order; the cluster is a few parts ahead."""
        self.connect()
        return self._results(self._client, function, iter(parts))

    def _results(
        self, client: Any, function: Callable[[Part], Result], parts: Iterator[Part]
    ) -> Generator[Result, None, None]:
        # The function may carry large tables: it goes to every worker once, and again where that is lost.
        carried = client.submit(_same, function, pure=False)
        waiting: deque[Any] = deque()
        sent = 0
        try:
            while True:
                threads = max(self.workers or 1, sum(client.nthreads().values()))  # workers come and go
                workers = sorted(client.nthreads())
                for part in islice(parts, AHEAD * threads - len(waiting)):
                    # A part goes to the same worker in every pass, which may have kept what it read of it.
                    where: dict[str, Any] = {}
                    if workers:
                        where = {"workers": workers[sent % len(workers)], "allow_other_workers": True}
                    waiting.append(client.submit(_applied, carried, part, pure=False, **where))
                    sent += 1
                if not waiting:
                    return
                with _explained():
                    result = waiting[0].result()
                waiting.popleft().release()
                yield result
        finally:
            client.cancel([carried, *waiting])

    def connect(self) -> None:
        """Connect to the cluster now, or start it, if that has not been done."""
        if self._client is not None:
            return
        try:
            import dask
            import distributed
        except ImportError as error:
            raise MissingDependencyError(
                "the engine 'dask' needs distributed; install it with: pip install 'covote[dask]'"
            ) from error
        with ExitStack() as resources:
            resources.enter_context(dask.config.set(_SETTINGS))
            if self.scheduler is None:
                resources.enter_context(_ending_on_sigterm())
                where = resources.enter_context(_own_cluster(self.workers))
            else:
                where = self.scheduler
            try:
                client = distributed.Client(where, set_as_default=False)
            except (OSError, ValueError) as error:
                raise EngineError(
                    f"no Dask scheduler answers at {self.scheduler}: {error}; start one with `dask "
                    "scheduler`, or leave it out to use worker processes on this machine"
                ) from error
            self._client = resources.enter_context(client)
            self._resources = resources.pop_all()

    def close(self) -> None:
        """Leave the cluster; stop it if it is our own."""
        self._client = None
        self._resources.close()

    def __enter__(self) -> Dask:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _own_cluster(workers: int | None) -> Iterator[Any]:
    import dask
    import distributed
    import joblib

    _preload()
    # Dask's own folder would be left behind on SIGTERM; this one is not.
    with (
        TemporaryDirectory(prefix="covote-dask-", ignore_cleanup_errors=True) as folder,
        dask.config.set({"temporary-directory": folder}),
    ):
        try:
            cluster = distributed.LocalCluster(
                n_workers=workers or joblib.cpu_count(),
                threads_per_worker=1,
                host="127.0.0.1",
                # A free port on this machine only, without a dashboard.
                dashboard_address="127.0.0.1:0",
                scheduler_kwargs={"dashboard": False},
                # Others on this machine could send the workers functions to run.
                security=distributed.Security.temporary(),
                # What matters is reported to the scheduler; the end of a cluster is not an error.
                silence_logs=logging.CRITICAL,
            )
        except (RuntimeError, OSError) as error:
            raise EngineError(f"a Dask cluster cannot be started on this machine: {error}") from error
        with cluster:
            yield cluster


def _preload() -> None:
    """Load Dask, numba and the modules of covote in use in the process that workers are forked from.

    Four workers that load these each take two CPU seconds more (`benchmarks/scaling.py`, own cluster).
    """
    from distributed.utils import get_mp_context

    context = get_mp_context()
    if context.get_start_method() == "forkserver":
        ours = [name for name in sys.modules if name.startswith("covote.")]
        context.set_forkserver_preload(["distributed", "numba", *ours])


@contextmanager
def _ending_on_sigterm() -> Iterator[None]:
    """Let SIGTERM end the process like an exit, so that workers and their folder are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    before = signal.getsignal(signal.SIGTERM)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _same(value: Any) -> Any:
    return value


def _applied(function: Callable[[Part], Result], part: Part) -> Result:
    return function(part)


@contextmanager
def _explained() -> Iterator[None]:
    """Turn failures of the cluster, not of the work, into one clear message."""
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
            f"the Dask cluster gave up the work ({error}); is its scheduler still running?"
        ) from error
    except ModuleNotFoundError as error:
        raise EngineError(
            f"a worker cannot import {error.name!r}; install the same version of covote on every worker"
        ) from error
