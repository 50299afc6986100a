"""The tables of a project. One database holds one project.

Answers are only ever added: a change of mind is a new row, and the last row of a person about an item is what
that person says now. Times are seconds since 1970 (UTC).
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)
_Big = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only with INTEGER

project = Table(
    "project",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("uid", String(32), nullable=False),
    Column("name", Text, nullable=False),
    Column("instructions", Text, nullable=False, default=""),
    Column("ask", String(16), nullable=False, default="everybody"),
    Column("lease_seconds", Integer, nullable=False, default=900),
    Column("panel_version", Integer, nullable=False, default=1),
    Column("size", Integer, nullable=False, default=0),
    Column("created", Double, nullable=False),
)
"""One row. `size` is the number of items; `panel_version` grows with every change of who knows what."""

class_ = Table(
    "class",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("name", Text, nullable=False, unique=True),
    Column("description", Text, nullable=False, default=""),
    Column("picture", String(64), nullable=True),
)

person = Table(
    "person",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", String(8), nullable=False),
    Column("cost", Double, nullable=False, default=1.0),
    Column("active", Boolean, nullable=False, default=True),
    Column("chosen", Boolean, nullable=False, default=True),
    Column("may_tick", Boolean, nullable=False, default=False),
    Column("password", Text, nullable=True),
    Column("model", Text, nullable=True),
    Column("cursor", Integer, nullable=False, default=0),
    Column("answers", Integer, nullable=False, default=0),
    Column("options_id", ForeignKey("options.id"), nullable=True),
    Column("note", Text, nullable=False, default=""),
    Column("created", Double, nullable=False),
)
"""Roles are owner, expert and model. `chosen` says who is asked where a cover is asked; `cursor` is the
position up to which this person has been given items; `answers` counts the items answered, `options_id`
is the list of the classes that this person knows now."""

knows = Table(
    "knows",
    metadata,
    Column("person_id", ForeignKey("person.id"), primary_key=True),
    Column("class_id", ForeignKey("class.id"), primary_key=True),
)

link = Table(
    "link",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("purpose", String(8), nullable=False),
    Column("person_id", ForeignKey("person.id"), nullable=True),
    Column("created", Double, nullable=False),
    Column("expires", Double, nullable=False),
    Column("revoked", Boolean, nullable=False, default=False),
)
"""Everything that opens a door: purposes are enter (an invitation), session, api and share."""

file = Table(
    "file",
    metadata,
    Column("sha256", String(64), primary_key=True),
    Column("name", Text, nullable=False),
    Column("mime", String(64), nullable=False),
    Column("size", Integer, nullable=False),
)

item = Table(
    "item",
    metadata,
    Column("id", _Big, primary_key=True),
    Column("position", Integer, nullable=False, unique=True),
    Column("key", Text, nullable=False, unique=True),
    Column("kind", String(8), nullable=False),
    Column("content", Text, nullable=False),
    Column("gold", ForeignKey("class.id"), nullable=True),
    Column("state", Integer, nullable=False, default=0),
    Column("held_until", Double, nullable=False, default=0.0),
)
"""`content` is the text itself, or the address of a picture or a sound: https://... or /media/SHA256. `state`
and `held_until` serve adaptive asking: nobody else is asked while somebody has the item in hand."""
FRESH, BEGUN, DONE = range(3)
"""States of an item: nobody was asked yet; somebody was; nobody needs to be asked any more."""
Index("ix_item_state", item.c.state, item.c.position)

Index(
    "ix_item_gold",
    item.c.gold,
    sqlite_where=item.c.gold.is_not(None),
    postgresql_where=item.c.gold.is_not(None),
)

options = Table(
    "options",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("classes", Text, nullable=False),
)
"""Lists of classes that were shown together with an item, as JSON lists of class ids."""

assignment = Table(
    "assignment",
    metadata,
    Column("id", _Big, primary_key=True),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("person_id", ForeignKey("person.id"), nullable=False),
    Column("state", Integer, nullable=False),
    Column("token", String(32), nullable=True),
    Column("expires", Double, nullable=False, default=0.0),
    UniqueConstraint("item_id", "person_id"),
)
"""Who was given which item; see the states below."""
Index("ix_assignment_person_state", assignment.c.person_id, assignment.c.state, assignment.c.id)

WAITING, LEASED, ANSWERED, WITHDRAWN = range(4)
"""Waiting for this person; in this person's hands; answered; given to somebody else after it expired."""

answer = Table(
    "answer",
    metadata,
    Column("id", _Big, primary_key=True),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("person_id", ForeignKey("person.id"), nullable=False),
    Column("class_id", Integer, nullable=False),
    Column("options_id", ForeignKey("options.id"), nullable=False),
    Column("key", String(64), nullable=False, unique=True),
    Column("via", String(8), nullable=False),
    Column("at", Double, nullable=False),
)
Index("ix_answer_item", answer.c.item_id)
Index("ix_answer_person", answer.c.person_id, answer.c.id)
Index("ix_answer_at", answer.c.at)

NONE, UNSURE = -2, -3
"""Values of `answer.class_id` that are no class: "none of mine" (as in Votes) and "not sure" (no vote)."""

adjudication = Table(
    "adjudication",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("class_id", ForeignKey("class.id"), nullable=True),
    Column("person_id", ForeignKey("person.id"), nullable=False),
    Column("reason", Text, nullable=False),
    Column("at", Double, nullable=False),
)
"""What the owner decided about an item; the last row counts, and no class takes a decision back."""
Index("ix_adjudication_item", adjudication.c.item_id)
