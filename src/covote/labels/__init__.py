"""Labels: the class of every item, and the evidence for it."""

from covote.labels.labels import (
    NO_LABEL,
    NO_TIES,
    Evidence,
    GoldScore,
    Labels,
    Ties,
    joined,
)
from covote.labels.statuses import (
    AGREED,
    CONFLICT,
    GIVEN,
    INCOMPLETE,
    MEANINGS,
    STATUSES,
    TIED,
    find_statuses,
)

__all__ = [
    "AGREED",
    "CONFLICT",
    "GIVEN",
    "INCOMPLETE",
    "MEANINGS",
    "NO_LABEL",
    "NO_TIES",
    "STATUSES",
    "TIED",
    "Evidence",
    "GoldScore",
    "Labels",
    "Ties",
    "find_statuses",
    "joined",
]
