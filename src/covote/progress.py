"""Progress reports and requests to stop, for every search, run and read.

>>> with Work(20, print) as work:
...     for words in ("first half", "second half"):
...         if work.advance(10, words):
...             break  # Ctrl-C was pressed: return the best result so far
10 20 first half
20 20 second half
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType

Progress = Callable[[int, int, str], None]
"""A callback for progress, called with (steps done, total steps, message)."""


class Work:
    """A piece of work: counts its steps, reports them, and remembers a request to stop.

    As a context manager, it turns the first Ctrl-C into a request to stop, so that the work can end with its
    best result; a second Ctrl-C interrupts as usual. Work that cannot end early is not used as a context
    manager.

    Parameters
    ----------
    total
        The number of steps, in any unit: moves, bytes, items.
    progress
        Called with every report. If it raises KeyboardInterrupt, that is also a request to stop.
    """

    def __init__(self, total: int, progress: Progress | None = None) -> None:
        self.done, self.total = 0, total
        self._stopped = False
        self._progress = progress
        self._parent: Work | None = None
        self._share, self._message = 0, ""
        self._before: signal.Handlers | Callable[[int, FrameType | None], object] | int | None = None

    def part(self, message: str, total: int = 0, share: int = 0) -> Work:
        """Return a part of the work with `total` steps, which count for `share` steps of the whole.

        Whatever the part reports, the whole reports `message`. Stopping one stops both.
        """
        part = Work(total)
        part._parent, part._share, part._message = self, share, message
        return part

    @property
    def stopped(self) -> bool:
        """Whether a stop was requested."""
        return self._stopped if self._parent is None else self._parent.stopped

    def stop(self) -> None:
        """Remember a request to stop."""
        if self._parent is None:
            self._stopped = True
        else:
            self._parent.stop()

    def advance(self, steps: int, message: str = "") -> bool:
        """Count and report steps, by default with the last message; return whether to stop."""
        before, self.done = self.done, min(self.total, self.done + steps)
        if self._parent is not None:
            shares = [self._share * done // max(1, self.total) for done in (before, self.done)]
            return self._parent.advance(shares[1] - shares[0], self._message)
        self._message = message or self._message
        if self._progress is not None and not self._stopped:
            try:
                self._progress(self.done, self.total, self._message)
            except KeyboardInterrupt:
                self.stop()
        return self.stopped

    def __enter__(self) -> Work:
        # Only the main thread can receive Ctrl-C.
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self._before = None

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stop()
