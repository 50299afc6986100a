"""Asking one expert about one batch: the unit of work, the same on this machine and on a cluster.

Servers wait more than they work: several are asked at the same time, each one question after another.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from covote.errors import CovoteError, ExpertError, FileError
from covote.files.data import Data, DataPlace, Rows, glance, open_data
from covote.models import Answers, ModelExpert, open_expert
from covote.models.batches import taken
from covote.models.connections import PATIENCE, Patience
from covote.models.entries import entry
from covote.models.kind import Trust
from covote.panel import Name

Asked = TypeVar("Asked")
Said = TypeVar("Said")

_MOST = 8  # models that one process keeps loaded
MOST = 8
"""Servers that are asked at the same time."""
WAKE = 0.25
"""Seconds after which a wait looks up: a Ctrl-C that comes just before a wait without end is not seen."""


@dataclass(frozen=True)
class Candidate:
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
    experts: Sequence[Candidate]
    models: Path


@dataclass(frozen=True)
class Question:
    """One expert, one batch; `rows` are the items of it to ask about, None for all.

    `seen` is what the files of the batch looked like when the run began.
    """

    expert: int
    start: int
    stop: int
    rows: NDArray[np.bool_] | None
    seen: str

    @property
    def items(self) -> int:
        """How many items are asked about."""
        return self.stop - self.start if self.rows is None else int(np.count_nonzero(self.rows))


@dataclass(frozen=True)
class Reply:
    """What came of a question: answers, or why there are none."""

    question: Question
    answers: Answers | None = None
    failure: str = ""


def ask(job: Job, question: Question) -> Reply:
    """Ask, and return what was said."""
    candidate = job.experts[question.expert]
    expert = opened(candidate, job.models)
    batch = _read(open_data(job.data), question)
    rows = question.rows
    try:
        return Reply(question, expert.answer(batch if rows is None else taken(batch, rows)))
    except ExpertError as error:
        return Reply(question, failure=str(error))


def _read(data: Data, question: Question) -> Rows:
    """Return a batch, but not of data that have changed since the run began."""
    failure: CovoteError | None = None
    try:
        with _READING:  # not longer: whoever looks at files waits for its turn, and others for the lock
            batch = data.read(question.start, question.stop)
    except CovoteError as error:
        failure = error
    files = data.files(question.start, question.stop)
    if glance(files) != question.seen:
        raise changed(files[0] if len(files) == 1 else files[0].parent) from failure
    if failure is not None:
        raise failure
    return batch


def changed(path: Path) -> FileError:
    """Say that data were written to while they were being labelled."""
    return FileError(
        f"{path} was changed while it was being labelled; the answers kept so far are about the data as they "
        "were. Wait until it is complete, then run again with --refresh"
    )


_LOADED: OrderedDict[str, ModelExpert] = OrderedDict()
_LOADING = Lock()
_READING = Lock()


def opened(candidate: Candidate, folder: Path) -> ModelExpert:
    """Return an expert with its model loaded; a process loads a model once and keeps the last few."""
    with _LOADING:
        found = _LOADED.get(candidate.fingerprint)
        if found is None:
            found = open_expert(
                candidate.name, candidate.knows, candidate.model, folder, trust=candidate.trust
            )
            _LOADED[candidate.fingerprint] = found
        _LOADED.move_to_end(candidate.fingerprint)
        while len(_LOADED) > _MOST:
            _LOADED.popitem(last=False)
        return found


def side_by_side(
    ask: Callable[[Asked], Said], streams: Sequence[Iterator[Asked]], most: int = MOST
) -> Iterator[list[Said]]:
    """Yield what comes of the questions of several streams: each time, all that has come since the last.

    A stream's next question is taken, in this thread, when its last one has been answered: so there is never
    more than one of a stream on its way. The same stream may be given several times, which lets as many of
    its questions be on their way. Where the caller stops, requests on their way are given up.

    >>> found = side_by_side(abs, [iter([-1, -2]), iter([]), iter([-3])])
    >>> sorted(said for group in found for said in group)
    [1, 2, 3]
    """
    waiting = deque(streams)
    running: dict[Future[Said], Iterator[Asked]] = {}
    patience, all_answered = Patience(), False
    pool = ThreadPoolExecutor(
        max(1, min(most, len(streams))), "covote-ask", initializer=PATIENCE.set, initargs=(patience,)
    )

    def ask_next() -> None:
        while waiting and len(running) < most:
            stream = waiting.popleft()
            for question in stream:
                running[pool.submit(ask, question)] = stream
                break

    try:
        ask_next()
        while running:
            done = wait(running, WAKE, FIRST_COMPLETED).done
            waiting.extendleft(running.pop(future) for future in done)
            failed = [future for future in done if future.exception() is not None]
            # The next questions leave before the answers are kept, so that servers do not wait for the disk.
            if not failed:
                ask_next()
            group = [future.result() for future in done if future not in failed]
            if group:
                yield group
            for future in failed:
                future.result()
            ask_next()
        all_answered = True
    finally:
        # Whether a request is on its way is not asked of `running`: Ctrl-C may come before it is noted there.
        if not all_answered:
            patience.give_up()
        pool.shutdown(wait=all_answered, cancel_futures=True)
