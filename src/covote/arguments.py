"""Checks of arguments, and the formatting of values in messages."""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice, takewhile
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from covote.errors import FileError, InputError, UnknownNameError

if TYPE_CHECKING:
    from covote.panel import Panel

Name = str | int
"""A class or an expert: a string or an integer. ``1`` and ``"1"`` are two different names."""
_SHOWN = 6  # names in a message
_LONGEST = 60  # characters of a name in a message
_FILES = 1000  # files of a folder to search for the one that was meant


def check_count(value: int, what: str, least: int = 1) -> int:
    """Return `value` as an int of at least `least`, or raise an error.

    >>> check_count(3, "redundancy")
    3
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise InputError(f"{what} must be a whole number, not {value!r}")
    if value < least:
        raise InputError(f"{what} must be at least {least}, not {value}")
    return int(value)


def check_choice(what: str, value: str, choices: tuple[str, ...]) -> None:
    """Reject a word that is not among the choices."""
    if value not in choices:
        raise InputError(f"{what}={value!r} is not one of {', '.join(repr(c) for c in choices)}")


def check_size(classes: int, size: int) -> tuple[int, int]:
    """Return the number of classes and the size of the experts as ints, or raise an error."""
    classes = check_count(classes, "the number of classes", 2)
    size = check_count(size, "the size of an expert", 2)
    if size > classes:
        raise InputError(
            f"an expert of size {size} cannot know more than all {classes} classes; "
            f"choose a size from 2 to {classes}"
        )
    return classes, size


def check_probability(value: float, what: str) -> float:
    """Return a probability strictly between 0 and 1, or raise an error."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{what} must be a number between 0 and 1, not {value!r}") from None
    if not (math.isfinite(number) and 0 < number < 1):
        raise InputError(f"{what} must lie strictly between 0 and 1, not {value}; try 0.01")
    return number


def check_prior(prior: ArrayLike | None, classes: int) -> NDArray[np.float64]:
    """Return one probability per class, which sum to 1 (default: uniform).

    >>> check_prior(None, 4)
    array([0.25, 0.25, 0.25, 0.25])
    """
    if prior is None:
        return np.full(classes, 1 / classes)
    try:
        pi = np.array(prior, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"prior must be one probability per class, not {prior!r}") from None
    if pi.shape != (classes,):
        raise InputError(
            f"prior has shape {pi.shape}; give one probability for each of the {classes} classes"
        )
    wrong = np.flatnonzero(~(np.isfinite(pi) & (pi >= 0)))
    if len(wrong):
        raise InputError(f"prior[{wrong[0]}] is {pi[wrong[0]]}; a probability is a finite number, 0 or more")
    if not math.isclose(pi.sum(), 1, rel_tol=1e-9):
        raise InputError(f"prior sums to {pi.sum():.12g}; divide it by its sum")
    return pi


def class_weights(prior: Any, panel: Panel) -> NDArray[np.float64]:
    """Return one prior probability per class from weights of any sum (default: equal); they sum to 1."""
    if prior is None:
        return np.full(len(panel.classes), 1 / len(panel.classes))
    if isinstance(prior, float | int):
        raise InputError(f"prior={prior} must be one weight per class, or a mapping by name")
    values = per_name(prior, panel.classes, panel.class_index, "prior", "class")
    for name, value in zip(panel.classes, values, strict=True):
        if not (value >= 0 and math.isfinite(value)):
            raise InputError(f"prior {value} of class {name!r} must be a finite number, 0 or more")
    if values.sum() <= 0:
        raise InputError("the prior is 0 for every class; give some class a positive weight")
    shares: NDArray[np.float64] = values / values.sum()
    return shares


def check_accuracy(accuracy: Any, panel: Panel) -> NDArray[np.float64]:
    """Return one accuracy per expert, above 0 and at most 1."""
    values = per_name(accuracy, panel.names, panel.expert_index, "accuracy", "expert")
    for name, value in zip(panel.names, values, strict=True):
        if not 0 < value <= 1:
            raise InputError(f"accuracy {value} of expert {name!r} must be above 0 and at most 1")
    return values


