"""Panels from nothing, from what there is, and from what is too much."""

from __future__ import annotations

from covote.covers.completing import complete
from covote.covers.designing import design
from covote.covers.selecting import select
from covote.covers.spending import Spending, spending

__all__ = ["Spending", "complete", "design", "select", "spending"]
