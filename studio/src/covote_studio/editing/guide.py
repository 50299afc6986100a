"""The guide to a class: examples of it, and near misses that are something else."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from covote_studio.editing.record import note
from covote_studio.rules import Refusal, check_text
from covote_studio.storage.schema import class_, example

MOST_EXAMPLES = 20
"""Most examples and near misses of one class."""


def examples_of(connection: Connection) -> dict[int, list[Row[Any]]]:
    """Return the examples of every class that has some, by its id; near misses come last."""
    found: dict[int, list[Row[Any]]] = {}
    for row in connection.execute(select(example).order_by(example.c.near_miss, example.c.id)):
        found.setdefault(row.class_id, []).append(row)
    return found


def add_example(
    connection: Connection, class_id: int, text: str, picture: str | None, near_miss: bool, by: int | None
) -> None:
    """Add an example, or a near miss: a picture, a text, or a picture with words."""
    words = check_text(text, "The example", 2000)
    name = connection.execute(select(class_.c.name).where(class_.c.id == class_id)).scalar_one_or_none()
    if name is None:
        raise Refusal("This class no longer exists; reload the page.", 404)
    if not words and picture is None:
        raise Refusal("An example is a picture, a text, or both; give one.", 422)
    there = connection.execute(select(example.c.id).where(example.c.class_id == class_id)).all()
    if len(there) >= MOST_EXAMPLES:
        raise Refusal(f"“{name}” already has {MOST_EXAMPLES} examples; remove one first.", 409)
    row = {"class_id": class_id, "near_miss": near_miss, "picture": picture, "text": words}
    connection.execute(insert(example).values(row))
    note(connection, by, f"Added {'a near miss' if near_miss else 'an example'} to the guide of {name}.")


def remove_example(connection: Connection, example_id: int, by: int | None) -> None:
    """Remove an example or a near miss."""
    if not connection.execute(delete(example).where(example.c.id == example_id)).rowcount:
        raise Refusal("That example no longer exists; reload the page.", 404)
    note(connection, by, "Removed an example from the guide.")