def check_tables(tables: Any, panel: Panel) -> list[NDArray[np.float64]]:
    """Return one confusion table per expert (true class x class that the expert knows); rows sum to 1.

    A table may also be (classes x classes), with 0 for classes that the expert does not know.
    """
    if not hasattr(tables, "__len__"):
        raise InputError(f"{tables!r} is not a list of confusion tables; give one table per expert")
    if len(tables) != len(panel):
        raise InputError(f"{len(tables)} confusion tables for {len(panel)} experts; give one per expert")
    return [_checked_table(panel, i, table) for i, table in enumerate(tables)]


def _checked_table(panel: Panel, i: int, table: Any) -> NDArray[np.float64]:
    expert, classes, known = panel.names[i], len(panel.classes), np.flatnonzero(panel.knows[i])
    try:
        array = np.asarray(table, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"the confusions of expert {expert!r} are not a table of numbers") from error
    if array.shape == (classes, classes):
        outside = array.copy()
        outside[:, known] = 0
        if outside.any():
            k, v = np.argwhere(outside != 0)[0]
            raise InputError(
                f"the confusions of expert {expert!r} let it answer {panel.classes[v]!r} for "
                f"{panel.classes[k]!r}, a class it does not know; that probability must be 0"
            )
        array = array[:, known]
    if array.shape != (classes, len(known)):
        raise InputError(
            f"the confusions of expert {expert!r} have shape {array.shape}; they must be {classes} x "
            f"{classes} or {classes} x {len(known)} (true class x answer)"
        )
    wrong = ~((array >= 0).all(axis=1) & (np.abs(array.sum(axis=1) - 1) < 1e-6))
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InputError(
            f"the confusions of expert {expert!r} for true class {panel.classes[k]!r} are not probabilities "
            f"that sum to 1 (they sum to {array[k].sum():g})"
        )
    return array


def per_name(numbers: Any, names: tuple[Name, ...], position: Any, what: str, of: str) -> NDArray[np.float64]:
    """Return one number per name, from one number for all, a list, or a mapping by name."""
    if isinstance(numbers, Mapping):
        values = np.full(len(names), np.nan)
        for name, value in numbers.items():
            values[position(name)] = value
        if np.isnan(values).any():
            name = names[int(np.argmax(np.isnan(values)))]
            raise InputError(f"no {what} for {of} {name!r}; give one for every {of}")
        return values
    try:
        values = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers, not {numbers!r}") from error
    if values.ndim == 0:
        return np.full(len(names), float(values))
    if values.shape != (len(names),):
        raise InputError(f"{what} has shape {values.shape}; give one number per {of} ({len(names)})")
    return values


# Values in messages


@contextmanager
def naming(place: str | os.PathLike[str]) -> Iterator[None]:
    """Prefix messages about the contents of a file with its name."""
    try:
        yield
    except (InputError, UnknownNameError) as error:
        named = str(error).startswith(str(place))  # also true if the name is empty
        raise type(error)(str(error) if named else f"{place}: {error}") from error


def some_of(names: Sequence[Name]) -> str:
    """Return the first few names, for a message.

    >>> some_of("abc"), some_of(range(9))
    ('a, b, c', '0, 1, 2, 3, 4, 5, ... 9 in all')
    """
    more = f", ... {len(names):,} in all" if len(names) > _SHOWN else ""
    return ", ".join(map(str, names[:_SHOWN])) + more


def shown(name: object) -> str:
    """Return a name for a message, shortened: a stray quote can turn a whole file into one name.

    >>> shown("skin"), len(shown("skin" * 1000))
    ("'skin'", 63)
    """
    text = repr(name[:_LONGEST] if isinstance(name, str) else name)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "..."


_TITLES = re.compile(
    r"(?:(?:herrn?|frau|mrs?|ms|dr|prof|pd|priv|doz|univ)(?:\.\s*|\s+)(?:med\b\.?\s*)?)+", re.IGNORECASE
)
_DEGREE = re.compile(r"(?:,\s*|\s+)(?:md|m\.d\.|phd|ph\.d\.)\s*$", re.IGNORECASE)
_WORD = 5  # letters from which on a word may have a letter wrong


