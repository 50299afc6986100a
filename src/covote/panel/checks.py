"""Checks of a panel's names, knowledge and costs; each error names the value and the remedy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.arguments import Name, did_you_mean
from covote.errors import InputError, TooLargeError, UnknownNameError

LONGEST_INTEGER = 1000
"""The most digits of an integer name; Python itself does not print integers of thousands of digits."""


def zeros(experts: int, classes: int) -> NDArray[np.bool_]:
    """Return an all-False matrix, or raise an error if there is not enough memory."""
    try:
        return np.zeros((experts, classes), dtype=bool)
    except MemoryError as error:
        size = experts * classes / 2**30
        raise TooLargeError(
            f"{experts} experts x {classes} classes need {size:.1f} GiB of memory; use fewer classes"
        ) from error


def class_names(classes: int | Iterable[Name]) -> tuple[Name, ...]:
    """Check the classes; a number K stands for the classes 0..K-1.

    >>> class_names(3)
    (0, 1, 2)
    """
    if isinstance(classes, bool):
        raise InputError(f"classes must be names or a number, not {classes}")
    if isinstance(classes, int | np.integer):
        if classes < 1:
            raise InputError(f"{classes} classes: there must be at least one class")
        return tuple(range(int(classes)))
    names = unique_names(classes, "class")
    if not names:
        raise InputError("no classes: there must be at least one class")
    return names


def plain_name(name: object) -> Name:
    """Convert numpy's strings and integers to Python's."""
    if isinstance(name, np.integer):
        return int(name)
    if isinstance(name, np.str_):
        return str(name)
    return cast(Name, name)


def unique_names(names: Iterable[Name], what: str) -> tuple[Name, ...]:
    """Check names of classes or experts: strings or integers, no two equal."""
    if isinstance(names, str | bytes) or not isinstance(names, Iterable):
        raise InputError(f"the {what} names must be a list of strings or integers, not {names!r}")
    known: dict[Name, None] = {}
    for raw in names:
        name = plain_name(raw)
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise InputError(f"{what} name {name!r} is a {type(name).__name__}; use a string or an integer")
        if isinstance(name, int) and abs(name) >= 10**LONGEST_INTEGER:
            raise InputError(
                f"a {what} is an integer of more than {LONGEST_INTEGER:,} digits; give it a shorter name"
            )
        if isinstance(name, str) and not name.strip():
            raise InputError(f"{what} name {name!r} is empty; give it a name")
        try:
            str(name).encode("utf-8")
        except UnicodeEncodeError as error:
            raise InputError(
                f"{what} name {name!r} cannot be written as UTF-8; choose another name"
            ) from error
        if name in known:
            raise InputError(f"{what} name {name!r} appears twice; give each a name of its own")
        known[name] = None
    return tuple(known)


def knows_matrix(knows: ArrayLike, classes: int) -> NDArray[np.bool_]:
    """Check who knows what; return a read-only copy."""
    try:
        matrix = np.asarray(knows)
    except ValueError as error:
        raise InputError(
            "`knows` must be a matrix (experts x classes); its rows have unequal lengths"
        ) from error
    if matrix.size == 0 and matrix.ndim < 2:
        matrix = matrix.reshape(0, classes)
    if matrix.ndim != 2 or matrix.shape[1] != classes:
        raise InputError(
            f"`knows` has shape {matrix.shape}; it must have one row per expert and {classes} columns, "
            "one per class"
        )
    if matrix.dtype != bool:
        wrong = np.argwhere((matrix != 0) & (matrix != 1))
        if len(wrong):
            i, k = wrong[0]
            raise InputError(f"knows[{i}, {k}] is {matrix[i, k]!r}; it must be True or False (1 or 0)")
    flags = matrix.flags
    if matrix.dtype == bool and flags.owndata and flags.c_contiguous and not flags.writeable:
        return matrix  # already read-only: taken from another panel, or made for this one
    frozen = np.array(matrix, dtype=bool, order="C")
    frozen.flags.writeable = False
    return frozen


def knows_of_blocks(
    classes: tuple[Name, ...], blocks: Sequence[Sequence[Name]], experts: Sequence[Name]
) -> NDArray[np.bool_]:
    """Return who knows what as a matrix, from what each expert knows."""
    column = {name: k for k, name in enumerate(classes)}
    knows = zeros(len(blocks), len(classes))
    for i, block in enumerate(blocks):
        expert = repr(experts[i]) if i < len(experts) else f"number {i + 1}"
        try:
            places = [column.get(name) for name in block]
        except TypeError:
            raise InputError(
                f"expert {expert} knows a list or table; write its classes as one flat list"
            ) from None
        if None in places:
            name = plain_name(block[places.index(None)])
            raise UnknownNameError(
                f"expert {expert} knows {name!r}, which is not among the {len(column)} classes"
                f"{did_you_mean(name, classes)}; add it to the classes or remove it there"
            )
        knows[i, cast("list[int]", places)] = True
    knows.flags.writeable = False
    return knows


def cost_vector(cost: ArrayLike | None, names: tuple[Name, ...]) -> NDArray[np.float64]:
    """Check the costs (default: 1 each); return a read-only copy."""
    try:
        vector = np.ones(len(names)) if cost is None else np.array(cost, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"cost must be one number per expert, not {cost!r}") from error
    if vector.shape != (len(names),):
        raise InputError(
            f"cost has shape {vector.shape} for {len(names)} experts; give one number per expert"
        )
    for name, value in zip(names, vector, strict=True):
        if not np.isfinite(value) or value < 0:
            raise InputError(f"expert {name!r} costs {value}; a cost must be a finite number, 0 or more")
    vector.flags.writeable = False
    return vector


def left_flags(left: ArrayLike | None, names: tuple[Name, ...]) -> NDArray[np.bool_]:
    """Check who has left (default: nobody); return a read-only copy."""
    flags = np.zeros(len(names), np.bool_) if left is None else np.array(left)
    if flags.shape != (len(names),) or (flags.size and flags.dtype != bool):
        raise InputError(f"left must be one True or False per expert ({len(names)}), not {left!r}")
    flags = flags.astype(np.bool_)
    flags.flags.writeable = False
    return flags


def lookup(index: Mapping[Name, int], name: Name, what: str, known: Sequence[Name]) -> int:
    """Return the place of a name, or raise an error that suggests the name that was meant."""
    try:
        return index[plain_name(name)]
    except (KeyError, TypeError):
        raise UnknownNameError(
            f"no {what} {name!r} among the {len(known)} of this panel{did_you_mean(name, known)}"
        ) from None
