"""Asking one expert at a time: how many answers identify the class, if experts are right where they know.

theory: section 6. A class is *alive* while no asked expert that knows it has named another.
"""

from __future__ import annotations

import math

from covote.arguments import check_count, check_size


def adaptive_answers(classes: int, size: int) -> int:
    """Answers that are needed, and suffice, if any expert of this size can be asked next: ceil((K-1)/(R-1)).

    Enough: ask about the last answer and R-1 fresh classes. Needed: as long as every answer is a class still
    alive, an answer rules out at most R-1 classes, and K-1 must go.

    >>> adaptive_answers(10, 4), adaptive_answers(10, 2)
    (3, 9)
    """
    K, R = check_size(classes, size)
    return -(-(K - 1) // (R - 1))


def elimination_bound(classes: int, experts: int) -> int:
    """Answers that suffice on any covering panel: at most sqrt(m) (ln(K/sqrt m) + 3/2) + 2, and K - 1.

    Always ask the expert that knows most classes still alive. Of n alive classes it knows s with
    s(s-1) >= n(n-1)/m, and its answer rules out s-1, at least one.

    >>> elimination_bound(100, 91), elimination_bound(10, 9)
    (38, 9)
    """
    K = check_count(classes, "the number of classes", 1)
    m = check_count(experts, "the number of experts", 1)
    root = math.sqrt(m)
    if root >= K:
        return K - 1
    return min(K - 1, math.floor(root * (math.log(K / root) + 1.5) + 2))
