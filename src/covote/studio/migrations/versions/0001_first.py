"""The first tables."""

from __future__ import annotations

from alembic import op

from covote.studio.schema import metadata

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make every table."""
    metadata.create_all(op.get_bind())


def downgrade() -> None:
    """Drop every table."""
    metadata.drop_all(op.get_bind())
