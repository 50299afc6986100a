"""How a table of votes is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from covote.arguments import check_choice
from covote.errors import InputError
from covote.tables.dialect import read_cells, without_empty
from covote.tables.words import is_called, words

_HEADINGS = words(
    "old from name written alias as vote votes answer answers found original label expert before source"
)
_LISTED = 20  # names in a message


@dataclass(frozen=True)
class ReadOptions:
    """How the names, columns and cells of a table of votes are understood.

    Attributes
    ----------
    item, expert, label
        The names of these columns; None to find them by their usual names, or by what they hold.
    gold_column
        A column of a wide table that holds known classes (gold items) and not answers.
    none
        The label that means "none of mine".
    blank
        Further labels that mean "no answer", besides an empty cell and the usual ones (``?``, ``n/a``,
        ``unknown``, ...), which are recognised where names match loosely.
    unknown
        What to do with answers from unknown experts, of unknown classes, or of classes that the expert does
        not know: reject the table and list all of them in one message, or drop them with a warning.
    duplicates
        What to do with two different answers from one expert to one item: reject the table, or keep the
        first or the last. The same answer twice counts once.
    match
        "loose": names match regardless of case, blanks, punctuation and accents where that is unambiguous;
        "exact": they must be identical.
    rename
        The panel's names for experts and labels of the table: a mapping ``{"A. Lee": "dr-lee"}``, or a file
        with two columns (.csv, .tsv or .xlsx). An empty name stands for "no answer".

    >>> ReadOptions(unknown="drop").unknown
    'drop'
    >>> ReadOptions(unknown="ignore")
    Traceback (most recent call last):
    covote.errors.InputError: unknown='ignore' is not one of 'error', 'drop'
    """

    item: Annotated[str | None, "Name of the item column (default: detected)."] = None
    expert: Annotated[str | None, "Name of the expert column (default: detected)."] = None
    label: Annotated[str | None, "Name of the label column (default: detected)."] = None
    gold_column: Annotated[
        str | None, "Column of the answers that holds known classes: its items are gold items."
    ] = None
    none: Annotated[str, 'The label that means "none of mine".'] = "none of mine"
    blank: Annotated[tuple[str, ...], 'Label that means "no answer", like ? or n/a (repeatable).'] = ()
    unknown: Annotated[
        Literal["error", "drop"], "What to do with answers from unknown experts or with unknown labels."
    ] = "error"
    duplicates: Annotated[
        Literal["error", "first", "last"],
        "If an expert gave an item two different answers, which one to keep.",
    ] = "error"
    match: Annotated[
        Literal["loose", "exact"],
        "Match names loosely (ignoring case, blanks, punctuation and accents) or exactly.",
    ] = "loose"
    rename: Annotated[
        Mapping[Any, Any] | str | os.PathLike[str] | None,
        "Two-column table that maps names in the answers to names in the panel.",
    ] = None

    def __post_init__(self) -> None:
        for name, choices in self.choices().items():
            check_choice(name, getattr(self, name), choices)
        blank = (self.blank,) if isinstance(self.blank, str) else tuple(self.blank)
        if not all(isinstance(word, str) for word in blank):
            raise InputError(f"blank must be words that mean 'no answer', not {self.blank!r}")
        if self.none in blank:
            raise InputError(f"{self.none!r} cannot mean both 'none of mine' and 'no answer'; change one")
        object.__setattr__(self, "blank", blank)

    @classmethod
    def of(cls, reading: ReadOptions | None, options: Mapping[str, Any]) -> ReadOptions:
        """Return a reading with some options changed, which are keywords of another function."""
        known = [field.name for field in fields(cls)]
        unknown = [name for name in options if name not in known]
        if unknown:
            raise TypeError(f"unexpected keyword {unknown[0]!r}; tables are read with {', '.join(known)}")
        return replace(reading or cls(), **options)

    @classmethod
    @cache
    def choices(cls) -> dict[str, tuple[str, ...]]:
        """Return the options that take one of a few words, and these words."""
        types = get_type_hints(cls)
        return {name: get_args(kind) for name, kind in types.items() if get_origin(kind) is Literal}

    @classmethod
    def help(cls) -> dict[str, str]:
        """Return the command line's help for each option."""
        types = get_type_hints(cls, include_extras=True)
        return {name: kind.__metadata__[0] for name, kind in types.items()}

    @property
    def columns(self) -> tuple[str | None, str | None, str | None]:
        """The names that were given for the columns of items, experts and labels."""
        return self.item, self.expert, self.label

    @property
    def rename_file(self) -> Path | None:
        """The file given as `rename`, if it is one."""
        return None if self.rename is None or isinstance(self.rename, Mapping) else Path(self.rename)

    def renames(self, is_known: Callable[[str], bool] | None = None) -> dict[str, Any]:
        """Return the meaning of names, ``{name as written: name of the panel}``; None means "no answer".

        `is_known` tells whether the panel has a name; other meanings are rejected.
        """
        if self.rename is None:
            return {}
        if isinstance(self.rename, Mapping):
            mapping, place = {str(old): new for old, new in self.rename.items()}, ""
        else:
            mapping, place = _renames_in(self.rename, is_known), f"{self.rename}: "
        found = {old: None if new is None or str(new).strip() == "" else new for old, new in mapping.items()}
        wrong = [
            f"{str(new)[:60]!r} (for {old[:60]!r})"
            for old, new in found.items()
            if is_known is not None and new is not None and not is_known(str(new))
        ]
        if wrong:
            where = "the second column must hold" if place else "rename must give"
            raise InputError(
                f"{place}neither an expert nor a class of the panel: {', '.join(wrong[:_LISTED])}; {where} "
                "names of the panel"
            )
        return found


def _renames_in(path: str | os.PathLike[str], is_known: Callable[[str], bool] | None) -> dict[str, str]:
    """Return the rows of a table with two columns, without its heading."""
    rows = without_empty(read_cells(path))
    wrong = [
        f"row {n} has {_cells(row)}" for n, row in enumerate(rows, start=1) if not row[0] or any(row[2:])
    ]
    if not rows or wrong or max(map(len, rows)) < 2:
        problem = "; ".join(wrong[:5]) or ("it has no rows" if not rows else "it has one column")
        raise InputError(
            f"{path}: {problem}; a file of names has two columns: the name as written, the name in the panel"
        )
    pairs = [(row[0], row[1] if len(row) > 1 else "") for row in rows]
    first, meaning = pairs[0]
    heading = is_called(first, _HEADINGS) or (
        is_known is not None and bool(meaning) and not is_known(meaning)
    )
    found: dict[str, str] = {}
    for old, new in pairs[1 if heading and len(pairs) > 1 else 0 :]:
        if found.setdefault(old, new) != new:
            raise InputError(
                f"{path}: {old[:60]!r} means {found[old][:60]!r} and also {new[:60]!r}; keep one"
            )
    return found


def _cells(row: list[str]) -> str:
    filled = sum(map(bool, row))
    return f"{filled} cell{'' if filled == 1 else 's'}" if row[0] else "no name in its first column"
