"""Ranges of numbered classes, as people write who knows what: "1-40, 95-110"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from covote.errors import InputError

_RANGE = re.compile(r"(\d{1,6})\s*(?:-|–|—|\.\.|to|bis)\s*(\d{1,6})", re.IGNORECASE)
_NUMBERED = re.compile(r"(\d{1,6})\s*[.):]?\s+\S.*", re.DOTALL)


def expand_ranges(known: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return what each expert knows with the classes of every range.

    Numbers stand for classes whose names begin with them ("12 Robin"), if there are any, or are the names
    themselves. Where nothing else says that "10-20" is a range, it is the name of a class, such as an age:
    there is neither a numbered class nor a plain number, and no two ranges overlap without being the same.

    >>> expand_ranges({"ann": ["1-3", "7"], "bob": ["2"]})
    {'ann': ['1', '2', '3', '7'], 'bob': ['2']}
    >>> expand_ranges({"ann": ["1 Robin", "2 Wren", "3 Owl"], "bob": ["1-2"]})["bob"]
    ['1 Robin', '2 Wren']
    >>> expand_ranges({"ann": ["0-9", "10-19"], "bob": ["10-19"]})["ann"]
    ['0-9', '10-19']
    """
    parts = {part for some in known.values() for part in some}
    classes = classes_by_number(parts)
    ranges = {bounds for part in parts if (bounds := range_of(part)) is not None}
    if not ranges or not (classes or any(part.isdigit() for part in parts) or _overlap(ranges)):
        return {name: list(some) for name, some in known.items()}
    return {name: [one for part in some for one in _members(part, classes)] for name, some in known.items()}


def classes_by_number(names: Iterable[str]) -> dict[int, str]:
    """Return classes by the number that their names begin with, if no two have the same."""
    found = [
        (int(match[1]), name)
        for name in names
        if (match := _NUMBERED.fullmatch(name)) and range_of(name) is None
    ]
    return dict(found) if len(dict(found)) == len(found) else {}


def range_of(part: str) -> tuple[int, int] | None:
    """Return the first and the last number of a range; None if it is none.

    >>> range_of("95 – 110"), range_of("Robin"), range_of("9-3")
    ((95, 110), None, None)
    """
    match = _RANGE.fullmatch(part.strip())
    if match is None or int(match[1]) >= int(match[2]):
        return None
    return int(match[1]), int(match[2])


def _members(part: str, classes: Mapping[int, str]) -> list[str]:
    bounds = range_of(part)
    if bounds is None:
        return [classes.get(int(part), part)] if part.isdigit() else [part]
    numbers = range(bounds[0], bounds[1] + 1)
    return [classes[n] for n in numbers if n in classes] if classes else [str(n) for n in numbers]


def _overlap(ranges: set[tuple[int, int]]) -> bool:
    """Whether two ranges share numbers."""
    ends = sorted(ranges)
    return any(second[0] <= first[1] for first, second in pairwise(ends))


def classes_in(text: str, classes: Sequence[str | int]) -> list[str | int]:
    """Return the classes that a text names by their numbers in a list: "1-40, 95-110".

    A number is the name of a class, or what its name begins with, or else its place in the list, from 1.

    >>> classes_in("1-2, 4", ["Robin", "Wren", "Owl", "Kite"])
    ['Robin', 'Wren', 'Kite']
    """
    by_prefix: dict[int, str | int] = dict(classes_by_number(str(name) for name in classes))
    by_name: dict[int, str | int] = {name: name for name in classes if isinstance(name, int)}
    numbers = by_name or by_prefix or dict(enumerate(classes, start=1))
    found: list[str | int] = []
    for part in filter(None, (part.strip() for part in re.split(r"[,;]", text))):
        bounds = (int(part), int(part)) if part.isdigit() else range_of(part)
        if bounds is None:
            raise InputError(
                f'{part!r} is neither a number nor a range; write knows = "1-40, 95-110", or list classes'
            )
        if bounds[0] not in numbers or bounds[1] not in numbers:
            raise InputError(
                f"{part!r} is beyond the classes, which are numbered {min(numbers)} to {max(numbers)}"
            )
        found += [numbers[n] for n in range(bounds[0], bounds[1] + 1) if n in numbers]
    return list(dict.fromkeys(found))
