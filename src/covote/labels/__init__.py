"""Labels: the class of every item, and the evidence for it."""

from covote.labels.labels import (
    AGREED,
    CONFLICT,
    GIVEN,
    INCOMPLETE,
    MEANINGS,
    NO_LABEL,
    NO_TIES,
    STATUSES,
    TIED,
    Evidence,
    GoldScore,
    Labels,
    Ties,
    joined,
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
    "joined",
]
