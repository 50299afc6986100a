"""Which column of a table of votes is which: by name, or else by content."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from covote.arguments import did_you_mean, some_of
from covote.errors import CovoteError, InputError, UnknownNameError
from covote.tables.arrow_names import NONE_OF_MINE, as_dictionary, entry_rows
from covote.tables.dialect import UNNAMED
from covote.tables.matching import NULL, Matcher, by_text
from covote.tables.words import CLASSES, EXPERTS, ITEMS, NOTES, fold_accents, is_called, words

if TYPE_CHECKING:
    import pyarrow as pa

COMMON_NAMES = (("item", "task"), ("expert", "worker"), ("label",))
"""The item, expert and label columns in files that covote and crowd-kit write."""
PROBABILITIES = ("probability", "probabilities")
"""Columns of a long table with probabilities: of the answer, or of the classes that the expert knows."""
HEAD = 10_000
"""Rows that are examined if the names of the columns are not enough."""
_ROLES = ("item", "expert", "label")
_NUMBERS = words("id # row nr no number index key")
"""What people call the numbers of rows, which may be items or not."""
_NOT_ITEMS = words(
    "date time timestamp created updated duration comment comments note notes datum uhrzeit zeit zeitstempel "
    "bemerkung bemerkungen heure fecha hora"
)


class ColumnRoles(NamedTuple):
    """Which column is which.

    Attributes
    ----------
    item, expert, label, probability
        The columns of a long table; of a wide one only the item's, if there is one.
    answers
        Of a wide table, the columns of answers, and the experts' indices.
    unknown_columns
        Columns of a wide table with answers from someone who is not in the panel.
    ignored
        Columns of a wide table that hold no answers.
    items
        Of a form, which has a row for each expert, the columns of answers; their names are the items.
    """

    item: str | None
    expert: str | None = None
    label: str | None = None
    probability: str | None = None
    answers: dict[str, int] | None = None
    unknown_columns: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    items: tuple[str, ...] = ()

    @property
    def of_answers(self) -> list[str]:
        """The columns of the answers: expert and label, or one for each expert, or expert and items."""
        if self.answers is not None:
            return list(self.answers)
        return [str(self.expert), *(self.items or [str(self.label)])]

    @property
    def read(self) -> list[str]:
        """The columns that are read."""
        others = [name for name in (self.item, self.probability) if name is not None]
        return [*others, *self.of_answers, *self.unknown_columns]

    def notes(self) -> list[str]:
        """Describe how the columns were interpreted, unless they have the usual names."""
        found = []
        chosen = (self.item, self.expert, self.label)
        if self.items:
            found.append(
                f"experts are read from {self.expert!r}; items are the columns {some_of(self.items)}"
            )
        elif self.answers is None and any(
            c not in common for c, common in zip(chosen, COMMON_NAMES, strict=True)
        ):
            found.append(
                f"items are read from {self.item!r}, experts from {self.expert!r}, labels from {self.label!r}"
            )
        if self.answers is not None and self.item is not None and self.item not in COMMON_NAMES[0]:
            found.append(f"items are read from {self.item!r}")
        if self.ignored:
            found.append(f"columns without answers are ignored: {some_of(self.ignored)}")
        return found


def common_column(names: Sequence[str], common: Sequence[str]) -> str | None:
    """Return the column with the first of the usual names that occurs, in any case; None if none does.

    >>> common_column(["text", "ID"], ("item", "task", "id"))
    'ID'
    """
    for candidate in common:
        exact = [name for name in names if name == candidate]
        for name in exact or [name for name in names if name.strip().lower() == candidate]:
            return name
    return None


def id_column(names: Sequence[str], option: str | None = None) -> str | None:
    """Return the column that names the items: the one asked for, or one called item, task or id."""
    return option or common_column(names, (*COMMON_NAMES[0], "id"))


def find_columns(
    names: list[str],
    column_options: Sequence[str | None],
    matchers: tuple[Matcher, Matcher] | None,
    head: Callable[[], pa.Table],
) -> ColumnRoles:
    """Return which column is which: as given, by usual names, by other names, by content.

    `matchers` know the experts and classes of the panel; without them, only names count. `head` returns the
    first rows of the table, and is called only if names are not enough.
    """
    if {"label", "confidence", "violations", "status"} <= set(names):
        raise InputError(
            "this is a file of labels, as covote writes them; give the answers (item, expert, label) that "
            "they came from"
        )
    chosen = _checked(names, column_options)
    common = [
        c or next((name for name in known if name in names), None)
        for c, known in zip(chosen, COMMON_NAMES, strict=True)
    ]
    _refuse_twice(common, names)
    soft = [name for name in names if fold_accents(name) in PROBABILITIES]
    if len(soft) > 1:
        raise InputError(f"columns {soft[0]!r} and {soft[1]!r} both hold probabilities; remove one")
    probability = soft[0] if soft else None
    if all(common) and not (matchers and _named_like_columns(common, matchers, head)):
        return ColumnRoles(common[0], common[1], common[2], probability)
    if not any(chosen[1:]):
        found = _wide(names, chosen[0], matchers, head)
        if found is None and matchers is not None and chosen[0] is None:
            found = _by_content(names, matchers, head)
        if found is not None:
            return found
    item, expert, label = _long(names, chosen, matchers, head)
    if None in (item, expert, label):
        raise _missing_column((item, expert, label), names, matchers)
    return ColumnRoles(item, expert, label, probability)


def _named_like_columns(
    common: Sequence[str | None], matchers: tuple[Matcher, Matcher], head: Callable[[], pa.Table]
) -> bool:
    """Whether columns that are called worker and label are those of experts with these names."""
    experts, classes = matchers
    who = str(common[1])
    if not any(experts.find(name) >= 0 for name in common[1:]):
        return False
    column = head().column(who)
    return share_of(column, classes) > share_of(column, experts)


def item_column(names: list[str], head: Callable[[], pa.Table], option: str | None = None) -> str | None:
    """Return the column of the items: the one asked for, by its name, or the only one possible."""
    common = common_column(names, ([option] if option else []) + [*COMMON_NAMES[0]])
    return common or _item(names, head)


def _checked(names: list[str], column_options: Sequence[str | None]) -> list[str | None]:
    """Return the columns that were named; case and blanks are ignored where that is unambiguous."""
    found: list[str | None] = []
    for name in column_options:
        if name is not None and name not in names:
            near = [other for other in names if fold_accents(other) == fold_accents(name)]
            if len(near) != 1:
                raise InputError(
                    f"the answers have no column {name!r}{did_you_mean(name, names)}; they have: "
                    f"{some_of(names)}"
                )
            name = near[0]
        found.append(name)
    return found


def _refuse_twice(chosen: Sequence[str | None], names: list[str]) -> None:
    known = [name for name in chosen if name is not None]
    same = next((name for name in known if known.count(name) > 1), None)
    if same is not None:
        raise InputError(
            f"column {same!r} cannot stand for two of item, expert and label; name another (they have: "
            f"{some_of(names)})"
        )


# Wide


def _wide(
    names: list[str],
    item: str | None,
    matchers: tuple[Matcher, Matcher] | None,
    head: Callable[[], pa.Table],
    *,
    sure: bool = False,
) -> ColumnRoles | None:
    """Return the columns of a wide table; None if it is not one, unless that is `sure`."""
    if matchers is None:
        return _wide_without_panel(names, item, head)
    experts, classes = matchers
    texts = by_text(experts.names)
    found: dict[str, int] = {}
    for name in names:
        code = experts.code(name) if name != item and texts.get(name, 0) >= 0 else -1
        if code >= 0:
            if code in found.values():
                same = next(other for other, i in found.items() if i == code)
                raise InputError(
                    f"columns {same!r} and {name!r} are both of expert {experts.names[code]!r}; rename one"
                )
            found[name] = code
        elif texts.get(name, 0) < 0 and name != item:
            raise InputError(
                f"column {name!r} could be two experts of the panel, the text {name!r} and the number "
                f"{name}; rename one of them, or give a long table (item, expert, label)"
            )
    by_name = [[n for n in names if n not in found and is_called(n, role)] for role in (EXPERTS, CLASSES)]
    if not sure and (not found or all(by_name)):
        return None
    if len(found) == 1 and any(classes.code(name) >= 0 for name in names if name not in found):
        raise _no_heading(names)
    if item is None:
        item = next((name for name in COMMON_NAMES[0] if name in names and name not in found), None)
    rest = [name for name in names if name not in found and name != item]
    unknown_columns: list[str] = []
    if rest:
        sample = head()
        rest = [name for name in rest if sample.column(name).null_count < len(sample)]
        rest = [name for name in rest if not experts.is_dropped(name)]
        unknown_columns = [name for name in rest if share_of(sample.column(name), classes) >= 0.5]
        rest = [name for name in rest if name not in unknown_columns]
    if item is None:
        item = _item(rest, head)
    ignored = tuple(name for name in rest if name != item)
    return ColumnRoles(item, answers=found, unknown_columns=tuple(unknown_columns), ignored=ignored)


def _wide_without_panel(
    names: list[str], item: str | None, head: Callable[[], pa.Table]
) -> ColumnRoles | None:
    """Return the columns of a wide table without a panel: those of experts share labels with each other.

    Others are left out if they hold numbers, dates or free text, or are called age, sex or comment.
    """
    if any(is_called(name, EXPERTS | CLASSES) for name in names):
        return None
    if item is None:
        item = next((name for name in COMMON_NAMES[0] if name in names), None) or _item(names, head)
    sample = head()
    rest = [name for name in names if name != item and _holds_names(sample.column(name))]
    entries = {name: _values(sample.column(name)) for name in rest}
    values = {name: set(map(str, some)) for name, some in entries.items()}
    texts = [name for name in rest if any(map(_has_letters, values[name]))]
    if len(_sharing(texts, values)) > 1:  # so numbers, dates and times are not answers
        rest = texts
    sharing = _sharing(rest, values)
    alone = [
        name
        for name in rest
        if name not in sharing and (2 * len(values[name]) > len(entries[name]) or is_called(name, NOTES))
    ]
    answers = [name for name in rest if name not in alone or len(rest) - len(alone) < 2]
    ignored = tuple(name for name in names if name != item and name not in answers)
    return ColumnRoles(item, answers={name: i for i, name in enumerate(answers)}, ignored=ignored)


def _sharing(names: list[str], values: dict[str, set[str]]) -> list[str]:
    """Return the columns that have a value in common with another."""
    return [name for name in names if any(values[name] & values[other] for other in names if other != name)]


def _has_letters(text: str) -> bool:
    """Whether a text is neither a number nor a date.

    >>> _has_letters("2026-03-04T09:30:15"), _has_letters("1e5"), _has_letters("-7,5 %"), _has_letters("T1")
    (False, False, False, True)
    """
    return any(map(str.isalpha, re.sub(r"(?<=\d)[TeE](?=[-+\d])|(?<=\d)Z$", "", text)))


def _by_content(
    names: list[str], matchers: tuple[Matcher, Matcher], head: Callable[[], pa.Table]
) -> ColumnRoles | None:
    """Return the columns of a form or survey, or of a wide table whose experts are unknown; None for others.

    A form has a row for each expert and a column for each item.
    """
    sample = head()
    shares = {name: [share_of(sample.column(name), matcher) for matcher in matchers] for name in names}
    experts = [name for name, (expert, label) in shares.items() if expert >= 0.5 and expert > label]
    labels = tuple(name for name, (expert, label) in shares.items() if label >= 0.5 and label >= expert)
    if len(labels) < 2:
        return None
    if not experts and not any(is_called(name, EXPERTS) for name in names):
        return _wide(names, None, matchers, head, sure=True)
    others = [name for name in names if name not in (*experts, *labels)]
    if len(experts) != 1 or any(is_called(name, ITEMS - _NUMBERS) for name in others):
        return None
    entries = _values(sample.column(experts[0]))
    if 2 * len(set(entries)) <= len(entries):
        return None  # experts come again and again: a row for each answer
    return ColumnRoles(None, experts[0], items=labels, ignored=tuple(others))


def _values(column: Any) -> list[Any]:
    return [value for value in column.to_pylist() if value is not None]


# Long


def _long(
    names: list[str],
    chosen: list[str | None],
    matchers: tuple[Matcher, Matcher] | None,
    head: Callable[[], pa.Table],
) -> tuple[str | None, str | None, str | None]:
    """Return the columns of a long table, None for those that are missing; reject ambiguous ones."""
    left = [name for name in names if name not in chosen]
    found: list[str | None] = list(chosen)
    for place, called, common in ((1, EXPERTS, COMMON_NAMES[1]), (2, CLASSES, COMMON_NAMES[2])):
        if found[place] is not None:
            continue
        exact = [name for name in common if name in left][:1]
        named = exact or [name for name in left if is_called(name, called)]
        if not exact and matchers is not None and len(left) > 1:
            held = _holding(left, matchers, place, head)
            others = [
                name for name in held if not is_called(name, ITEMS)
            ]  # items may be numbers, like classes
            named = [name for name in named if name in held] or others or named
        found[place] = _only(named, _ROLES[place], names)
        left = [name for name in left if name != found[place]]
    if found[0] is None:
        common_item = next((name for name in COMMON_NAMES[0] if name in left), None)
        found[0] = common_item or (_item(left, head) if all(found[1:]) else None)
    return found[0], found[1], found[2]


def _holding(
    names: list[str], matchers: tuple[Matcher, Matcher], place: int, head: Callable[[], pa.Table]
) -> list[str]:
    """Return the columns that hold mostly experts (place 1) or classes (place 2) of the panel."""
    sample = head()
    shares = {name: [share_of(sample.column(name), matcher) for matcher in matchers] for name in names}
    mine, other = place - 1, 2 - place
    return [name for name, share in shares.items() if share[mine] >= 0.5 and share[mine] >= share[other]]


def share_of(column: pa.ChunkedArray, matcher: Matcher) -> float:
    """Return the share of the filled cells of a column that hold a name of the panel."""
    if not _holds_names(column):
        return 0.0
    found = as_dictionary(column)
    codes = np.array([*map(matcher.find, found.dictionary.to_pylist()), NULL])[entry_rows(found)]
    filled = codes[codes != NULL]
    return float(((filled >= 0) | (filled == NONE_OF_MINE)).mean()) if len(filled) else 0.0


def _holds_names(column: pa.ChunkedArray) -> bool:
    """Whether a column may hold names: no lists, and no types of other libraries such as UUID or JSON."""
    import pyarrow as pa

    return not (pa.types.is_nested(column.type) or isinstance(column.type, pa.BaseExtensionType))


def _item(names: list[str], head: Callable[[], pa.Table]) -> str | None:
    """Return the column of items: by name, or the only one possible; None if there is no column."""
    names = [name for name in names if fold_accents(name) not in PROBABILITIES]
    named = [name for name in names if is_called(name, ITEMS)]
    first = [name for name in named if is_called(name, frozenset(("item", "task")))]
    ids = [name for name in named if fold_accents(name).endswith(("id", "nr", "no", "#", "number"))]
    best = first or ids or named
    if not best and len(names) > 1:
        sample = head()
        best = [n for n in names if fold_accents(n) not in _NOT_ITEMS and not sample.column(n).null_count]
        best = [name for name in best if name.startswith(UNNAMED)][:1] or best
    return _only(best or names, "item", names)


def _only(candidates: list[str], role: str, names: list[str]) -> str | None:
    if len(candidates) > 1:
        raise InputError(
            f"several columns may be the {role}: {some_of(candidates)} (of {some_of(names)}); call the "
            f"right one {role}, or say which with {role}='...' (--{role} ...)"
        )
    return candidates[0] if candidates else None


def _missing_column(
    found: tuple[str | None, str | None, str | None],
    names: list[str],
    matchers: tuple[Matcher, Matcher] | None,
) -> CovoteError:
    """Say which column is missing."""
    if matchers is not None and all(any(m.code(name) >= 0 for name in names) for m in matchers):
        return _no_heading(names)
    classes = [] if matchers is None else [name for name in names if matchers[1].code(name) >= 0]
    if len(classes) > 1:
        return InputError(
            f"the columns {some_of(classes)} are classes of the panel; a table of answers has the classes in "
            "its cells: a column for each expert and a row for each item, or the columns item, expert, label"
        )
    if matchers is not None and found[1] is None and found[2] is None:
        return UnknownNameError(
            f"no column is an expert of the panel (its columns: {some_of(names)}; the experts: "
            f"{some_of(matchers[0].names)}); a wide table has a column for each expert, a long table has the "
            "columns item, expert, label, or others that are named with expert='...', label='...' (--expert, "
            "--label)"
        )
    missing = [role for role, name in zip(_ROLES, found, strict=True) if name is None]
    options = " ".join(f"--{role} NAME" for role in missing)
    keywords = ", ".join(f"{role}='NAME'" for role in missing)
    return InputError(
        f"no column {' and no column '.join(map(repr, missing))} (it has: {some_of(names)}); which is "
        f"meant? Add {options} (in Python: {keywords}); a long table has the columns item, expert and label"
    )


def _no_heading(names: list[str]) -> InputError:
    return InputError(
        f"the first row ({some_of(names)}) looks like an answer, not like the names of the columns; add a "
        "row item,expert,label above it"
    )
