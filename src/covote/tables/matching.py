"""Find the names of a table among those of a panel: as they are, renamed, or loosely."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.arguments import Name, did_you_mean, without_titles
from covote.tables.arrow_names import NONE_OF_MINE, as_dictionary, entry_rows
from covote.tables.options import ReadOptions
from covote.tables.words import NO_ANSWER, fold_accents, fold_case, words

if TYPE_CHECKING:
    import pyarrow as pa

UNKNOWN = -3
"""The code of a name that the panel does not have."""
NULL = -4
"""The code of a missing name."""
_NO_EXPERT = words("na n/a #n/a nan null nil - -- .") | {""}
_WHOLE_FLOAT = re.compile(r"-?[0-9]+\.0+")
_LISTED = 5  # names that may be meant, in a message


class CodedColumn(NamedTuple):
    """A column of names as codes: indices into the names of a panel, or below 0.

    Attributes
    ----------
    codes
        The code of each different entry, and `NULL` after the last.
    entries
        The different entries; not all of them need occur.
    rows
        Which entry each row has.
    """

    codes: NDArray[np.int64]
    entries: list[Any]
    rows: NDArray[Any]


class Matcher:
    """Finds the names of a table among those of a panel.

    A name matches as it is, or by its text where that is unambiguous (CSV files have no types), or, if
    `reading` matches loosely, regardless of case, blanks and accents, and experts regardless of titles and of
    whether the last name comes first. `rename` is applied first. Among `labels`, the word for "none of mine"
    has the code -2, and those for "no answer" have -4.

    Attributes
    ----------
    loose_matches
        Names that matched loosely, and the names they stand for; None for "no answer".
    ambiguous
        The indices of names that were written in two ways; see :meth:`ambiguous_spellings`.

    >>> found = Matcher(("skin", "Zoë"))
    >>> found.code("skin"), found.code(" SKIN"), found.code("zoe"), found.code("lung")
    (0, 0, 1, -3)
    """

    def __init__(
        self,
        names: tuple[Name, ...],
        reading: ReadOptions | None = None,
        rename: Mapping[str, Any] | None = None,
        *,
        labels: bool = False,
    ) -> None:
        reading = reading or ReadOptions()
        self.names = names
        self._labels = labels
        self._none = reading.none if labels else None
        self._blank = frozenset(reading.blank) if labels else frozenset()
        self._no_answer = NO_ANSWER | set(map(fold_accents, reading.blank)) if labels else _NO_EXPERT
        self._loose = reading.match == "loose"
        self._rename = rename or {}
        self.loose_matches: dict[str, Name | None] = {}
        self._spellings: dict[int, dict[str, str]] = {}  # how each name was written, accents included
        self.ambiguous: set[int] = set()

    @cached_property
    def _exact(self) -> dict[Any, int]:
        return {name: k for k, name in enumerate(self.names)}

    @cached_property
    def _texts(self) -> dict[str, int]:
        return by_text(self.names)

    @cached_property
    def _near(self) -> list[tuple[Callable[[str], str], dict[str, list[int]]]]:
        """Ways to fold a name, the nearest first, and the indices of the names that are folded so."""
        found: list[tuple[Callable[[str], str], dict[str, list[int]]]] = [(fold_case, {}), (fold_accents, {})]
        if not self._labels:
            found.append((_person, {}))
        for fold, places in found:
            for k, name in enumerate(self.names):
                places.setdefault(fold(str(name)), []).append(k)
        return found

    def codes(self, values: pa.ChunkedArray | pa.Array) -> CodedColumn:
        """Return the codes of a column of names."""
        found = as_dictionary(values)
        entries = found.dictionary.to_pylist()
        codes = np.full(len(entries) + 1, NULL, dtype=np.int64)
        for e, entry in enumerate(entries):
            codes[e] = self.code(entry)
        return CodedColumn(codes, entries, entry_rows(found))

    def code(self, entry: Any) -> int:
        """Return the code of a name, and remember how it was written."""
        code = self.find(entry)
        text = str(entry)
        if code >= 0 and text not in self._rename:
            forms = self._spellings.setdefault(code, {})
            if forms.setdefault(fold_case(text), text) == text and len(forms) > 1:
                self.ambiguous.add(code)
            if text not in self._texts and not is_whole_float(entry):
                self.loose_matches[text] = self.names[code]
        elif code == NULL and isinstance(entry, str) and entry.strip() and text not in self._rename:
            self.loose_matches[text] = None
        return code

    def ambiguous_spellings(self) -> list[str]:
        """Return sentences about names whose spellings differ in accents or titles: they may be two names."""
        return [
            f"{' and '.join(map(repr, sorted(forms.values())))} differ only in accents or titles and may be "
            "two names; say what each means with rename={...} (--rename names.csv)"
            for forms in map(self._spellings.__getitem__, sorted(self.ambiguous))
            if len([form for form in forms if not _WHOLE_FLOAT.fullmatch(form)]) > 1
        ]

    def find(self, entry: Any) -> int:
        """Return the code of a name."""
        if entry is None or (isinstance(entry, float) and entry != entry):
            return NULL
        if is_whole_float(entry):
            entry = int(entry)
        if self._rename:
            entry = self._rename.get(str(entry), entry)
            if entry is None:
                return NULL
        if isinstance(entry, str | int) and not isinstance(entry, bool) and entry in self._exact:
            return self._exact[entry]
        k = self._texts.get(str(entry), -1)
        if k >= 0:
            return k
        if self._none is not None and entry == self._none:
            return NONE_OF_MINE
        if entry in self._blank:
            return NULL
        return self._loose_match(str(entry)) if self._loose else UNKNOWN

    def is_dropped(self, name: str) -> bool:
        """Whether a name means nobody: its meaning was left empty."""
        return name in self._rename and self._rename[name] is None

    def _loose_match(self, text: str) -> int:
        places = self._places(text)
        if len(places) == 1:
            return places[0]
        if self._none is not None and not places and fold_accents(text) == fold_accents(self._none):
            return NONE_OF_MINE
        if not places and fold_accents(text) in self._no_answer:
            return NULL
        return UNKNOWN

    def _places(self, text: str) -> list[int]:
        found = next((places[key] for fold, places in self._near if (key := fold(text)) in places), [])
        if not found and _WHOLE_FLOAT.fullmatch(text.strip()):  # as pandas writes integers with gaps
            found = self._near[0][1].get(text.strip().partition(".")[0], [])
        return found

    def suggestion(self, entry: Any) -> str:
        """Suggest the name that may have been meant, in brackets; empty if none is near."""
        places = self._places(str(entry)) if self._loose else []
        if len(places) < 2 and not self._labels:  # a part of a person's name
            parts = set(_parts(str(entry)))
            places = [k for k, name in enumerate(self.names) if parts and parts <= set(_parts(str(name)))]
            if len(places) == 1:
                return f" (did you mean {self.names[places[0]]!r}?)"
        if 1 < len(places) <= _LISTED:
            return f" (it may be {' or '.join(repr(self.names[k]) for k in places)})"
        return did_you_mean(entry, self.names)


def _person(name: str) -> str:
    return fold_accents(without_titles(name))


def _parts(name: str) -> list[str]:
    """Return the parts of a person's name."""
    return [fold_accents(part) for part in without_titles(name).split()]


def is_whole_float(entry: Any) -> bool:
    """Whether a name is a float that was an integer: pandas turns integers with gaps into floats."""
    return isinstance(entry, float) and entry.is_integer()


def by_text(names: tuple[Name, ...]) -> dict[str, int]:
    """Return the index of every name by its text; -1 where two names have the same text.

    >>> by_text((7, "a", "7"))
    {'7': -1, 'a': 1}
    """
    found: dict[str, int] = {}
    for k, name in enumerate(names):
        found[str(name)] = -1 if str(name) in found else k
    return found
