"""Asking one expert about one batch: the unit of work.

Servers wait more than they work: several are asked at the same time, each one question after another.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Lock, Semaphore
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from covote.errors import CovoteError, ExpertError, FileError, OutageError
from covote.labelling.data import Data, DataPlace, open_data, stat_digest
from covote.models import ModelAnswers, ModelExpert, open_expert
from covote.models.batches import Batch, taken
from covote.models.connections import REQUESTS, RequestGroup
from covote.models.entries import entry
from covote.models.kind import Trust
from covote.panel import Name

Query = TypeVar("Query")
Result = TypeVar("Result")

_LOADED_MODELS = 8  # that one process keeps
MOST = 8
"""Servers that are asked at the same time."""
WAKE = 0.25
"""Seconds that a wait lasts at most: a Ctrl-C just before an endless wait would go unnoticed."""


@dataclass(frozen=True)
class ExpertSpec:
    """An expert as it can be sent to another process: what to open, and fingerprints of it and its file.

    `trust` says which models may run their authors' code.
    """

    name: Name
    knows: tuple[Name, ...]
    model: Any
    fingerprint: str
    content: str | None = None
    trust: Trust = False

    @property
    def remote(self) -> bool:
        """Whether its model is on a server."""
        return isinstance(self.model, str | Mapping) and entry(self.model).kind.remote


@dataclass(frozen=True)
class Job:
    """All that is needed to ask any expert about any batch."""

    data: DataPlace
    experts: Sequence[ExpertSpec]
    models: Path


@dataclass(frozen=True)
class BatchQuestion:
    """One expert, one batch; `rows` are the items of it to ask about, None for all.

    `stat_digest` is what the files of the batch looked like when the run began.
    """

    expert: int
    start: int
    stop: int
    rows: NDArray[np.bool_] | None
    stat_digest: str

    @property
    def items(self) -> int:
        """How many items are asked about."""
        return self.stop - self.start if self.rows is None else int(np.count_nonzero(self.rows))


@dataclass(frozen=True)
class Reply:
    """The answers to a question, or why there are none."""

    question: BatchQuestion
    answers: ModelAnswers | None = None
    failure: str = ""
    may_pass: bool = False


def ask_anywhere(job: Job, question: BatchQuestion) -> Reply:
    """Ask in this or another process, which opens the expert if it has not yet."""
    return ask(opened(job.experts[question.expert], job.models), job.data, question)


def ask(expert: ModelExpert, data: DataPlace, question: BatchQuestion) -> Reply:
    """Ask, and return what was said."""
    batch = _read(open_data(data), question)
    rows = question.rows
    try:
        return Reply(question, expert.answer(batch if rows is None else taken(batch, rows)))
    except ExpertError as error:
        return Reply(question, failure=str(error), may_pass=isinstance(error, OutageError))


def _read(data: Data, question: BatchQuestion) -> Batch:
    """Return a batch, but not of data that have changed since the run began."""
    failure: CovoteError | None = None
    try:
        with _READING:  # to read only: looking at files takes time, and others would wait
            batch = data.read(question.start, question.stop)
    except CovoteError as error:
        failure = error
    files = data.files(question.start, question.stop)
    if stat_digest(files) != question.stat_digest:
        raise changed(files[0] if len(files) == 1 else files[0].parent) from failure
    if failure is not None:
        raise failure
    return batch


def changed(path: Path) -> FileError:
    """Return the error for data that changed while they were being labelled."""
    return FileError(
        f"{path} was changed while it was being labelled; the answers kept so far are about the data as they "
        "were. Wait until it is complete, then run again with --refresh"
    )


_LOADED: OrderedDict[str, ModelExpert] = OrderedDict()
_LOADING = Lock()
_READING = Lock()


def opened(candidate: ExpertSpec, folder: Path) -> ModelExpert:
    """Return an expert with its model loaded; a process loads a model once and keeps the last few."""
    with _LOADING:
        found = _LOADED.get(candidate.fingerprint)
        if found is None:
            found = open_expert(
                candidate.name, candidate.knows, candidate.model, folder, trust=candidate.trust
            )
            _LOADED[candidate.fingerprint] = found
        _LOADED.move_to_end(candidate.fingerprint)
        while len(_LOADED) > _LOADED_MODELS:
            _LOADED.popitem(last=False)
        return found


def side_by_side(
    ask: Callable[[Query], Result], streams: Sequence[Iterator[Query]], most: int = MOST
) -> Iterator[list[Result]]:
    """Yield what comes of the questions of several streams: each time, all that has come since the last.

    A stream has a thread, which asks one question after another. The same stream may be given several times,
    which lets as many of its questions be on their way. A thread is at most one answer ahead of the caller,
    so that servers do not wait for the disk. Where the caller stops, requests on their way are given up.

    >>> found = side_by_side(abs, [iter([-1, -2]), iter([]), iter([-3])])
    >>> sorted(result for group in found for result in group)
    [1, 2, 3]
    """
    arrivals: SimpleQueue[tuple[Result, Semaphore] | Future[None]] = SimpleQueue()
    requests, taking, running = RequestGroup(), Lock(), len(streams)
    pool = ThreadPoolExecutor(
        max(1, min(most, running)), "covote-ask", initializer=REQUESTS.set, initargs=(requests,)
    )

    def work(stream: Iterator[Query]) -> None:
        room = Semaphore(2)  # for the question on its way, and one answer that is not yet kept
        while not requests.over:
            if room.acquire(timeout=WAKE):
                with taking:
                    question = next(stream, None)
                if question is None:
                    return
                arrivals.put((ask(question), room))

    try:
        for stream in streams:
            pool.submit(work, stream).add_done_callback(arrivals.put)
        while running:
            news = _arrived(arrivals)
            group = [one for one in news if not isinstance(one, Future)]
            if group:
                yield [result for result, _ in group]
            for _, room in group:
                room.release()
            for one in news:
                if isinstance(one, Future):  # the end of a stream
                    one.result()
                    running -= 1
    finally:
        if running:
            requests.cancel()
        pool.shutdown(wait=not running, cancel_futures=True)


def _arrived(queue: SimpleQueue[Result]) -> list[Result]:
    """Return all that is in a queue; wait for the first a little while."""
    found = []
    with suppress(Empty):
        found.append(queue.get(timeout=WAKE))
        while True:
            found.append(queue.get_nowait())
    return found
