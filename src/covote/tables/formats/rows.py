"""Answers as they are found in an export, row by row, and the plain table that they become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from covote.arguments import some_of
from covote.errors import InputError

Value = TypeVar("Value")
Labelled = tuple[Any, str | None, float | None]
"""An item, its label, and how sure that is."""
_OWN = ("item", "task", "expert", "worker", "label", "probability", "probabilities")
"""Columns with a meaning in a table of answers; further columns cannot have these names."""


class Rows:
    """The answers of an export: who said what about which item, with what else is known about the item.

    Attributes
    ----------
    file, record
        The file that is read, without its ending, and the number of the record, from 1 on.
    found
        The answers so far: item, expert, ``{question: label}``, probability, further columns.
    """

    def __init__(self) -> None:
        self.file, self.record = "", 0
        self.found: list[tuple[Any, Any, Mapping[str, Any], float | None, Mapping[str, Any]]] = []
        self._dropped: Counter[str] = Counter()

    def counted(self, records: Iterable[Value]) -> Iterator[Value]:
        """Yield the records, and count them."""
        for self.record, one in enumerate(records, start=1):
            yield one

    def add(
        self,
        item: Any,
        expert: Any,
        labels: Mapping[str, Any] | str | None,
        probability: float | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        """Add an answer: a label, or one label for each question of the form that the expert filled in."""
        if not isinstance(labels, Mapping):
            labels = {"label": labels}
        self.found.append((item, expert, labels, probability, more or {}))

    def drop(self, what: str) -> None:
        """Leave an answer out; what it was is reported with its count."""
        self._dropped[what] += 1

    def notes(self) -> list[str]:
        """Say what was left out, and that there are several questions."""
        dropped = [f"{n:,} {what}{'' if n == 1 else 's'}" for what, n in self._dropped.items()]
        found = [f"left out: {', '.join(dropped)}"] if dropped else []
        asked = self._asked()
        if len(asked) > 1:
            found.append(
                f"experts answered {len(asked)} questions; choose one with label (--label): {some_of(asked)}"
            )
        return found

    def _asked(self) -> list[str]:
        return list(dict.fromkeys(question for _, _, labels, _, _ in self.found for question in labels))

    def table(self) -> pa.Table:
        """Return the answers as a long table.

        Its columns are item, expert, label, or one column for each of several questions, and probability, if
        every answer has one; then all else that is plain text or a number.
        """
        items, experts, labels, chances, more = zip(*self.found, strict=True)
        columns = {"item": _column(items), "expert": _column(experts)}
        asked = self._asked()
        for question in asked:
            name = "label" if len(asked) == 1 else question
            columns[name] = _column([said.get(question) for said in labels])
        if all(chance is not None for chance in chances):
            columns["probability"] = pa.array(chances, pa.float64())
        for name in dict.fromkeys(name for known in more for name in known):
            values = [known.get(name) for known in more]
            if name not in columns and name.lower() not in _OWN and all(map(_is_plain, values)):
                columns[name] = _column(values)
        return pa.table(columns)


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _column(values: Sequence[Any]) -> pa.Array:
    """Return names as integers if all are, else as text."""
    known = [value for value in values if value is not None]
    for value in known:
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise TypeError(f"{value!r} is not a name")
    if known and all(isinstance(value, int) and abs(value) < 1 << 63 for value in known):
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def one_of(choices: Sequence[Any], what: str) -> str | None:
    """Return the only choice, None if there is none, and reject several.

    >>> one_of(["cat"], "task 7"), one_of([], "task 8")
    ('cat', None)
    """
    if isinstance(choices, str) or not all(isinstance(choice, str | int) for choice in choices):
        raise TypeError("choices are a list of names")
    if len(choices) > 1:
        raise InputError(
            f"{what} has several choices ({some_of(list(map(str, choices)))}); items with several labels are "
            "decoded by covote multilabel, from a plain table"
        )
    return str(choices[0]) if choices else None


def ticked(boxes: Mapping[str, Any], what: str) -> str | None:
    """Return the only option that is ticked: ``{"cat": True, "dog": False}``, as web forms send them."""
    return one_of([name for name, value in boxes.items() if value in (True, "true")], what)
