"""Asking one expert about one batch: the unit of work.

Servers wait more than they work: several are asked at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from covote.errors import CovoteError, ExpertError, FileError, OutageError
from covote.labelling.data import Data, stat_digest
from covote.models import ModelAnswers, ModelExpert
from covote.models.batches import Batch, take
from covote.models.connections import REQUESTS, RequestGroup

Query = TypeVar("Query")
Result = TypeVar("Result")

WAKE = 0.25
"""Seconds that a wait lasts at most: a Ctrl-C just before an endless wait would go unnoticed."""
_READING = Lock()


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


def ask(expert: ModelExpert, data: Data, question: BatchQuestion) -> Reply:
    """Ask, and return what was said."""
    batch = _read(data, question)
    rows = question.rows
    try:
        return Reply(question, expert.answer(batch if rows is None else take(batch, rows)))
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
        raise changed_data(files[0] if len(files) == 1 else files[0].parent) from failure
    if failure is not None:
        raise failure
    return batch


def changed_data(path: Path) -> FileError:
    """Return the error for data that changed while they were being labelled."""
    return FileError(
        f"{path} was changed while it was being labelled; the answers kept so far are about the data as they "
        "were. Wait until it is complete, then run again with --refresh"
    )


def side_by_side(
    ask: Callable[[Query], Result], streams: Sequence[Iterator[Query]], note: Callable[[Result], None]
) -> Iterator[list[Result]]:
    """Yield what comes of the questions of several streams: each time, all that has come since the last.

    Each stream has one question on its way; given several times, it has as many. A result is noted before the
    stream is asked for its next question, which is sent before the result is yielded: servers do not wait for
    the disk. Where the caller stops, requests on their way are given up.

    >>> found = side_by_side(abs, [iter([-1, -2]), iter([]), iter([-3])], lambda result: None)
    >>> sorted(result for group in found for result in group)
    [1, 2, 3]
    """
    requests = RequestGroup()
    pool = ThreadPoolExecutor(
        max(1, len(streams)), "covote-ask", initializer=REQUESTS.set, initargs=(requests,)
    )
    waiting: dict[Future[Result], Iterator[Query]] = {}

    def send(stream: Iterator[Query]) -> None:
        for question in stream:
            waiting[pool.submit(ask, question)] = stream
            return

    try:
        for stream in streams:
            send(stream)
        while waiting:
            done = wait(waiting, WAKE, FIRST_COMPLETED).done
            group = [future.result() for future in done]
            for result in group:
                note(result)
            for future in done:
                send(waiting.pop(future))
            if group:
                yield group
    except BaseException:
        requests.cancel()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
