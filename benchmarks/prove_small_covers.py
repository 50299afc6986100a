"""Prove how many classes a panel of m experts can cover: K/R <= tau_m, by branch and bound with exact checks.

Run: python benchmarks/prove_small_covers.py [M ...] [--nodes N]

See docs/bounds.md, "Few experts", for why this is a proof. In short: turn a cover around. Class x becomes
its *type*, the set of experts that know it. Two classes share an expert, so types meet pairwise; an expert
knows at most R classes, so, counting every class with weight 1/R, an expert carries at most weight 1. Hence
K/R is at most the largest total weight of pairwise meeting subsets of {1..m} that loads no element with
more than 1.

A node of the search knows some sets that every type meets, and some sets that are not types. Experts that
no known set tells apart form a *cell*; types are told apart by their *pattern* only, how many experts of
each cell they have. A node is closed by a price y_c >= 0 for the load of each cell such that every allowed
pattern p has sum y_c p_c >= 1: then the total weight is at most sum |c| y_c. Prices come from a linear
programme in floating point, are rounded, and are then checked in integers.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import time
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy.optimize import linprog

from covote.bounds.cover_sizes import RATIOS

Patterns = NDArray[np.int64]


class NotProvedError(Exception):
    """The claim is false (a family of types is heavier), or the search grew too large."""


class Node(NamedTuple):
    """What is known so far: the cells of experts, and the patterns that types may have."""

    cells: NDArray[np.int64]
    allowed: Patterns


def root(experts: int, smallest: int) -> Node:
    """Start with one type of the smallest size; every other type meets it and is no smaller.

    A type that contains a set which all types meet may be replaced by that set, so it is left out.
    """
    cells = np.array([smallest, experts - smallest])
    patterns = np.array(list(product(*(range(c + 1) for c in cells))))
    size = patterns.sum(axis=1)
    contains = (patterns[:, 0] == smallest) & (size > smallest)
    return Node(cells, patterns[(patterns[:, 0] >= 1) & (size >= smallest) & ~contains])


def split(
    cells: NDArray[np.int64], rows: Patterns, chosen: NDArray[np.int64]
) -> tuple[Node, NDArray[np.bool_]]:
    """Return the cells and patterns when a set of the chosen pattern splits them, and which cells it has.

    A pattern falls apart into the ways to share its experts among the parts. Columns of `rows` beyond the
    cells go with them.
    """
    parts: list[int] = []
    inside: list[bool] = []
    for cell, part in zip(cells.tolist(), chosen.tolist(), strict=True):
        here = len(parts)
        if part in (0, cell):
            parts.append(cell)
            inside.append(part == cell)
            continue
        pieces = []
        for first in range(part + 1):  # how many experts of the pattern fall into the set
            rest = rows[:, here] - first
            fits = (rest >= 0) & (rest <= cell - part)
            kept = np.insert(rows[fits], here, first, axis=1)
            kept[:, here + 1] = rest[fits]
            pieces.append(kept)
        rows = np.concatenate(pieces)
        parts += [part, cell - part]
        inside += [True, False]
    return Node(np.array(parts), rows), np.array(inside)


def everyone_meets(node: Node, chosen: NDArray[np.int64]) -> Node:
    """Return the node in which every type meets one fixed set of the chosen pattern."""
    (cells, rows), inside = split(node.cells, node.allowed, chosen)
    common = rows[:, inside].sum(axis=1)
    size = chosen.sum()
    contains = (common == size) & (rows.sum(axis=1) > size)
    return Node(cells, rows[(common > 0) & ~contains])


def nobody_is(node: Node, chosen: NDArray[np.int64]) -> Node:
    """Return the node in which no type has the chosen pattern."""
    return Node(node.cells, node.allowed[(node.allowed != chosen).any(axis=1)])


def relax(node: Node) -> tuple[float, Patterns, NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest weight if types need not meet each other, the patterns used, weights, and prices.

    Patterns enter when the prices say so: most of the large ones never do.
    """
    size = node.allowed.sum(axis=1)
    used = size <= size.min() + 1
    while True:
        columns = node.allowed[used]
        answer = linprog(-np.ones(len(columns)), A_ub=columns.T, b_ub=node.cells, method="highs")
        prices = np.maximum(-answer.ineqlin.marginals, 0)
        worth = node.allowed @ prices
        missing = np.flatnonzero((worth < 1 - 1e-9) & ~used)
        if len(missing) == 0:
            return -answer.fun, columns, answer.x, prices
        used[missing[np.argsort(worth[missing], kind="stable")[:200]]] = True


def closes(node: Node, prices: NDArray[np.float64], tau: Fraction) -> bool:
    """Whether some rounding of the prices proves, in integers, that the weight is at most tau."""
    for scale in [*range(1, 400), 10**4, 10**6]:
        scaled = prices * scale
        whole = np.rint(scaled).astype(np.int64)
        if scale < 10**4 and np.abs(scaled - whole).max() > 1e-4:
            continue
        cheapest = int((node.allowed @ whole).min())
        if cheapest > 0 and int(node.cells @ whole) * tau.denominator <= tau.numerator * cheapest:
            return True
    return False


def to_branch_on(node: Node, columns: Patterns, weights: NDArray[np.float64]) -> NDArray[np.int64] | None:
    """Return a used pattern with a set that misses one of a used pattern: the smallest, then heaviest."""
    used = weights > 1e-9
    patterns, weights = columns[used], weights[used]
    apart = (patterns[:, None, :] + patterns[None, :, :] <= node.cells).all(axis=2).any(axis=1)
    order = np.lexsort((-weights, patterns.sum(axis=1)))
    return next((patterns[i] for i in order if apart[i]), None)


def prove(experts: int, tau: Fraction, nodes: int = 100_000) -> int:
    """Prove that pairwise meeting types of `experts` elements weigh at most tau; return the nodes it took.

    A smallest type of size s gives a weight of at most min(s, experts/s); other sizes need the search.
    """
    count = 0
    for smallest in range(1, experts + 1):
        if min(Fraction(smallest), Fraction(experts, smallest)) <= tau:
            continue
        open_nodes = [root(experts, smallest)]
        while open_nodes:
            node = open_nodes.pop()
            count += 1
            if count > nodes:
                raise NotProvedError(f"not proved within {nodes} nodes")
            if len(node.allowed) == 0:
                continue
            weight, columns, weights, prices = relax(node)
            if weight <= float(tau) + 1e-7 and closes(node, prices, tau):
                continue
            chosen = to_branch_on(node, columns, weights)
            if chosen is None:
                raise NotProvedError(f"types of {experts} experts can weigh {weight}, more than {tau}")
            open_nodes += [nobody_is(node, chosen), everyone_meets(node, chosen)]
    return count


def main() -> None:
    """Prove the ratios asked for and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("experts", nargs="*", type=int, default=sorted(RATIOS))
    parser.add_argument("--nodes", type=int, default=100_000)
    arguments = parser.parse_args()
    lines = ["| m | K/R at most | nodes | CPU seconds |", "|---|---|---|---|"]
    for experts in arguments.experts:
        start = time.process_time()
        count = prove(experts, RATIOS[experts], arguments.nodes)
        lines.append(f"| {experts} | {RATIOS[experts]} | {count} | {time.process_time() - start:.1f} |")
        print(lines[-1], flush=True)
    head = (
        "# Few experts: proofs by branch and bound\n\n"
        f"`python benchmarks/prove_small_covers.py`, {datetime.date.today()}, "
        f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}\n\n"
    )
    if arguments.experts == sorted(RATIOS):
        target = Path(__file__).parent / "results" / "small_covers.md"
        target.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
