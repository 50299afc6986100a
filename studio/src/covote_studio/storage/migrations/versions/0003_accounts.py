"""Accounts: who someone is in each of several projects."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "membership",
        sa.Column("person_id", sa.Integer(), nullable=False),
        sa.Column("project", sa.String(32), nullable=False),
        sa.Column("member_id", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["person_id"], ["person.id"], name=op.f("fk_membership_person_id")),
        sa.PrimaryKeyConstraint("person_id", "project", name=op.f("pk_membership")),
        sa.UniqueConstraint("project", "member_id", name=op.f("uq_membership_project")),
    )


def downgrade() -> None:
    """Older versions of the program cannot read what this one writes."""
    raise NotImplementedError("a project cannot go back to an older version; use a backup from before")
