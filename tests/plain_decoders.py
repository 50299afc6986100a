"""Plain twins of the decoders: slow, obvious, in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from covote.panel import Panel

NOT_ASKED, NONE = -1, -2


def heard(panel: Panel, row: Any) -> dict[int, tuple[int, int]]:
    """Return {class: (votes for it, authorities that answered)} for the classes that were heard."""
    counts = {}
    for k in range(len(panel.classes)):
        answers = [int(v) for i, v in enumerate(row) if panel.knows[i, k] and v != NOT_ASKED]
        if answers:
            counts[k] = (sum(v == k for v in answers), len(answers))
    return counts


def authority(panel: Panel, row: Any) -> set[int]:
    """Return the classes that share the best score N_k / d_k."""
    score = {k: Fraction(n, d) for k, (n, d) in heard(panel, row).items()}
    return {k for k, s in score.items() if s == max(score.values())}


def violations(panel: Panel, row: Any) -> int:
    """Return the least number of wrong answers that explains the votes."""
    counts = heard(panel, row)
    known = [k for k in range(len(panel.classes)) if panel.knows[:, k].any()]
    return min((d - n for n, d in (counts.get(k, (0, 0)) for k in known)), default=0)


def status(panel: Panel, row: Any, label: int | None, tied: bool) -> str:
    """Return what the votes prove about an item."""
    counts = heard(panel, row)
    known = [k for k in range(len(panel.classes)) if panel.knows[:, k].any()]
    possible = [k for k, (n, d) in counts.items() if n == d]
    if tied or len(possible) > 1:
        return "tied"
    if len(counts) < len(known):
        return "unheard"
    return "sure" if possible == [label] else "conflict"
