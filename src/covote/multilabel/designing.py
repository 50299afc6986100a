"""Panels for items with several labels: :func:`design`, and the cover-free families that it needs.

If experts name one label, every class needs, for any s - 1 others, an expert who knows it and none of them.
If experts must answer, every pair of classes does (theory: section 8). Seen from the classes, each of which
has a set of experts, the first are the superimposed codes of Kautz and Singleton (1964, "Nonrandom binary
superimposed codes"), or families in which no set is covered by s - 1 others (Erdos, Frankl and Furedi, 1985).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.arguments import check_count, check_size
from covote.bounds import cover_free_bound
from covote.covers import design as design_cover
from covote.covers.blocks import Built
from covote.covers.constructions.finite_fields import finite_field, prime_power
from covote.covers.constructions.planes import most_groups, transversal_design
from covote.covers.search.efforts import effort_named
from covote.covers.set_cover.local_search import Weighting
from covote.covers.set_cover.problem import PoolCover
from covote.errors import CoverError, InputError
from covote.multilabel.support import Report, check_model, supports
from covote.panel import Certificate, Name, Panel, class_names, zeros
from covote.progress import Progress, Work

Ints = NDArray[np.int32]
ENTRIES = 3_000_000
"""Entries of a set-cover problem that is searched: all possible experts against all requirements."""
SETS, TRIES = 20_000, 20
"""Sets of experts that are considered for a class, and attempts to find one for each class."""


def design(
    classes: int | Iterable[Name],
    size: int,
    *,
    count: int | None = None,
    report: Report = "one",
    forced: bool = False,
    effort: str = "normal",
    seed: int = 0,
    progress: Progress | None = None,
) -> Panel:
    """Design a small panel whose answers determine the labels of items that have several.

    Theory: section 8.

    Parameters
    ----------
    classes
        The names of the classes, or a number K for the classes 0..K-1.
    size
        How many classes an expert can know.
    count, report, forced
        How many labels an item has and how experts answer, as for :func:`covote.multilabel.supports`. Experts
        who name one label determine a limited number of labels, so `count` is needed.
    effort, seed, progress
        As for :func:`covote.design`.

    >>> print(design(10, 4, count=2).certificate)
    proved optimal: the own experts bound is 5; built from: 2 experts for each class, at most 1 shared by two
    """
    names = class_names(classes)
    if not isinstance(size, int | np.integer) or isinstance(size, bool):
        raise InputError(f"size must be a whole number, the same for all experts, not {size!r}")
    check_count(seed, "seed", 0)
    budget = effort_named(effort)
    check_model(report, count, len(names))
    if report == "all" and forced:
        return design_cover(names, int(size), effort=effort, seed=seed, progress=progress)
    number, size = check_size(len(names), int(size))
    if report == "all" or (count == 1 and not forced):
        known = number - (count == 1)  # if items have one label, one class may be known to no expert
        found, bound = _parts(known, size), (-(-known // size), "counting")
    elif count is None:
        raise InputError(
            "experts who name one label determine a limited number of labels; set it with count=... (--count)"
        )
    else:
        bound = cover_free_bound(number, size, count, forced=forced)
        moves = 0 if effort == "fast" else budget.choosing // 20
        with Work(1, progress) as work:
            found = cover_free(number, size, count, forced, Search(moves, seed, work, {}))
    knows = zeros(len(found.blocks), number)
    for row, block in zip(knows, found.blocks, strict=True):
        row[block] = True
    panel = Panel(names, knows)
    if panel.sizes.max() > size or not supports(panel, count, report=report, forced=forced):
        raise CoverError(f"the panel built from {found.construction} fails; please report this defect")
    return panel.with_certificate(Certificate(len(knows), *bound, found.construction, panel.redundancy))


class Search(NamedTuple):
    """The moves of a search, its seed, its progress, and the panels found for fewer classes."""

    moves: int
    seed: int
    work: Work
    known: dict[int, Built]


def cover_free(classes: int, size: int, count: int, forced: bool, search: Search) -> Built:
    """Return the smallest panel found for items with `count` labels."""
    lower = cover_free_bound(classes, size, count, forced=forced)[0]
    best: Built | None = None
    if forced:
        return _pairs_apart(classes, size, count, search)
    for found in _classes_apart(classes, size, count, search.seed):
        if best is None or len(found.blocks) < len(best.blocks):
            best = found
    assert best is not None
    return _better(best, classes, size, count, search) if len(best.blocks) > lower else best


def _parts(classes: int, size: int) -> Built:
    """Return experts who together know each class once."""
    order = np.arange(classes, dtype=np.int32)
    return Built(np.array_split(order, -(-classes // size)), "disjoint experts")


# Every class against others


def _classes_apart(classes: int, size: int, count: int, seed: int) -> Iterator[Built]:
    yield Built([np.array([k], dtype=np.int32) for k in range(classes)], "an expert for each class")
    if count == 1:
        return
    yield from _lines(classes, size, count)
    yield from _polynomials(classes, size, count)
    found = _packed(classes, size, count, seed)
    if found is not None:
        yield found


def _lines(classes: int, size: int, count: int) -> Iterator[Built]:
    """Classes are blocks of a transversal design, experts its points: two classes share at most one.

    Of `count` experts of a class, others then leave one.
    """
    order = max(2, -(-classes // size), int(np.ceil(np.sqrt(classes))))
    while order <= classes and most_groups(order) <= count:
        order += 1
    if order > classes:
        return
    blocks = transversal_design(order, count + 1)
    some = blocks[np.argsort(blocks[:, -1], kind="stable")][:classes, :-1]  # disjoint ones together
    yield Built(_dual(some, order), f"transversal design of {count} groups of {order}")


def _polynomials(classes: int, size: int, count: int) -> Iterator[Built]:
    """Classes are polynomials of degree 2 and more over a field, experts points of their graphs.

    Two of degree below t meet in t - 1 points, so that of (s - 1)(t - 1) + 1 points others leave one: Kautz
    and Singleton (1964). The constant term varies first, so that experts know equally many classes.
    """
    for terms in (3, 4, 5):
        points = (count - 1) * (terms - 1) + 1
        q = max(2, points, -(-classes // size))
        while q**terms < classes or prime_power(q) is None:
            q += 1
        if points * q >= classes:
            continue
        field = finite_field(q)
        digits = (np.arange(classes)[:, None] // q ** np.arange(terms)) % q
        values = np.zeros((classes, points), dtype=np.int64)
        for place in reversed(range(terms)):  # Horner's rule
            values = field.add(field.multiply(values, np.arange(points)[None, :]), digits[:, place, None])
        yield Built(
            _dual(values, q), f"{points} values of polynomials of degree {terms - 1} over {q} elements"
        )


def _dual(values: NDArray[np.integer], order: int) -> list[Ints]:
    """Return the experts of classes that are rows with one of `order` points in each column."""
    points = values + np.arange(values.shape[1]) * order
    return [np.flatnonzero((points == p).any(axis=1)).astype(np.int32) for p in np.unique(points)]


def _packed(classes: int, size: int, count: int, seed: int) -> Built | None:
    """Give each class `each` experts of which two share at most (each - 1) // (count - 1); few experts first.

    Of the sets that still can be taken, one goes to the next class whose experts know fewest classes.
    """
    rng = np.random.default_rng([seed, classes, size, count])
    lower = cover_free_bound(classes, size, count)[0]
    for experts in range(lower, min(classes, 4 * lower)):
        for each in range(count, experts // 2 + 1):
            if comb(experts, each) > SETS or comb(experts, each) < classes or classes * each > experts * size:
                continue
            sets = np.zeros((comb(experts, each), experts), dtype=np.int32)
            for row, chosen in enumerate(combinations(range(experts), each)):
                sets[row, list(chosen)] = 1
            for _ in range(TRIES if len(sets) < 2000 else 2):
                taken = _taken(sets, classes, size, (each - 1) // (count - 1), rng)
                if taken is not None:
                    blocks = [np.flatnonzero(column).astype(np.int32) for column in taken.T]
                    shared = (each - 1) // (count - 1)
                    return Built(blocks, f"{each} experts for each class, at most {shared} shared by two")
    return None


def _taken(
    sets: Ints, classes: int, size: int, shared: int, rng: np.random.Generator
) -> NDArray[np.int32] | None:
    free = np.ones(len(sets), dtype=np.bool_)
    load = np.zeros(sets.shape[1])
    order = rng.random(len(sets))
    taken: list[int] = []
    for _ in range(classes):
        free &= sets @ (load >= size) == 0
        if not free.any():
            return None
        chosen = int(np.argmin(np.where(free, sets @ (load + load**2 / size) + 0.5 * order, np.inf)))
        taken.append(chosen)
        load += sets[chosen]
        free &= sets @ sets[chosen] <= shared
        free[chosen] = False
    return sets[taken]


# Every pair of classes against others


def _pairs_apart(classes: int, size: int, count: int, search: Search) -> Built:
    """Return the best of all pairs, all triples, and groups crossed by parabolas, each group served alike.

    With groups of at most q classes, q a prime power, the polynomials c x^2 + b x + a over GF(q) with `count`
    values of c are experts who know one class of each of up to q groups. Two classes of different groups
    have one of them for each c, and three classes are on one at most: so `count` - 1 others leave one.
    """
    known = search.known
    if classes in known:
        return known[classes]
    pairs = [np.array(pair, dtype=np.int32) for pair in combinations(range(classes), 2)]
    best = Built(pairs, "an expert for each pair")
    if size >= 3 and count <= classes - 2 and comb(classes, 3) < len(pairs):
        triples = [np.array(three, dtype=np.int32) for three in combinations(range(classes), 3)]
        best = Built(triples, "an expert for every three classes")
    for groups in range(3, min(size, classes) + 1):
        each = -(-classes // groups)
        q = max(each, groups, count)
        while prime_power(q) is None:
            q += 1
        if count * q * q >= len(best.blocks):
            continue
        inner = _pairs_apart(each, size, count, search) if each > 1 else Built([], "")
        blocks = [*_parabolas(classes, groups, q, count), *_inside(classes, groups, inner.blocks)]
        if len(blocks) < len(best.blocks):
            best = Built(blocks, f"{count} x {q}^2 parabolas through {groups} groups")
    known[classes] = _better(best, classes, size, count, search, forced=True)
    return known[classes]


def _parabolas(classes: int, groups: int, q: int, count: int) -> list[Ints]:
    """Class k is point k // groups of group k % groups; points without a class are left out."""
    field = finite_field(q)
    x = np.arange(groups)
    found = []
    for c in range(count):
        for b in range(q):
            steep = field.multiply(field.add(field.multiply(c, x), b), x)
            for a in range(q):
                k = field.add(steep, a) * groups + x
                k = k[k < classes]
                if len(k) > 1:
                    found.append(k.astype(np.int32))
    return found


