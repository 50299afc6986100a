"""The only module that uses numba: loops run as plain Python until compiling them pays.

A loop over arrays is declared with :func:`kernel`; a function that only kernels call is declared with
:func:`helper`. Both are ordinary Python functions. A kernel counts the steps that it makes as plain Python.
When a call would exceed its budget, numba compiles it (or loads what an earlier process compiled), and it
stays compiled. The results are the same either way.
"""

from __future__ import annotations

import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, update_wrapper
from pathlib import Path
from threading import RLock, local
from typing import Any, ClassVar, Literal

import numpy as np

# A plain step takes about half a microsecond. Each budget takes as long as what it delays, so no one waits
# more than twice as long as with the better choice.
STEPS_TO_LOAD = 2_000_000
"""Plain steps of all kernels together before numba is loaded, which takes a second."""
STEPS_TO_COMPILE = 1_000_000
"""Plain steps of one kernel before it is compiled."""
STEPS_PER_ELEMENT = 20
"""Steps per array element of a kernel without its own estimate: an answer is visited at least once for
every class that its expert knows."""
STEPS_IF_KEPT = 30_000
"""The same for a kernel that an earlier process compiled and cached: it only has to be loaded."""

announce: Callable[[], None] | None = None
"""Called before a kernel is compiled for the first time on this machine; the command line prints a note."""
_mode: Literal["auto", "plain", "compiled"] = "auto"
_made = 0.0  # plain steps of all kernels
_lock = RLock()
_inside = local()


class _Helper:
    """A function that only kernels call: plain Python in plain kernels, compiled into compiled ones."""

    # The entry points from Python and from C take a third of the compiling; only kernels need one.
    _entries: ClassVar = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.plain = function
        self._options = {**self._entries, **options}
        self._compiled: Any = None
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        return self.plain(*args)

    def __reduce__(self) -> str:
        return self.plain.__qualname__  # pickled by name, as functions are

    @property
    def compiled(self) -> Any:
        """Numba's version."""
        if self._compiled is None:
            with _lock:
                if self._compiled is None:
                    self._compiled = _jit(self.plain, self._options)
        return self._compiled


class _Kernel(_Helper):
    """A loop that is compiled when that pays."""

    _entries: ClassVar = {"no_cfunc_wrapper": True}

    def __init__(
        self,
        function: Callable[..., Any],
        options: dict[str, Any],
        steps: Callable[..., float] | None,
    ) -> None:
        super().__init__(function, options)
        self._steps = steps or (lambda *args: STEPS_PER_ELEMENT * _elements(*args))
        self._made = 0.0
        self._budget = 0
        self._marked = False

    def __call__(self, *args: Any) -> Any:
        if getattr(_inside, "plain", False):
            return self.plain(*args)  # for a kernel that runs as plain Python, this one is a helper
        if _mode == "plain" or not (self._compiled is not None or _mode == "compiled" or self._pays(args)):
            return self._as_plain(args)
        if self._marked:
            return self.compiled(*args)
        answer = self.compiled(*args)
        self._marked, mark = True, _mark(self.plain)
        with suppress(OSError):
            if mark is not None and _is_private(mark.parent):
                mark.touch()
        return answer

    def _as_plain(self, args: tuple[Any, ...]) -> Any:
        _inside.plain = True
        try:
            # Compiled arithmetic wraps around and divides by zero silently, so plain arithmetic does too.
            with np.errstate(all="ignore"):
                return _unboxed(self.plain(*args))
        finally:
            _inside.plain = False

    def _pays(self, args: tuple[Any, ...]) -> bool:
        """Count the steps of a call, and return whether compiled code should run it."""
        global _made
        if not self._budget:
            mark = _mark(self.plain)
            self._budget = STEPS_IF_KEPT if mark is not None and mark.exists() else STEPS_TO_COMPILE
        steps = self._steps(*args)
        self._made += steps
        _made += steps
        if self._made <= self._budget or ("numba" not in sys.modules and _made <= STEPS_TO_LOAD):
            return False
        if announce is not None and self._budget == STEPS_TO_COMPILE:
            announce()
        return True


