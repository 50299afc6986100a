"""Answers as they are found in an export, row by row, and the plain table that they become."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import pyarrow as pa

from covote.arguments import shown, some_of
from covote.errors import InputError

Value = TypeVar("Value")
Labelled = tuple[Any, str | None, float | None]
"""An item, its label, and how sure that is."""
_OWN = ("item", "task", "expert", "worker", "label", "probability", "probabilities")
"""Columns with a meaning in a table of answers; further columns cannot have these names."""
_TAKEN = ("item", "expert", "probability", "probabilities")
"""Columns that a question cannot be called."""


class ExportedAnswers:
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
        self.found: list[tuple[Any, Any, Mapping[str, str | None], float | None, Mapping[str, Any]]] = []
        self._dropped: Counter[str] = Counter()
        self._unfit: dict[str, InputError] = {}  # questions with answers that are not one label
        self._item_names: set[str] = set()  # names of items
        self._numbered: dict[int, str] = {}  # items without a name, and the files that have them

    def count_records(self, records: Iterable[Value]) -> Iterator[Value]:
        """Yield the records, and count them."""
        for self.record, record in enumerate(records, start=1):
            yield record

    def named(self, *names: Any) -> Any:
        """Return the first name of an item that is there, or else the number of its record."""
        for name in names:
            if name is not None and name != "":
                self._item_names.add(str(name))
                return name
        if self._numbered.setdefault(self.record, self.file) != self.file:
            raise InputError(
                f"record {self.record} has no id, and that of another file has none; the items of several "
                "files need ids"
            )
        return self.record

    def add(
        self,
        item: Any,
        expert: Any,
        answers: Any,
        probability: float | None = None,
        more: Mapping[str, Any] | None = None,
        what: str = "",
    ) -> None:
        """Add what an expert said: one answer, or the answer to each question of a form.

        An answer is a name, or a list of the names that were chosen. A question with any other answer is left
        out as a whole; `what` was answered is named then.
        """
        if expert is None or expert == "":
            self.drop("answer without an expert")
            return
        if item is None or item == "":  # answers to several items would be answers to one
            raise InputError(f"record {self.record} does not name its item; export it with the item's id")
        answers = answers if isinstance(answers, Mapping) else {"label": answers}
        for name in (item, expert):
            if not _is_plain(name) or isinstance(name, bool):
                raise TypeError(f"{name!r} is not a name")
        is_score = isinstance(probability, float | None) or abs(probability) < 1 << 53
        is_sound = is_score and isinstance(more, Mapping | None)
        if not is_sound or not all(isinstance(question, str) for question in answers):
            raise TypeError("a score, further columns or a question of another type")
        labels: dict[str, str | None] = {}
        for question, answer in answers.items():
            try:
                labels[question] = _label(answer, what or f"record {self.record}")
            except InputError as error:
                self._unfit.setdefault(question, error)
        self.found.append((item, expert, labels, probability, more or {}))

    def drop(self, what: str) -> None:
        """Leave an answer out; what it was is reported with its count."""
        self._dropped[what] += 1

    def notes(self) -> list[str]:
        """Say what was left out, and that there are several questions."""
        questions = self._questions()
        dropped = [f"{n} {what}{'' if n == 1 else 's'}" for what, n in sorted(self._dropped.items())]
        found = [f"left out: {', '.join(dropped)}"] if dropped else []
        for question, error in self._unfit.items() if questions else ():
            found.append(f"left out: the question {question!r} ({str(error).partition(';')[0]})")
        every = [*questions, *self._unfit]
        if len(every) > 1:
            found.append(
                f"experts answered {len(every)} questions; choose one with --label: {some_of(every)}"
            )
        return found

    def _questions(self) -> list[str]:
        questions = dict.fromkeys(question for _, _, labels, _, _ in self.found for question in labels)
        return [question for question in questions if question not in self._unfit]

    def table(self) -> pa.Table | None:
        """Return the answers as a long table; None if there are none.

        Its columns are item, expert, one for each question, label where there is only one question, and
        probability, if every answer has one; then all else that is plain text or a number.
        """
        questions = self._questions()
        if not questions:
            for error in self._unfit.values():
                raise error
            return None
        both = next((number for number in self._numbered if str(number) in self._item_names), None)
        if both is not None:
            raise InputError(f"record {both} has no id, and another has the id {both}; give all of them ids")
        items, experts, labels, probabilities, more = zip(*self.found, strict=True)
        _refuse_same_text("item", items)
        _refuse_same_text("expert", experts)
        columns = {"item": _column(items), "expert": _column(experts)}
        for question in questions:
            answers = _column([answer.get(question) for answer in labels])
            if len(questions) + len(self._unfit) == 1:
                columns["label"] = answers
            columns[f"{question}_" if question in _TAKEN else question] = answers
        if all(value is not None for value in probabilities):
            columns["probability"] = pa.array(probabilities, pa.float64())
        for name in dict.fromkeys(name for known in more for name in known):
            values = [known.get(name) for known in more]
            if name not in columns and name.lower() not in _OWN and all(map(_is_plain, values)):
                columns[name] = _column(values)
        return pa.table(columns)


def _refuse_same_text(what: str, names: Sequence[Any]) -> None:
    """Reject names that differ only in their type, 7 and "7": in a table they would be the same."""
    kind_by_text: dict[str, type] = {}
    for kind, name in dict.fromkeys((type(name), name) for name in names):
        if kind_by_text.setdefault(str(name), kind) is not kind:
            raise InputError(f"{what} {name!r} is there as text and as a number; write both the same way")


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float)


def _column(values: Sequence[Any]) -> pa.Array:
    """Return names as integers if all are, else as text."""
    known = [value for value in values if value is not None]
    if known and all(type(value) is int and abs(value) < 1 << 63 for value in known):
        return pa.array(values, pa.int64())
    return pa.array([None if value is None else str(value) for value in values], pa.string())


def _label(answer: Any, what: str) -> str | None:
    """Return the only choice, None if there is none, and reject several.

    >>> _label(["cat"], "task 7"), _label("cat", "task 8"), _label([], "task 9")
    ('cat', 'cat', None)
    """
    choices = answer if isinstance(answer, list) else [] if answer in (None, "") else [answer]
    if not all(choice is not None and _is_plain(choice) for choice in choices):
        raise InputError(f"{what} has {shown(answer)} where covote reads one label; export classifications")
    if len(choices) > 1:
        raise InputError(
            f"{what} has several choices ({some_of(list(map(str, choices)))}); items with several labels are "
            "decoded by covote multilabel, from a plain table"
        )
    return str(choices[0]) if choices else None
