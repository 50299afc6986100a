"""Votes that do not fit into one machine: labelled on a Dask cluster, partition by partition."""

from __future__ import annotations

import logging
import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

from covote.decoding import DecodeOptions, make
from covote.decoding.gold import gold_rows, like_items, no_gold
from covote.decoding.loop import Fitted, fit
from covote.errors import EngineError, InputError, MissingDependencyError
from covote.panel import Name, Panel
from covote.tables import ReadOptions
from covote.tables.arrow_names import arrow_table
from covote.votes import Votes
from covote.votes.patterns import distinct_rows, fits_key, merged
from covote.votes.reader import Reader

Result = TypeVar("Result")


def decode(
    frame: Any,
    panel: Panel,
    output: str | os.PathLike[str],
    client: Any = None,
    *,
    method: str = "learned",
    gold: Mapping[Any, Name] | None = None,
    reading: ReadOptions | None = None,
    **options: Any,
) -> dict[str, int]:
    """Label votes on a Dask cluster; return how many items have each status.

    Rows are partitioned by item, and every partition is read, counted and labelled where it lies: a worker
    needs memory for its partitions only. Labels, statuses and confidences are those of one process. If a
    worker is lost, Dask repeats its work on another one.

    Parameters
    ----------
    frame
        A Dask data frame of votes, long or wide; or Parquet files, as in ``"votes/*.parquet"``.
    panel, method, gold, reading, options
        As for :func:`covote.files.decode_file`; a problem is reported with the row of its partition.
    output
        A new folder for the labels: one Parquet file for each partition.
    client
        A ``distributed.Client``; its workers need covote, and must see the folder under the same name.
        Without one, processes are started on this machine: see :func:`connected`.
    """
    place, reading = Path(output), reading or ReadOptions()
    if place.exists():
        raise InputError(f"{output} exists; name a new folder for the labels")
    decoder, unfinished = make(method, options, gold), place.with_name(f".{place.name}.unfinished")
    with ExitStack() as stack, _errors_as_messages():
        client = client or stack.enter_context(connected())
        parts = _Parts(client, _votes_by_item(client, frame, panel, reading), panel)
        if gold is not None:
            gold = client.submit(like_items, gold, parts.votes[0]).result()
            if not sum(parts.map(lambda votes: len(gold_rows(gold, votes)[0]))):
                raise no_gold(gold)
        fitted = fit(parts, decoder, DecodeOptions(gold=gold))
        shutil.rmtree(unfinished, ignore_errors=True)  # of a run that was killed
        unfinished.mkdir(parents=True)
        stack.callback(shutil.rmtree, unfinished, ignore_errors=True)
        files = [unfinished / f"part-{n:05}.parquet" for n in range(len(parts.votes))]
        counts = list(parts.map(partial(_write_labels, fitted=fitted), files))
        unfinished.replace(place)
    return {status: sum(count[status] for count in counts) for status in counts[0]}


def _votes_by_item(client: Any, frame: Any, panel: Panel, reading: ReadOptions) -> list[Any]:
    """Return the votes of each partition, as futures: they stay in the memory of the workers."""
    import dask.dataframe

    if isinstance(frame, str | os.PathLike):
        frame = dask.dataframe.read_parquet(str(frame), dtype_backend="pyarrow")
    names = list(map(str, frame.columns))
    roles = Reader(panel, reading).columns(names, lambda: arrow_table(frame.head()))
    if roles.item is None:
        raise InputError("no column names the items; say which does with item='...' (--item ...)")
    shuffled = frame[roles.read].shuffle(roles.item)
    read = dask.delayed(partial(Votes.from_table, panel=panel, reading=reading), pure=False)
    votes = client.compute([read(part) for part in shuffled.to_delayed()])
    sizes = client.gather(client.map(len, votes))
    if not any(sizes):
        raise InputError("there are no answers: the files have no rows")
    return [some for some, size in zip(votes, sizes, strict=True) if size]


class _Parts(NamedTuple):
    """The votes of all partitions, for a decoder to learn from."""

    client: Any
    votes: list[Any]
    panel: Panel

    def map(self, task: Callable[..., Result], *others: list[Any]) -> Iterator[Result]:
        """Yield the result of a task for every partition; the task travels to each worker once."""
        carried = self.client.scatter(task, broadcast=True, hash=False)
        futures = self.client.map(_applied, [carried] * len(self.votes), self.votes, *others, pure=False)
        for future in futures:
            yield future.result()

    def distinct(self) -> Votes | None:
        """Return the distinct answer rows of all partitions, if they are few."""
        return merged(self.map(distinct_rows)) if fits_key(self.panel) else None


def _applied(task: Callable[..., Result], *values: Any) -> Result:
    return task(*values)


def _write_labels(votes: Votes, place: Path, fitted: Fitted) -> dict[str, int]:
    labels = fitted(votes)
    labels.save(place)
    return labels.count()


@contextmanager
def connected(scheduler: str | None = None, workers: int | None = None) -> Iterator[Any]:
    """Yield a client of a running scheduler (``tcp://host:8786``), or of processes on this machine.

    Only this process can talk to the processes that it starts, one per core unless `workers` says how many.
    They end with the block, with this process, and on SIGTERM. Scripts need ``if __name__ == "__main__":``.
    """
    if scheduler is not None and workers is not None:
        raise InputError(f"a running cluster has its own workers; leave out {workers} or {scheduler!r}")
    if workers is not None and workers < 1:
        raise InputError(f"workers must be at least 1, not {workers}")
    try:
        import dask
        import distributed
    except ImportError as error:
        raise MissingDependencyError("install Dask with: pip install 'covote[dask]'") from error
    # Monitoring fifty times a second, and HTTP pages that no one asked for, would cost more than many parts.
    settings = {
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "500ms",
        "distributed.worker.http.routes": [],
        "distributed.scheduler.http.routes": [],
    }
    with ExitStack() as stack:  # Dask's own folder would be left behind on SIGTERM; this one is not.
        folder = stack.enter_context(TemporaryDirectory(prefix="covote-dask-", ignore_cleanup_errors=True))
        stack.enter_context(dask.config.set({**settings, "temporary-directory": folder}))
        try:
            where: Any = scheduler
            if scheduler is None:
                _end_on_sigterm(stack)
                # A free port on this machine only, without a dashboard, and with a key that no one else has.
                where = stack.enter_context(
                    distributed.LocalCluster(
                        n_workers=workers, threads_per_worker=1, host="127.0.0.1",
                        dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False},
                        security=distributed.Security.temporary(), silence_logs=logging.CRITICAL,
                    )
                )  # fmt: skip
            client = stack.enter_context(distributed.Client(where, set_as_default=False))
        except (OSError, ValueError, RuntimeError) as error:
            what = "cluster can be started" if scheduler is None else f"scheduler answers at {scheduler}"
            raise EngineError(f"no Dask {what}: {error}") from error
        yield client


def _end_on_sigterm(stack: ExitStack) -> None:
    """Let SIGTERM end the process like an exit, so that workers and their folder are removed."""
    main = threading.current_thread() is threading.main_thread()
    if main and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
        stack.callback(signal.signal, signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _errors_as_messages() -> Iterator[None]:
    """Turn failures of the cluster, not of the work, into one clear message."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise EngineError(
            f"a worker cannot import {error.name!r}; install the same packages there"
        ) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] != "distributed":
            raise
        reason = " ".join(str(error).split())[:300]
        raise EngineError(
            f"the Dask cluster gave up the work: {reason}; did a worker run out of memory? Give workers more "
            "of it, or make more partitions"
        ) from error
