"""Small cases that recursions settle: no search, and no compiler that takes longer to load than they do."""

from __future__ import annotations

from covote.covers.blocks import Cover, without_room
from covote.covers.constructions.recursions import INTERPRETED, build, table

MORE = 3
"""How many classes more the table has: a plane just beyond the case, with classes left out."""


def small_cover(classes: int, size: int, lower: int) -> Cover | None:
    """Return a cover that meets its lower bound, if the case is small and simple rules lead to one.

    >>> small_cover(10, 4, lower=9).blocks.shape
    (9, 4)
    """
    if size * (classes + MORE) > INTERPRETED:
        return None
    known = table(size, classes + MORE)
    if known.size[size, classes] > lower:
        return None
    cover = build(classes, size, known)
    return Cover(without_room(cover.blocks, classes), cover.construction)
