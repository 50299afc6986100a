"""Add the fewest experts to a panel so that every pair is covered."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count, check_size
from covote.bounds import best_lower_bound
from covote.covers.blocks import prune, widened, without_room
from covote.covers.capacities import check_times, checked_capacities, fewest_blocks, fill_all
from covote.covers.random_kernels import random_state
from covote.covers.search.block_annealing import fewer_blocks
from covote.covers.search.efforts import effort_named
from covote.covers.search.greedy import greedy
from covote.errors import CoverError, InputError
from covote.panel import Certificate, Name, Panel, zeros
from covote.progress import Progress, Work

Blocks = NDArray[np.int32]
Sizes = NDArray[np.int32]
Need = NDArray[np.int16]
Lacks = NDArray[np.int64]
Knows = NDArray[np.bool_]

DENSE = 0.3
"""Share of missing pairs, among the classes that miss any, above which a designed cover is tried."""

DESIGNED = 1_000
"""The most classes for which a designed cover is tried, unless all pairs are missing."""

TRIES = 20
"""How many orders of equally good lessons to try; above `LARGE` cells (experts x classes) only one."""

LARGE = 20_000


def complete(
    panel: Panel,
    size: int | Sequence[int],
    *,
    redundancy: int = 1,
    teach: bool = False,
    new_cost: float | None = None,
    effort: str = "normal",
    seed: int = 0,
    progress: Progress | None = None,
) -> Panel:
    """Add the fewest experts so that at least `redundancy` of them know every pair of classes.

    Parameters
    ----------
    panel
        The experts to start from; there may be none.
    size
        How many classes each new expert can learn; or the capacities of the available people, of whom as few
        as possible are used, in descending order.
    redundancy
        How many experts must know each pair.
    teach
        Teach the existing experts the fewest further classes instead of adding new ones; no one then knows
        more than `size` classes. The certificate counts the lessons (expert and class).
    new_cost
        What a new expert costs (default: the mean cost of the existing experts, or 1), so that
        :func:`covote.select` can compare them.
    effort
        "fast", "normal" (a few seconds) or "max" (a minute).
    seed
        The same seed gives the same panel.
    progress
        Called with (moves made, moves planned, message) a few times a second.

    Returns
    -------
    The given experts, those who left included, then the new ones, named ``new-1``, ``new-2``, ... The
    certificate counts the new experts; :func:`fillers` lists the classes that only fill a place. Ctrl-C
    during the search returns the best panel so far.

    >>> panel = Panel.from_blocks(7, [[0, 1, 2], [0, 3, 4], [1, 3, 5]])
    >>> larger = complete(panel, 3)
    >>> larger.names[3:], larger.covers(), larger.certificate.optimal
    (('new-1', 'new-2', 'new-3', 'new-4'), True, True)
    """
    redundancy = check_times(redundancy)
    effort_named(effort)
    check_count(seed, "seed", 0)
    if panel.left.any():
        larger = complete(
            panel.present, size, redundancy=redundancy, teach=teach, new_cost=new_cost, effort=effort,
            seed=seed, progress=progress,
        )  # fmt: skip
        return _join_former_experts(panel, larger)
    price = _price(panel, new_cost)
    if teach:
        if new_cost is not None:
            raise InputError(f"new_cost={new_cost} is for new experts, and teaching adds none; leave it out")
        if not isinstance(size, int | np.integer):
            raise InputError(
                f"size={size!r}: to teach, give one number, the most classes that anyone may know"
            )
        check_size(len(panel.classes), int(size))
        return _teach(panel, int(size), redundancy, seed)
    need = np.maximum(0, redundancy - panel.pair_counts()).astype(np.int16)
    np.fill_diagonal(need, 0)
    work = Work(effort_named(effort).filling, progress)
    with work:
        if isinstance(size, int | np.integer):
            first, sizes, how = _blocks_of_a_size(need, size, effort, seed, work)
        else:
            first, sizes, how = _blocks_of_capacities(need, size, effort, seed, work)
        proof = fewest_blocks(need, sizes)
        part = _reporting(work, len(first))
        blocks = fewer_blocks(first, sizes, need, work.total - work.done, random_state(seed), proof[0], part)
    how += "; annealed" if len(blocks) < len(first) else ""
    rows = [block[:n] for block, n in zip(blocks, sizes, strict=False)]
    return _verify(panel, rows, price, Certificate(len(rows), *proof, how, redundancy))


def _join_former_experts(panel: Panel, larger: Panel) -> Panel:
    """Return a panel that was completed without the experts who left, with them in their places."""
    old, knows = len(panel.present), panel.knows.copy()
    knows[~panel.left] = larger.knows[:old]
    given = Panel(panel.classes, knows, panel.names, panel.cost, models=panel.models, left=panel.left)
    new = larger.only(*larger.names[old:])
    return replace(given + new.renamed(islice(_new_names(panel), len(new))), certificate=larger.certificate)


def _price(panel: Panel, new_cost: float | None) -> float:
    if new_cost is None:
        return float(panel.cost.mean()) if len(panel) else 1.0
    if isinstance(new_cost, bool) or not isinstance(new_cost, Real) or not 0 <= new_cost < math.inf:
        raise InputError(f"new_cost={new_cost!r}; give what a new expert costs, 0 or more")
    return float(new_cost)


def fillers(panel: Panel, given: int, redundancy: int = 1) -> list[tuple[Name, ...]]:
    """Return the classes that are not needed for any pair, for each expert after the first `given`.

    They only fill a place: the expert may learn other classes instead, or fewer.

    >>> larger = Panel.from_blocks(["a", "b", "c"], [["a", "b"], ["a", "c"], ["b", "c", "a"]])
    >>> fillers(larger, 2)
    [('a',)]
    """
    counts, knows, found = panel.present.pair_counts(), panel.knows.copy(), []
    for row in knows[given:]:
        known = np.flatnonzero(row).tolist()
        found.append(tuple(panel.classes[k] for k in known if _unlearn(row, k, counts, redundancy)))
    return found


def _unlearn(known: Knows, k: int, counts: NDArray[Any], redundancy: int) -> bool:
    """Take class k from an expert if its pairs are covered without it, in place; return whether they are."""
    others = np.flatnonzero(known)
    others = others[others != k]
    if not (counts[k, others] > redundancy).all():
        return False
    known[k] = False
    counts[k, others] -= 1
    counts[others, k] -= 1
    return True


def _blocks_of_a_size(need: Need, size: int, effort: str, seed: int, work: Work) -> tuple[Blocks, Sizes, str]:
    """Return new experts of equal size: greedy ones or the pruned blocks of a designed cover."""
    from covote.covers.search.portfolio import best_cover

    classes = len(need)
    if classes > 1:
        check_size(classes, size)
    if not need.any():
        return np.empty((0, 0), dtype=np.int32), np.empty(0, dtype=np.int32), "nothing: no pair was missing"
    redundancy = int(need.max())
    covered = redundancy - need.astype(np.int32)
    needy = np.flatnonzero(need.any(axis=1))
    share = np.count_nonzero(need) / (len(needy) * (len(needy) - 1))
    found: list[tuple[Blocks, str]] = []
    if share < 1:
        found.append((greedy(classes, size, redundancy, counts=covered, seed=seed), "greedy new experts"))
    if share >= DENSE and (share == 1 or classes <= DESIGNED):
        within = min(size, len(needy))
        budget = effort_named(effort if share == 1 else "fast")
        lower, _ = best_lower_bound(len(needy), within, redundancy)
        cover = best_cover(len(needy), within, lower, times=redundancy, effort=budget, seed=seed, work=work)
        blocks = widened(needy[cover.blocks].astype(np.int32), size)
        full = without_room(blocks, classes) if within < size else blocks
        how = cover.construction
        if len(needy) < classes:
            how = f"a cover of the {len(needy)} classes that miss pairs ({how})"
        found.append((prune(full, classes, redundancy, covered), how))
    blocks, how = min(found, key=lambda candidate: len(candidate[0]))
    return blocks, np.full(len(blocks), size, dtype=np.int32), how


def _blocks_of_capacities(
    need: Need, capacities: Sequence[int], effort: str, seed: int, work: Work
) -> tuple[Blocks, Sizes, str]:
    """Return new experts of the given capacities, the largest first, or raise an error with the reason."""
    sizes = np.sort(checked_capacities(capacities, len(need)))[::-1].copy()
    moves = effort_named(effort).filling // 2
    part = _reporting(work, len(sizes))
    blocks = fill_all(need, sizes, "complete this panel", moves, random_state(seed), part)
    return blocks, sizes, "new experts of the given capacities"


def _reporting(work: Work, experts: int) -> Work:
    """Return a part of the work whose message is the number of new experts so far."""
    return work.part(f"{experts} new experts so far", work.total, work.total)


def _verify(panel: Panel, rows: list[NDArray[np.int32]], price: float, certificate: Certificate) -> Panel:
    """Return the panel with the new experts; raise an error unless an independent count confirms it."""
    knows = zeros(len(rows), len(panel.classes))
    for known, row in zip(knows, rows, strict=True):
        known[row] = True
    names = list(islice(_new_names(panel), len(rows)))
    larger = panel + Panel(panel.classes, knows, names, [price] * len(rows))
    if not larger.covers(certificate.redundancy):
        raise CoverError("the completed panel misses pairs; please report this defect")
    return larger.with_certificate(certificate)


def _new_names(panel: Panel) -> Iterator[Name]:
    taken = set(panel.names)
    return (name for i in count(1) if (name := f"new-{i}") not in taken)


# Lessons for existing experts


def _teach(panel: Panel, size: int, redundancy: int, seed: int) -> Panel:
    """Teach the experts the fewest further classes so that every pair is known `redundancy` times.

    No one knows more than `size` classes afterwards, except those who did before. The certificate counts the
    lessons (expert and class).

    Ours. Greedy: the next lesson is the (expert, class) that covers the most missing pairs; in the end,
    lessons that the others make redundant are dropped. Several orders of equally good lessons are tried.
    """
    need = np.maximum(0, redundancy - panel.pair_counts()).astype(np.int64)
    np.fill_diagonal(need, 0)
    room = np.maximum(size - panel.sizes, 0)
    rng, best = np.random.default_rng(seed), None
    for _ in range(TRIES if panel.knows.size <= LARGE else 1):
        knows = _drop_needless(panel, _lessons(panel.knows.copy(), need.copy(), room.copy(), rng), redundancy)
        if knows is not None and (best is None or knows.sum() < best.sum()):
            best = knows
    if best is None:
        raise CoverError(
            f"experts that know at most {size} classes each cannot be taught to cover every pair"
            f"{'' if redundancy == 1 else f' {redundancy} times'}, or no way was found; allow more classes, "
            "or add experts: complete() without teach"
        )
    lessons = int(best.sum() - panel.knows.sum())
    lower, bound = fewest_lessons(need, panel.sizes)
    proof = Certificate(
        lessons, lower, bound, "greedy lessons" if lessons else "nothing: no pair was missing", redundancy
    )
    return Panel(panel.classes, best, panel.names, panel.cost, models=panel.models, certificate=proof)


def fewest_lessons(need: Lacks, sizes: NDArray[np.integer]) -> tuple[int, str]:
    """Return a lower bound on the number of lessons, and its name.

    A missing pair needs a lesson about one of its two classes, so disjoint missing pairs need one each (a
    matching). An expert of s classes who gets a lessons covers at most a s + a (a - 1) / 2 new pairs, which
    is largest if one of the largest experts gets all lessons.

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


def _lessons(knows: Knows, need: Lacks, room: NDArray[np.int64], rng: np.random.Generator) -> Knows | None:
    """Repeatedly give the lesson that covers the most missing pairs; None if no one can learn more."""
    gain = knows.astype(np.int64) @ (need > 0)
    while need.any():
        allowed = ~knows & (room > 0)[:, None]
        value = np.where(allowed, gain, -1)
        if value.max() <= 0:
            # No one who can learn more knows a partner: teach a needy class to a large expert first.
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


def _drop_needless(panel: Panel, knows: Knows | None, redundancy: int) -> Knows | None:
    """Drop redundant lessons, the least useful first."""
    if knows is None:
        return None
    counts = knows.T.astype(np.int64) @ knows
    lessons = np.argwhere(knows & ~panel.knows)
    for i, k in lessons[np.argsort(knows.sum(axis=1)[lessons[:, 0]], kind="stable")].tolist():
        _unlearn(knows[i], k, counts, redundancy)
    return knows
