"""Work that takes longer than a page may: it runs in the background, and pages ask until it is done."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from covote.errors import CovoteError

KEPT = 50
"""Jobs whose outcome is remembered."""


class Jobs:
    """Runs one job after another."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="job")
        self._jobs: dict[str, Future[Any]] = {}
        self._lock = threading.Lock()

    def start(self, work: Callable[[], Any]) -> str:
        """Begin some work, and return its name."""
        name = secrets.token_urlsafe(12)
        with self._lock:
            while len(self._jobs) >= KEPT:
                self._jobs.pop(next(iter(self._jobs)))
            self._jobs[name] = self._pool.submit(work)
        return name

    def outcome(self, name: str, wait: float) -> tuple[bool, Any]:
        """Return (whether it is done, what came of it or the error that ended it)."""
        job = self._jobs.get(name)
        if job is None:
            return True, CovoteError("This result is no longer kept; press the button again.")
        try:
            return True, job.result(timeout=wait)
        except TimeoutError:
            return False, None
        except CovoteError as error:
            return True, error

    def stop(self) -> None:
        """Begin nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)