def did_you_mean(name: object, known: Sequence[Name]) -> str:
    """Return a suggestion for the name that was meant: the same text as another type, or a near miss."""
    meant = nearest(name, known)
    if meant is None:
        return ""
    if str(meant) == str(name):
        return f" (there is {meant!r}, of type {type(meant).__name__})"
    return f" (did you mean {meant!r}?)"


def nearest(name: object, known: Sequence[Name]) -> Name | None:
    """Return the name that was meant: one with the same text, or a near miss; None if none is near.

    >>> nearest("dr lee", ["dr-lee", "ann"])
    'dr-lee'
    """
    texts = {str(other): other for other in known}
    if str(name) in texts:
        return texts[str(name)]
    text = str(name)[:_LONGEST]
    near = [other for other in texts if other.strip().casefold() == text.strip().casefold()]
    near = near or difflib.get_close_matches(text, list(texts), n=1)
    return texts[near[0]] if near else None


def without_titles(name: str) -> str:
    """Return the name of a person without titles and degrees, the first name first.

    >>> [without_titles(name) for name in ("Prof. Dr. med. Anna Lee", "Lee, Dr. Anna", "A. Lee, MD")]
    ['Anna Lee', 'Anna Lee', 'A. Lee']
    """
    last, comma, first = _DEGREE.sub("", name).partition(",")
    first, last = (_TITLES.sub("", part.strip(), count=1).strip() for part in (first, last))
    found = f"{first} {last}" if comma and first else last
    return found if any(map(str.isalpha, found)) else name


def certain(name: object, known: Sequence[Name]) -> Name | None:
    """Return the only name that is the same, titles aside, but for one letter of a longer word.

    Numbers, prefixes and short words tell things apart, so a difference in them is no mistake.

    >>> certain("Dr. Meier", ["Prof. Dr. Meyer", "Dr. Cho"]), certain("naevvus", ["naevus", "melanoma"])
    ('Prof. Dr. Meyer', 'naevus')
    >>> certain("Dr. Lee", ["Dr. Li", "Dr. Leo"]), certain("type 2", ["type 1"]), certain("IIIb", ["IIIa"])
    (None, None, None)
    >>> certain("hyperthyroidism", ["hypothyroidism"]), certain("non-melanoma", ["melanoma"])
    (None, None)
    """
    words = _words(name)
    near = [other for other in known if _nearly_same(words, _words(other))]
    return near[0] if len(near) == 1 else None


def _words(name: object) -> list[str]:
    return re.findall(r"\w+", without_titles(str(name)[:_LONGEST]).casefold())


def _shared(word: str, other: str) -> int:
    """Return with how many equal letters two words begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(word, other, strict=False)))


def _nearly_same(words: Sequence[str], others: Sequence[str]) -> bool:
    """Whether words are the same but for one letter, or two that changed places, of a word of letters."""
    if len(words) != len(others):
        return False
    pairs = [pair for pair in zip(words, others, strict=True) if pair[0] != pair[1]]
    if len(pairs) != 1:
        return not pairs
    (word, other) = pairs[0]
    start = _shared(word, other)
    left, right = word[start:], other[start:]
    end = _shared(left[::-1], right[::-1])
    left, right = left[: len(left) - end], right[: len(right) - end]
    letters = max(len(word), len(other)) >= _WORD and not re.search(r"\d", left + right)
    return letters and (max(len(left), len(right)) == 1 or (len(left) == 2 and left == right[::-1]))


def no_file(path: str | os.PathLike[str]) -> FileError:
    """Return the error for a file that does not exist, with the name that may have been meant."""
    place = Path(path)
    if not place.parent.is_dir():
        return FileError(f"no file {path}: there is no folder {place.parent}")
    others = [other for other in islice(place.parent.iterdir(), _FILES) if other.is_file()]
    # Of two files with the same stem the later one wins, which has the same ending.
    others.sort(key=lambda other: (other.suffix == place.suffix, other.name))
    names = {other.stem: other.name for other in others}
    meant = nearest(place.stem, list(names))
    return FileError(f"no file {path}" + ("" if meant is None else f" (did you mean {names[str(meant)]!r}?)"))


def money(amount: float) -> str:
    """Return a cost for people; a small cost is never shown as 0."""
    return "below 0.01" if 0 < amount < 0.01 else f"{amount:,.2f}"
