"""The one door to numba: loops run as plain Python until compiling them pays.

A loop over arrays is declared with :func:`kernel`, a function that only kernels call with :func:`helper`.
Both are ordinary Python functions. A kernel counts the steps that it has made as plain Python; when a call
would take it past its budget, numba compiles it (or loads what an earlier process compiled), and it stays
compiled. The answers are the same either way, so nobody else knows whether numba is loaded.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

STEPS = 300_000
"""Plain steps that a kernel may make before it is compiled: a step takes about a third of a microsecond, and
loading numba and compiling a kernel about as long as ten times that many."""
STEPS_IF_KEPT = 30_000
"""The same for a kernel that an earlier process has compiled and kept: it only has to be loaded."""

_mode: Literal["auto", "plain", "compiled"] = "auto"
announce: Callable[[], None] | None = None
"""Called before a kernel is compiled that no earlier process has compiled; the command line says so."""


class _Helper:
    """A function that only kernels call: plain Python in plain kernels, compiled into compiled ones."""

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.plain = function
        self._options = options
        self._compiled: Any = None
        self.__doc__, self.__name__, self.__module__ = (
            function.__doc__,
            function.__name__,
            function.__module__,
        )
        self.__wrapped__ = function

    def __call__(self, *args: Any) -> Any:
        return self.plain(*args)

    def __reduce__(self) -> str:
        return self.__name__  # pickled by name, as functions are

    @property
    def compiled(self) -> Any:
        """Numba's version."""
        if self._compiled is None:
            self._compiled = _jit(self.plain, self._options)
        return self._compiled


class _Kernel(_Helper):
    """A loop that is compiled when that pays."""

    def __init__(
        self, function: Callable[..., Any], steps: Callable[..., int] | None, **options: Any
    ) -> None:
        super().__init__(function, **options)
        self._steps = steps or _elements
        self._made = 0
        self._budget = -1

    def __call__(self, *args: Any) -> Any:
        if self._compiled is None or _mode == "plain":
            if not self._pays(args):
                # Compiled integers wrap around silently, and so they do here.
                with np.errstate(over="ignore"):
                    return self.plain(*args)
            if announce is not None and self._budget == STEPS and self._compiled is None:
                announce()
        return self.compiled(*args)

    def _pays(self, args: tuple[Any, ...]) -> bool:
        if _mode != "auto":
            return _mode == "compiled"
        if self._budget < 0:
            self._budget = STEPS_IF_KEPT if _kept(self.plain) else STEPS
        self._made += self._steps(*args)
        return self._made > self._budget


def kernel(
    function: Callable[..., Any] | None = None, *, steps: Callable[..., int] | None = None, **options: Any
) -> Callable[..., Any]:
    """Declare a loop that is compiled when that pays.

    `steps` takes the arguments of a call and estimates how many steps it makes; without it, the elements of
    all array arguments are counted. Other options go to numba.

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
        return lambda function: _Kernel(function, steps, **options)
    return _Kernel(function, steps, **options)


def helper(function: Callable[..., Any] | None = None, **options: Any) -> Callable[..., Any]:
    """Declare a function that only kernels call; options go to numba."""
    if function is None:
        return lambda function: _Helper(function, **options)
    return _Helper(function, **options)


@contextmanager
def running(mode: Literal["auto", "plain", "compiled"]) -> Iterator[None]:
    """Run every kernel as plain Python, or compiled, whatever pays: for tests that compare the two."""
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


def _kept(function: Callable[..., Any]) -> bool:
    """Whether an earlier process has compiled a function and kept the result where numba would find it."""
    source = Path(function.__code__.co_filename)
    kept = f"{source.stem}.{function.__qualname__}-{function.__code__.co_firstlineno}.*.nbi"
    folder = os.environ.get("NUMBA_CACHE_DIR")
    place = Path(folder) if folder else source.parent / "__pycache__"
    return next(place.glob(f"**/{kept}" if folder else kept), None) is not None


def _numba() -> Any:
    """Load numba, and teach it that a helper or kernel inside compiled code is its compiled version."""
    import numba
    from numba.core import types
    from numba.extending import typeof_impl

    if _Helper not in _taught:
        _taught.add(_Helper)

        @typeof_impl.register(_Helper)
        def _(value: _Helper, _: Any) -> Any:
            return types.Dispatcher(value.compiled)

    return numba


_taught: set[type] = set()


def _jit(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    options = {"nogil": True, **options}
    numba = _numba()
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:
        # No folder that numba may write to: it compiles again in every process.
        return numba.njit(**options)(function)