def kernel(
    function: Callable[..., Any] | None = None,
    *,
    steps: Callable[..., float] | None = None,
    **options: Any,
) -> Callable[..., Any]:
    """Declare a loop that is compiled when that pays.

    `steps` takes the arguments of a call and estimates how many steps it makes (default: by the number of
    elements of all array arguments). Other options go to numba. Kernels avoid what numba takes seconds to
    compile: sorting, `np.partition`, the assignment of one slice to another.

    >>> @kernel
    ... def total(values):
    ...     whole = 0
    ...     for value in values:
    ...         whole += value
    ...     return whole
    >>> int(total(np.arange(5)))
    10
    """
    if function is None:
        return lambda function: _Kernel(function, options, steps)
    return _Kernel(function, options, steps)


def helper(function: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """Declare a function that only kernels call; options go to numba."""
    if function is None:
        return lambda function: _Helper(function, options)
    return _Helper(function, options)


@contextmanager
def interpreted() -> Iterator[None]:
    """Run the kernels of this thread as plain Python, for small work that must not wait for the compiler."""
    before, _inside.plain = getattr(_inside, "plain", False), True
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        _inside.plain = before


@contextmanager
def kernel_mode(mode: Literal["auto", "plain", "compiled"]) -> Iterator[None]:
    """Run every kernel of this process as plain Python or compiled, whichever pays, to test both."""
    global _mode
    before, _mode = _mode, mode
    try:
        yield
    finally:
        _mode = before


def _elements(*args: Any) -> int:
    """Return how many elements the arrays among the arguments have."""
    return 1 + sum(
        a.size if isinstance(a, np.ndarray) else _elements(*a) if isinstance(a, tuple) else 0 for a in args
    )


def _unboxed(value: Any) -> Any:
    """Convert numpy's numbers to Python's, as numba does."""
    if isinstance(value, np.generic):
        return value.item()
    if type(value) is tuple:
        return tuple(map(_unboxed, value))
    return value


def _sources(function: Callable[..., Any]) -> set[str]:
    """Return the source files of compiled code.

    These are the function's own file, and those of the helpers and named tuples that it may use.
    """
    found: set[str] = set()
    waiting = [function]
    while waiting:
        current = waiting.pop()
        if current.__code__.co_filename in found:
            continue
        found.add(current.__code__.co_filename)
        for value in current.__globals__.values():
            if isinstance(value, _Helper):
                waiting.append(value.plain)
            elif isinstance(value, type) and issubclass(value, tuple) and value is not tuple:
                file = getattr(sys.modules.get(value.__module__), "__file__", None)
                found.update([file] if file else [])
    return found


def _folder(function: Callable[..., Any]) -> Path | None:
    """Return the folder for the compiled function, which depends on its sources.

    So code that was compiled from older sources is never loaded. None if the function has no source file.
    """
    try:
        text = 0
        for source in sorted(_sources(function)):
            text = zlib.crc32(Path(source).read_bytes(), zlib.crc32(source.encode(), text))
        chosen = os.environ.get("NUMBA_CACHE_DIR")
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "covote" / "compiled"
    except (OSError, RuntimeError):  # no file, no home
        return None
    base = Path(chosen) if chosen else cache
    return base / f"{Path(function.__code__.co_filename).stem}-{sys.implementation.cache_tag}-{text:08x}"


def _is_private(folder: Path) -> bool:
    """Whether a folder is this user's, and no one else can write to it; it is made if it is not there.

    Compiled code is kept as pickles, which run whatever is in them.
    """
    if not hasattr(os, "getuid"):
        return True
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _mark(function: Callable[..., Any]) -> Path | None:
    """Return the file whose existence means that an earlier process has compiled a function.

    If it is wrong, because someone has emptied the folder, only time is lost.
    """
    folder = _folder(function)
    return folder and folder / f"{function.__qualname__}.kept"


@cache
def _numba() -> Any:
    """Load numba, and make it use the compiled version of helpers and kernels inside compiled code."""
    import numba
    from numba.core import types
    from numba.extending import typeof_impl

    @typeof_impl.register(_Helper)
    def _(value: _Helper, _: Any) -> Any:
        return types.Dispatcher(value.compiled)

    return numba


def _jit(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    options = {"nogil": True, "error_model": "numpy", **options}
    numba, folder = _numba(), _folder(function)
    before = numba.config.CACHE_DIR
    if folder is None or not _is_private(folder):
        return numba.njit(**options)(function)
    numba.config.CACHE_DIR = str(folder)
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        # Numba cannot write to any folder, so it compiles again in every process.
        return numba.njit(**options)(function)
    finally:
        numba.config.CACHE_DIR = before
