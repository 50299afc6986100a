"""Panels from nothing, from what there is, and from what is too much."""

from __future__ import annotations

from .completing import complete
from .designing import design
from .selecting import select

__all__ = ["complete", "design", "select"]
