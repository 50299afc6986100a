"""Teach the experts there are the fewest further classes, instead of hiring new ones.

Ours. Greedy: the next lesson is the one (expert, class) that covers the most missing pairs; then every lesson
that the others make needless is dropped. Several orders of equally good lessons are tried.

Two bounds say how few lessons there can be. A missing pair needs a lesson about one of its two classes, so
disjoint missing pairs need one each (a matching). And an expert of s classes that gets a lessons covers at
most a s + a (a - 1) / 2 new pairs: most if one of the largest experts gets them all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.errors import CoverError
from covote.panel import Certificate, Panel

Knows = NDArray[np.bool_]
Need = NDArray[np.int64]

TRIES = 20
"""Orders of equally good lessons that are tried; one beyond `LARGE` cells of experts x classes."""

LARGE = 20_000


def teach(panel: Panel, size: int, times: int = 1, seed: int = 0) -> Panel:
    """Return the panel with the fewest further classes per expert that make every pair known `times` times.

    Nobody knows more than `size` classes afterwards, unless it knew them before. The certificate counts the
    lessons (expert and class).
    """
    need = np.maximum(0, times - panel.pair_counts()).astype(np.int64)
    np.fill_diagonal(need, 0)
    room = np.maximum(size - panel.sizes, 0)
    rng, best = np.random.default_rng(seed), None
    for _ in range(TRIES if panel.knows.size <= LARGE else 1):
        knows = _without_needless(panel, _greedy(panel.knows.copy(), need.copy(), room.copy(), rng), times)
        if knows is not None and (best is None or knows.sum() < best.sum()):
            best = knows
    if best is None:
        raise CoverError(
            f"experts that know at most {size} classes each cannot be taught to cover every pair"
            f"{'' if times == 1 else f' {times} times'}, or no way was found; allow more classes, or hire "
            "with complete() without teaching"
        )
    lessons = int(best.sum() - panel.knows.sum())
    lower, bound = fewest_lessons(need, panel.sizes)
    proof = Certificate(
        lessons, lower, bound, "greedy lessons" if lessons else "nothing: no pair was missing", times
    )
    return Panel(panel.classes, best, panel.names, panel.cost, models=panel.models, certificate=proof)


def fewest_lessons(need: Need, sizes: NDArray[np.integer]) -> tuple[int, str]:
    """Return how many lessons there must be at least, and which bound says so.

    >>> fewest_lessons(np.array([[0, 1, 1], [1, 0, 0], [1, 0, 0]]), np.array([2, 1]))
    (1, 'counting')
    """
    missing = int(np.triu(need, 1).sum())
    if not missing:
        return 0, "counting"
    largest, counted = int(sizes.max(initial=0)), 0
    while counted * largest + counted * (counted - 1) // 2 < missing:
        counted += 1
    free, matched = np.ones(len(need), dtype=bool), 0
    for k, j in np.argwhere(np.triu(need, 1)).tolist():
        if free[k] and free[j]:
            free[[k, j]] = False
            matched += int(need[k, j])
    return (matched, "matching") if matched > counted else (counted, "counting")


def _greedy(knows: Knows, need: Need, room: NDArray[np.int64], rng: np.random.Generator) -> Knows | None:
    """Give the lesson that covers the most missing pairs, again and again; None where nobody has room."""
    gain = knows.astype(np.int64) @ (need > 0)
    while need.any():
        allowed = ~knows & (room > 0)[:, None]
        value = np.where(allowed, gain, -1)
        if value.max() <= 0:
            # Nobody who has room knows a partner: begin with a class that misses some, at a large expert.
            value = np.where(allowed & np.any(need, axis=1), knows.sum(axis=1, keepdims=True), -1)
            if value.max() < 0:
                return None
        top = np.flatnonzero(value.ravel() == value.max())
        i, k = divmod(int(top[rng.integers(len(top))]), knows.shape[1])
        partners = np.flatnonzero(knows[i] & (need[k] > 0))
        need[k, partners] -= 1
        need[partners, k] -= 1
        done = partners[need[k, partners] == 0]
        gain[:, k] -= knows[:, done].sum(axis=1)
        gain[:, done] -= knows[:, [k]]
        knows[i, k] = True
        room[i] -= 1
        gain[i] += need[k] > 0
    return knows


def _without_needless(panel: Panel, knows: Knows | None, times: int) -> Knows | None:
    """Drop lessons that are not needed, the least useful first."""
    if knows is None:
        return None
    counts = knows.T.astype(np.int64) @ knows
    lessons = np.argwhere(knows & ~panel.knows)
    for i, k in lessons[np.argsort(knows.sum(axis=1)[lessons[:, 0]], kind="stable")].tolist():
        others = np.flatnonzero(knows[i])
        others = others[others != k]
        if (counts[k, others] > times).all():
            knows[i, k] = False
            counts[k, others] -= 1
            counts[others, k] -= 1
    return knows