def _inside(classes: int, groups: int, inner: Sequence[Ints]) -> Iterator[Ints]:
    for g in range(groups):
        for block in inner:
            k = block * groups + g
            if (k < classes).sum() > 1:
                yield k[k < classes].astype(np.int32)


# Search


def _better(
    best: Built, classes: int, size: int, count: int, search: Search, *, forced: bool = False
) -> Built:
    """Return the result of a search among all experts if it is better."""
    if not search.moves or count > classes - 1 - forced or search.work.advance(0):
        return best
    found = _searched(classes, min(size, classes), count, forced, search)
    return found if found is not None and len(found.blocks) < len(best.blocks) else best


def _searched(classes: int, size: int, count: int, forced: bool, how: Search) -> Built | None:
    """Choose from all possible experts if there are few: a set cover, by local search."""
    w = 2 if forced else 1
    needs = comb(classes, w) * comb(classes - w, count - 1)
    served = sum(
        comb(classes, r) * comb(r, w) * comb(classes - r, count - 1)
        for r in range(w, min(size, classes - 1) + 1)
    )
    if served > ENTRIES or needs > ENTRIES:
        return None
    number: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    for mine in combinations(range(classes), w):
        rest = [k for k in range(classes) if k not in mine]
        for others in combinations(rest, count - 1):
            number[mine, others] = len(number)
    blocks: list[tuple[int, ...]] = []
    rows: list[list[int]] = []
    for r in range(w, min(size, classes - count + 1) + 1):
        for block in combinations(range(classes), r):
            rest = [k for k in range(classes) if k not in block]
            blocks.append(block)
            rows.append(
                [
                    number[mine, others]
                    for mine in combinations(block, w)
                    for others in combinations(rest, count - 1)
                ]
            )
    start = np.concatenate([[0], np.cumsum([len(some) for some in rows])]).astype(np.int64)
    flat = np.array([row for some in rows for row in some], dtype=np.int32)
    problem = PoolCover(start, flat, np.ones(len(number), dtype=np.int32), np.ones(len(blocks)))
    search = Weighting(problem, how.seed)
    steps = search.steps(how.moves)
    search.run(steps, how.work.part("looking for fewer experts", total=steps, share=1))
    chosen = [np.array(blocks[j], dtype=np.int32) for j in np.flatnonzero(search.best)]
    return Built(chosen, "local search among all experts")
