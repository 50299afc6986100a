"""Classes: added, renamed, described, ordered, merged, retired and brought back, while people answer.

No answer is ever rewritten. A rename changes a name; a merge says for which class answers count until it is
undone; retiring takes a class out of every list of options, and votes for it still count. An id is never
used twice.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from covote_studio.editing.record import note
from covote_studio.people.expertise import merges, refresh_options
from covote_studio.people.roster import end_of, touch
from covote_studio.rules import Refusal, check_name, check_text
from covote_studio.storage.schema import adjudication, answer, class_, example, item, knows, options

MOST_CLASSES = 10_000
RESERVED = ("none of mine", "not sure")
"""Names that no class may have, because every answer form already offers them."""


@dataclass(frozen=True)
class NewClass:
    """A class as it is typed: a name and, after a colon, a description."""

    name: str
    description: str = ""


def parse_classes(text: str) -> list[NewClass]:
    """Read classes from lines of the form ``name: description``.

    >>> parse_classes("cat: small, says miaow\\n\\ndog")
    [NewClass(name='cat', description='small, says miaow'), NewClass(name='dog', description='')]
    """
    found = []
    for line in text.splitlines():
        if line.strip():
            name, _, description = line.partition(":")
            found.append(NewClass(name, description.strip()))
    return found


def add_classes(connection: Connection, classes: Sequence[NewClass], by: int | None = None) -> int:
    """Add classes at the end; existing ones get the new description if there is one."""
    there = {row.name: row for row in connection.execute(select(class_))}
    last = connection.execute(select(func.coalesce(func.max(class_.c.position), 0))).scalar_one()
    if len(there) + len(classes) > MOST_CLASSES:
        raise Refusal(f"That would be more than {MOST_CLASSES:,} classes; use fewer.", 422)
    new: dict[str, dict[str, Any]] = {}
    for one in classes:
        name = _class_name(one.name)
        description = check_text(one.description, f"The description of “{name}”", 2000)
        if name in new:
            raise Refusal(f"The class “{name}” is listed twice; list it once.", 422)
        if name in there:
            _check_free(there[name])
            if description and description != there[name].description:
                change_class(connection, there[name].id, name=name, description=description, by=by)
            continue
        new[name] = {"name": name, "description": description, "position": last + len(new) + 1}
    if new:
        connection.execute(insert(class_), list(new.values()))
        note(
            connection,
            by,
            f"Added the classes {', '.join(new)}." if len(new) > 1 else f"Added the class {next(iter(new))}.",
        )
    touch(connection)
    return len(new)


def _class_name(text: str) -> str:
    name = check_name(text, "A class")
    if name.lower() in RESERVED:
        raise Refusal(f"A class cannot be called “{name}”: every form already has that answer.", 422)
    return name


def _check_free(there: Row[Any]) -> None:
    """Reject the name of a class that is no longer offered."""
    if there.merged_into is not None:
        raise Refusal(f"“{there.name}” was merged into another class; choose another name.", 409)
    if there.retired:
        raise Refusal(f"“{there.name}” is retired; bring it back, or choose another name.", 409)


def _class(connection: Connection, class_id: int) -> Row[Any]:
    found = connection.execute(select(class_).where(class_.c.id == class_id)).one_or_none()
    if found is None or found.merged_into is not None:
        raise Refusal("This class no longer exists; reload the page.", 404)
    return found


def change_class(
    connection: Connection, class_id: int, *, name: str, description: str, by: int | None = None
) -> None:
    """Rename a class and change its description; its answers are kept."""
    before = _class(connection, class_id)
    new = _class_name(name)
    checked = check_text(description, f"The description of “{new}”", 2000)
    taken = connection.execute(select(class_).where(class_.c.name == new, class_.c.id != class_id)).first()
    if taken is not None:
        _check_free(taken)
        raise Refusal(f"There is already a class “{new}”; merge the two, or choose another name.", 409)
    connection.execute(update(class_).where(class_.c.id == class_id).values(name=new, description=checked))
    if new != before.name:
        note(connection, by, f"Renamed the class {before.name} to {new}.")
    if checked != before.description:
        note(connection, by, f"Changed the description of {new}.")
    touch(connection)


def set_picture(connection: Connection, class_id: int, place: str, by: int | None = None) -> None:
    """Set the picture on the button of a class."""
    found = _class(connection, class_id)
    connection.execute(update(class_).where(class_.c.id == class_id).values(picture=place))
    note(connection, by, f"Changed the picture of {found.name}.")
    touch(connection)


def _in_order(connection: Connection, *, retired: bool) -> list[int]:
    """Return the classes that are offered, or those that no longer are, in their order."""
    gone = class_.c.retired | class_.c.merged_into.is_not(None)
    wanted = select(class_.c.id).where(gone if retired else ~gone).order_by(class_.c.position)
    return list(connection.execute(wanted).scalars())


def move_class(connection: Connection, class_id: int, steps: int, by: int | None = None) -> None:
    """Move a class up (negative) or down the list."""
    _class(connection, class_id)
    order = _in_order(connection, retired=False)
    if class_id not in order:
        raise Refusal("A retired class has no place in the order; bring it back first.", 409)
    at = order.index(class_id)
    order.insert(min(len(order) - 1, max(0, at + steps)), order.pop(at))
    if order.index(class_id) == at:
        return
    for position, one in enumerate([*order, *_in_order(connection, retired=True)], start=1):
        connection.execute(update(class_).where(class_.c.id == one).values(position=position))
    note(connection, by, "Changed the order of the classes.")
    touch(connection)


def merge_classes(connection: Connection, class_id: int, into: int, by: int | None = None) -> None:
    """Let every answer that names a class count for another; everyone who knew it knows the other.

    Nothing is rewritten, so :func:`undo_merge` brings everything back.
    """
    source, target = check_merge(connection, class_id, into)
    connection.execute(update(class_).where(class_.c.id == class_id).values(merged_into=into))
    for one in _knowers(connection, into):  # including those who saw the first and know the other now
        refresh_options(connection, one)
    note(connection, by, f"Merged the class {source.name} into {target.name}.")
    touch(connection)


def check_merge(connection: Connection, class_id: int, into: int) -> tuple[Row[Any], Row[Any]]:
    """Return the class to merge and the one that it becomes, or reject the merge."""
    source, target = _class(connection, class_id), _class(connection, into)
    if class_id == into:
        raise Refusal("A class cannot be merged into itself; choose another one.", 422)
    if target.retired:
        raise Refusal(f"“{target.name}” is retired; bring it back first.", 409)
    return source, target


def undo_merge(connection: Connection, class_id: int, by: int | None = None) -> int:
    """Make a merged class one of its own again; return how many answers must be given again."""
    found = connection.execute(select(class_).where(class_.c.id == class_id)).one_or_none()
    if found is None or found.merged_into is None:
        raise Refusal("This class is not merged into another one; reload the page.", 409)
    people = _knowers(connection, found.merged_into)
    target = connection.execute(select(class_).where(class_.c.id == found.merged_into)).one()
    connection.execute(update(class_).where(class_.c.id == class_id).values(merged_into=None))
    for one in (found, target):
        if one.retired:
            voted = bool(_votes(connection, one.id))
            connection.execute(update(class_).where(class_.c.id == one.id).values(voted=voted))
    again = sum(refresh_options(connection, one) for one in people)
    note(connection, by, f"Undid the merge of the class {found.name} into {target.name}.")
    touch(connection)
    return again


def retire_class(connection: Connection, class_id: int, by: int | None = None) -> str:
    """Stop offering a class, and return what was done; a class that nothing ever named is removed."""
    found = _class(connection, class_id)
    if found.retired:
        raise Refusal(f"“{found.name}” is already retired.", 409)
    people = _knowers(connection, class_id)
    if not people and not _is_named(connection, class_id):
        connection.execute(delete(class_).where(class_.c.id == class_id))
        note(connection, by, f"Removed the class {found.name}, which nothing named.")
        touch(connection)
        return f"{found.name} is removed: nothing named it."
    voted = bool(_votes(connection, class_id))
    connection.execute(update(class_).where(class_.c.id == class_id).values(retired=True, voted=voted))
    for one in people:
        refresh_options(connection, one)
    note(connection, by, f"Retired the class {found.name}.")
    touch(connection)
    return f"{found.name} is retired: it is no longer offered. Earlier answers count."


def bring_back_class(connection: Connection, class_id: int, by: int | None = None) -> int:
    """Offer a retired class again; return how many answers must be given again with it in view."""
    found = _class(connection, class_id)
    if not found.retired:
        raise Refusal(f"“{found.name}” is not retired.", 409)
    connection.execute(update(class_).where(class_.c.id == class_id).values(retired=False, voted=False))
    again = sum(refresh_options(connection, one) for one in _knowers(connection, class_id))
    note(connection, by, f"Brought back the class {found.name}.")
    touch(connection)
    return again


def _knowers(connection: Connection, class_id: int) -> list[int]:
    """Return who knows a class, or one that was merged into it."""
    merged = merges(connection)
    ends = [one for one in merged if end_of(one, merged) == end_of(class_id, merged)]
    wanted = select(knows.c.person_id).where(knows.c.class_id.in_(ends)).distinct()
    return sorted(connection.execute(wanted).scalars())


def _votes(connection: Connection, class_id: int) -> int:
    """Return how many answers count for a class: those that name it, or a class that was merged into it."""
    merged = merges(connection)
    ends = [one for one in merged if end_of(one, merged) == class_id]
    wanted = select(func.count()).select_from(answer).where(answer.c.class_id.in_(ends))
    return int(connection.execute(wanted).scalar_one())


def _is_named(connection: Connection, class_id: int) -> bool:
    """Whether an answer, a list of options, a gold item, a decision or another class names a class."""
    places = (
        answer.c.class_id,
        item.c.gold,
        adjudication.c.class_id,
        example.c.class_id,
        class_.c.merged_into,
    )
    for column in places:
        wanted = select(column).where(column == class_id).limit(1)
        if connection.execute(wanted).first() is not None:
            return True
    return any(
        class_id in json.loads(listed) for listed in connection.execute(select(options.c.classes)).scalars()
    )
