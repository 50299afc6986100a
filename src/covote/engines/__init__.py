"""Where work on parts of the data runs: in this process, or on a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeVar

from covote.engines.dask import Dask
from covote.errors import InputError

__all__ = ["ENGINES", "Dask", "Engine", "Local", "make_engine"]

Part = TypeVar("Part")
Result = TypeVar("Result")


class Engine(Protocol):
    """Something that applies a function to parts of the data.

    Functions and parts can be pickled. A function may be run again on a part whose worker was lost, so
    running it twice must be the same as running it once: it writes next to the destination and renames.
    """

    def map(self, function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield the result of every part, in the order of the parts, a bounded number of them ahead."""


class Local:
    """Run everything in this process; parts are taken one by one as results are asked for.

    >>> from itertools import count, islice
    >>> list(islice(Local().map(hex, count(9)), 3))
    ['0x9', '0xa', '0xb']
    """

    def map(self, function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
        """Yield the result of every part, in order."""
        return map(function, parts)

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *_: object) -> None:
        pass


ENGINES: dict[str, Callable[..., Local | Dask]] = {"local": Local, "dask": Dask}
"""Every engine by name. A new engine is one new file and one line here."""


def make_engine(
    name: str,
    *,
    scheduler: str | None = None,
    workers: int | None = None,
) -> Local | Dask:
    """Return the engine of that name, to be used in a ``with`` block.

    Parameters
    ----------
    name
        A key of ``ENGINES``.
    scheduler, workers
        As for :class:`Dask`; the local engine has neither.

    >>> with make_engine("local") as engine:
    ...     list(engine.map(len, ["one", "seven"]))
    [3, 5]
    """
    if name not in ENGINES:
        raise InputError(f"no engine {name!r}; choose one of {', '.join(ENGINES)}")
    given = {"scheduler": scheduler, "workers": workers}
    chosen = {option: value for option, value in given.items() if value is not None}
    if name == "local" and chosen:
        option, value = next(iter(chosen.items()))
        raise InputError(
            f"{option}={value!r} is for the engine 'dask' (--engine dask); the local engine is one process"
        )
    return ENGINES[name](**chosen)
