"""The tables of a project. One database holds one project.

Answers are only ever added: a change of mind is a new row, and a person's last row about an item is their
current answer. Times are seconds since 1970 (UTC).
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
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
    func,
)

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)
_Big = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows by itself only with INTEGER

version = Table("version", metadata, Column("number", Integer, primary_key=True))
"""The version of these tables."""
VERSION = 1

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
    Column("trial", Integer, nullable=False, default=0),
    Column("trial_first", Boolean, nullable=False, default=True),
    Column("feedback", Boolean, nullable=False, default=False),
)
"""One row. `size` is the number of items that are not retired; `panel_version` grows with every change of who
knows what. `trial` is the number of gold items of each class that everyone answers in the qualification
round, before (`trial_first`) or among the other items; `feedback` says whether people are shown the class."""

class_ = Table(
    "class",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("position", Integer, nullable=False),
    Column("name", Text, nullable=False, unique=True),
    Column("description", Text, nullable=False, default=""),
    Column("picture", Text, nullable=True),
    Column("retired", Boolean, nullable=False, default=False),
    Column("voted", Boolean, nullable=False, default=False),
    Column("merged_into", ForeignKey("class.id"), nullable=True),
    sqlite_autoincrement=True,
)
"""A retired class is no longer offered, but votes for it count: `voted` says whether there are any. The
answers of a class that was merged count for the other, until the merge is undone. No id is ever reused, so an
answer always names the same class."""

example = Table(
    "example",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("class_id", ForeignKey("class.id"), nullable=False),
    Column("near_miss", Boolean, nullable=False, default=False),
    Column("picture", Text, nullable=True),
    Column("text", Text, nullable=False, default=""),
)
"""The guide to a class: examples, and near misses that are something else."""

person = Table(
    "person",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("role", String(8), nullable=False),
    Column("cost", Double, nullable=False, default=1.0),
    Column("active", Boolean, nullable=False, default=True),
    Column("may_tick", Boolean, nullable=False, default=False),
    Column("password", Text, nullable=True),
    Column("model", Text, nullable=True),
    Column("cursor", Integer, nullable=False, default=0),
    Column("answers", Integer, nullable=False, default=0),
    Column("options_id", ForeignKey("options.id"), nullable=True),
    Column("note", Text, nullable=False, default=""),
    Column("created", Double, nullable=False),
    Column("entered", Double, nullable=True),
    Column("email", Text, nullable=True),
)
"""Roles are owner, reviewer, expert and model. `active` is false while a person is away. `cursor` is the
position up to which this person has been given items; `answers` counts the items answered, `options_id` is
the list of the classes that this person knows now, `entered` is when an invitation was first used.

In the database of accounts a person is an account: an owner administers the server, a creator may create
projects, an expert may do neither."""

knows = Table(
    "knows",
    metadata,
    Column("person_id", ForeignKey("person.id"), primary_key=True),
    Column("class_id", ForeignKey("class.id"), primary_key=True),
)
"""Who knows what. Someone who knows a class that was merged knows the other."""

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
"""Every secret: purposes are enter (an invitation), once (the owner's, which works one time), session, device
(a browser in which the password was typed before), api and share."""

membership = Table(
    "membership",
    metadata,
    Column("person_id", ForeignKey("person.id"), primary_key=True),
    Column("project", String(32), primary_key=True),
    Column("member_id", Integer, nullable=False),
    UniqueConstraint("project", "member_id"),
)
"""Only where a server has several projects, in the database of accounts, where a person is an account: who
that is in a project, which is named by its `uid`."""

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
    Column("version", Integer, nullable=False, default=0),
    Column("retired", Boolean, nullable=False, default=False),
    Column("announced", Boolean, nullable=False, default=False),
)
"""`content` is the text itself, or the address of a picture or a sound: https://... or /media/SHA256. `state`
and `held_until` serve adaptive asking: no one else is asked while someone has the item in hand; `version` is
the version of the panel for which the state was found, with a newer one it is found again. A retired
item is not asked and has no label; what was said about it is kept. `announced` says that programs were told
that the item is settled."""
FRESH, BEGUN, DONE = range(3)
"""States of an item: no one was asked yet; someone was; no one needs to be asked any more."""
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

offered = Table(
    "offered",
    metadata,
    Column("person_id", ForeignKey("person.id"), primary_key=True),
    Column("options_id", ForeignKey("options.id"), primary_key=True),
)
"""Every list that a person was ever offered: an open page may answer with one of them."""

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
"""Waiting for this person; in this person's hands; answered; given to someone else after it expired."""

answer = Table(
    "answer",
    metadata,
    Column("id", _Big, primary_key=True),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("person_id", ForeignKey("person.id"), nullable=False),
    Column("class_id", ForeignKey("class.id"), nullable=True),
    Column("other", Integer, nullable=True),
    Column("options_id", ForeignKey("options.id"), nullable=False),
    Column("key", String(64), nullable=False, unique=True),
    Column("via", String(8), nullable=False),
    Column("at", Double, nullable=False),
    CheckConstraint("(class_id IS NULL) <> (other IS NULL)", name="says_one_thing"),
)
"""An answer names a class, or is one of the `other` answers below."""
Index("ix_answer_item", answer.c.item_id)
Index("ix_answer_person", answer.c.person_id, answer.c.id)
Index("ix_answer_at", answer.c.at)

NONE, UNSURE = -2, -3
"""Values of `answer.other`: "none of mine" (as in Votes) and "not sure" (no vote)."""
CHOICE = func.coalesce(answer.c.class_id, answer.c.other).label("choice")
"""What an answer says as one number: the id of a class, NONE or UNSURE."""


def answer_columns(choice: int) -> dict[str, int | None]:
    """Return the columns of an answer that say what was chosen."""
    named = choice not in (NONE, UNSURE)
    return {"class_id": choice if named else None, "other": None if named else choice}


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

flag = Table(
    "flag",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("item_id", ForeignKey("item.id"), nullable=False),
    Column("person_id", ForeignKey("person.id"), nullable=False),
    Column("comment", Text, nullable=False),
    Column("at", Double, nullable=False),
    Column("closed", Double, nullable=True),
)
"""What someone finds wrong with an item; an owner closes it."""
Index("ix_flag_item", flag.c.item_id)

event = Table(
    "event",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at", Double, nullable=False),
    Column("by", ForeignKey("person.id"), nullable=True),
    Column("item_id", ForeignKey("item.id"), nullable=True),
    Column("text", Text, nullable=False),
)
"""The record: every change of classes, items, gold, people and settings, as a sentence."""
Index("ix_event_item", event.c.item_id)

hook = Table(
    "hook",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("url", Text, nullable=False),
    Column("secret", Text, nullable=False),
)
delivery = Table(
    "delivery",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("body", Text, nullable=False),
    Column("tries", Integer, nullable=False, default=0),
    Column("due", Double, nullable=False),
    Column("outcome", Text, nullable=False, default=""),
    Column("tried", Double, nullable=True),
    Column("done", Boolean, nullable=False, default=False),
)
"""Where a program wants to hear that items are settled, and what is sent there until it is taken."""
