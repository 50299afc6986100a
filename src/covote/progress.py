"""Progress of a search, and the wish to stop it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

Progress = Callable[[int, int, str], None]
"""Called with (moves made, moves planned, what is happening)."""


class Watch:
    """Counts the moves of a search, tells who wants to know, and remembers that someone wants to stop."""

    def __init__(self, planned: int, progress: Progress | None, whole: Watch | None = None) -> None:
        self.planned = planned
        self.made = 0
        self._stopped = False
        self._progress = progress
        self._whole = whole

    def part(self) -> Watch:
        """Return a watch for a part of the search: its moves do not count, but stopping stops both."""
        return Watch(0, None, self)

    @property
    def stopped(self) -> bool:
        """Whether someone wants to stop."""
        return self._stopped or (self._whole is not None and self._whole.stopped)

    def stop(self) -> None:
        """Remember that someone wants to stop."""
        self._stopped = True

    def moved(self, moves: int, message: str) -> bool:
        """Count moves and report; return whether to stop."""
        if self._whole is not None:
            return self._whole.moved(0, "solving a smaller case")
        self.made = min(self.planned, self.made + moves)
        if self._progress is not None:
            try:
                self._progress(self.made, self.planned, message)
            except KeyboardInterrupt:
                self.stop()
        return self.stopped


@contextmanager
def interruptible(watch: Watch) -> Iterator[None]:
    """Turn the first Ctrl-C into the wish to stop; a second one interrupts as usual.

    Only the main thread can receive Ctrl-C; elsewhere this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(number: int, frame: FrameType | None) -> None:
        if watch.stopped:
            raise KeyboardInterrupt
        watch.stop()

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
