"""Every bound, paper and beyond, one function each."""

from __future__ import annotations

from .covers import best_lower_bound, counting_bound, hanani_bound, horsley_bound, schonheim_bound

__all__ = [
    "best_lower_bound",
    "counting_bound",
    "hanani_bound",
    "horsley_bound",
    "schonheim_bound",
]
