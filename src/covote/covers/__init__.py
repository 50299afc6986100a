"""Design panels, complete them, and select from a pool."""

from __future__ import annotations

from covote.covers.completing import complete
from covote.covers.designing import design
from covote.covers.selecting import select

__all__ = ["complete", "design", "select"]
