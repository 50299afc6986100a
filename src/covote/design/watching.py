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

    def __init__(self, planned: int, progress: Progress | None) -> None:
        self.planned = planned
        self.made = 0
        self.stopped = False
        self._progress = progress

    def moved(self, moves: int, message: str) -> bool:
        """Count moves and report; return whether to stop."""
        self.made = min(self.planned, self.made + moves)
        if self._progress is not None:
            try:
                self._progress(self.made, self.planned, message)
            except KeyboardInterrupt:
                self.stopped = True
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
        watch.stopped = True

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
