"""This process, one part after another."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")


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
