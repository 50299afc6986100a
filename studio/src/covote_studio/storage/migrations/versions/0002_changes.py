"""Classes and items can change while people work; what an answer names is protected; flags, record, hooks."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _flag(name: str, value: bool = False) -> sa.Column[bool]:
    return sa.Column(name, sa.Boolean(), nullable=False, server_default=sa.true() if value else sa.false())


def upgrade() -> None:
    """Change the tables; classes that answers name but that were removed come back as retired ones."""
    with op.batch_alter_table(
        "class", recreate="always" if _is_sqlite() else "auto", table_kwargs={"sqlite_autoincrement": True}
    ) as batch:
        batch.alter_column("picture", type_=sa.Text(), existing_nullable=True)
        batch.add_column(_flag("retired"))
        batch.add_column(sa.Column("merged_into", sa.Integer(), nullable=True))
        batch.create_foreign_key(op.f("fk_class_merged_into"), "class", ["merged_into"], ["id"])
    _bring_back_removed()
    with op.batch_alter_table("project") as batch:
        batch.add_column(sa.Column("trial", sa.Integer(), nullable=False, server_default="0"))
        batch.add_column(_flag("trial_first", True))
        batch.add_column(_flag("feedback"))
    with op.batch_alter_table("item") as batch:
        batch.add_column(_flag("retired"))
        batch.add_column(_flag("announced"))
    with op.batch_alter_table("answer") as batch:
        batch.alter_column("class_id", existing_type=sa.Integer(), nullable=True)
        batch.add_column(sa.Column("other", sa.Integer(), nullable=True))
    op.execute("UPDATE answer SET other = class_id, class_id = NULL WHERE class_id < 0")
    with op.batch_alter_table("answer") as batch:
        batch.create_foreign_key(op.f("fk_answer_class_id"), "class", ["class_id"], ["id"])
        batch.create_check_constraint(
            op.f("ck_answer_says_one_thing"), "(class_id IS NULL) <> (other IS NULL)"
        )
    _new_tables()


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"


def _bring_back_removed() -> None:
    """Add a retired class for every id that an answer or a list of options names and that is not there."""
    link = op.get_bind()
    there = set(link.execute(sa.text("SELECT id FROM class")).scalars())
    named = set(link.execute(sa.text("SELECT DISTINCT class_id FROM answer WHERE class_id > 0")).scalars())
    for listed in link.execute(sa.text("SELECT classes FROM options")).scalars():
        named.update(json.loads(listed))
    position = link.execute(sa.text("SELECT coalesce(max(position), 0) FROM class")).scalar_one()
    for number, one in enumerate(sorted(named - there), start=1):
        link.execute(
            sa.text(
                "INSERT INTO class (id, position, name, description, retired) "
                "VALUES (:id, :position, :name, '', :retired)"
            ),
            {"id": one, "position": position + number, "name": f"removed class {one}", "retired": True},
        )


def _new_tables() -> None:
    op.create_table(
        "example",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("class_id", sa.Integer(), nullable=False),
        sa.Column("near_miss", sa.Boolean(), nullable=False),
        sa.Column("picture", sa.Text(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["class_id"], ["class.id"], name=op.f("fk_example_class_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_example")),
    )
    op.create_table(
        "flag",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("item_id", _BIG, nullable=False),
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("comment", sa.Text(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("closed", sa.Double(), nullable=True),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_flag_item_id")),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_flag_person_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_flag")),
    )
    op.create_index("ix_flag_item", "flag", ["item_id"], unique=False)
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("by", sa.Integer(), nullable=True),
        sa.Column("item_id", _BIG, nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["by"], ["person.id"], name=op.f("fk_event_by")),
        sa.ForeignKeyConstraint(["item_id"], ["item.id"], name=op.f("fk_event_item_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
    )
    op.create_index("ix_event_item", "event", ["item_id"], unique=False)
    op.create_table(
        "hook",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hook")),
    )
    op.create_table(
        "delivery",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("due", sa.Double(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
    )


def downgrade() -> None:
    """Older versions of the program cannot read what this one writes."""
    raise NotImplementedError("a project cannot go back to an older version; use a backup from before")
