"""Prove for single cells that m experts of size k cannot cover v classes, by branch and bound.

Run: python benchmarks/prove_cells.py [v,k,m ...] [--nodes N]

The search of prove_small_covers.py, with whole numbers of classes instead of weights: n_T classes have type
T, the set of experts that know them; types meet pairwise; every expert knows at most k classes; the total
is v. See docs/bounds.md, "Single cells", for why this is a proof.
"""

from __future__ import annotations

import argparse
import datetime
import math
import platform
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray
from prove_small_covers import NotProvedError, root, split
from scipy.optimize import linprog

from covote.bounds.cover_sizes import CELLS

Ints = NDArray[np.int64]
SCALES = [*range(1, 61), 72, 84, 90, 120, 180, 360, 420, 840, 2520, 10**5]


class Cell(NamedTuple):
    """The claim: `experts` of size `size` do not cover `classes` classes."""

    classes: int
    size: int
    experts: int


class Node(NamedTuple):
    """Cells of experts, patterns that types may have, and rows . counts <= limits, from branching."""

    cells: Ints
    allowed: Ints
    rows: Ints
    limits: Ints


def first_node(experts: int, smallest: int) -> Node:
    """Return the node of all families whose smallest type has the given size."""
    cells, allowed = root(experts, smallest)
    return Node(cells, allowed, np.zeros((0, len(allowed)), dtype=np.int64), np.zeros(0, dtype=np.int64))


def everyone_meets(node: Node, chosen: Ints) -> Node:
    """Return the node in which every type meets one fixed set of the chosen pattern.

    Proper supersets of the set are left out as long as no counts are limited: their classes may move to it.
    """
    origin = np.arange(len(node.allowed))  # as a further column: which row of the limits it came with
    (cells, table), inside = split(node.cells, np.column_stack([node.allowed, origin]), chosen)
    allowed, origin = table[:, :-1], table[:, -1]
    common = allowed[:, inside].sum(axis=1)
    keep = common > 0
    if len(node.rows) == 0:
        keep &= (common < chosen.sum()) | (allowed.sum(axis=1) == chosen.sum())
    return Node(cells, allowed[keep], node.rows[:, origin[keep]], node.limits)


def nobody_is(node: Node, chosen: Ints) -> Node:
    """Return the node in which no type has the chosen pattern."""
    keep = (node.allowed != chosen).any(axis=1)
    return Node(node.cells, node.allowed[keep], node.rows[:, keep], node.limits)


def count_limited(node: Node, index: int, most: int) -> list[Node]:
    """Return the nodes in which at most `most`, and at least `most` + 1 classes have the pattern."""
    row = np.zeros((1, len(node.allowed)), dtype=np.int64)
    row[0, index] = 1
    fewer = node._replace(rows=np.vstack([node.rows, row]), limits=np.append(node.limits, most))
    more = node._replace(rows=np.vstack([node.rows, -row]), limits=np.append(node.limits, -(most + 1)))
    return [fewer, more]


def caps(node: Node, cell: Cell) -> Ints:
    """Return the most classes that each pattern can have.

    If n classes have type A of size a, the experts of A know n a classes of type A and one each of the
    others at least: v + n (a-1) <= a k. A pattern has `orbit` sets, of which, since `pack` of them can be
    disjoint, no more than orbit/pack meet pairwise.
    """
    ways = np.array(
        [[math.comb(n, j) for j in range(node.cells.max() + 1)] for n in range(node.cells.max() + 1)]
    )
    orbit = ways[node.cells[None, :], node.allowed].prod(axis=1)
    size = node.allowed.sum(axis=1)
    pack = np.where(node.allowed > 0, node.cells // np.maximum(node.allowed, 1), cell.experts).min(axis=1)
    each = np.clip((size * cell.size - cell.classes) // np.maximum(size - 1, 1), 0, cell.size)
    return orbit * each // pack


class Relaxed(NamedTuple):
    """The largest total if types need not meet: total, counts, and what a certificate needs."""

    total: float
    counts: NDArray[np.float64]
    prices: NDArray[np.float64]


def relax(matrix: Ints, limits: Ints, cap: Ints) -> Relaxed | None:
    """Solve max sum n, matrix' n <= limits, 0 <= n <= cap in floating point; None if nothing satisfies it."""
    size = matrix.sum(axis=1)
    used = size <= size.min() + 1
    while True:
        bounds = np.column_stack([np.zeros(used.sum()), cap[used]])
        answer = linprog(
            -np.ones(used.sum()), A_ub=matrix[used].T, b_ub=limits, bounds=bounds, method="highs"
        )
        if answer.status == 2:
            if used.all():
                return None
            used[:] = True
            continue
        prices = np.maximum(-answer.ineqlin.marginals, 0)
        worth = matrix @ prices
        missing = np.flatnonzero((worth < 1 - 1e-9) & ~used & (cap > 0))
        if len(missing) == 0:
            counts = np.zeros(len(matrix))
            counts[used] = answer.x
            return Relaxed(-answer.fun, counts, prices)
        used[missing[np.argsort(worth[missing], kind="stable")[:300]]] = True


def too_few(matrix: Ints, limits: Ints, cap: Ints, prices: NDArray[np.float64], classes: int) -> bool:
    """Whether some rounding of the prices proves, in integers, that the total is below `classes`.

    For whole prices y >= 0 and a scale D: D total <= limits . y + sum over patterns of cap max(0, D -
    (matrix y)).
    """
    for scale in SCALES:
        whole = np.rint(prices * scale).astype(np.int64)
        short = np.maximum(scale - matrix @ whole, 0)
        if int(limits @ whole) + int(short @ cap) < classes * scale:
            return True
    return False


def impossible(matrix: Ints, limits: Ints, cap: Ints) -> bool:
    """Whether whole prices y >= 0 prove that no counts fit: limits . y + cap . max(0, -matrix y) < 0."""
    width = matrix.shape[1]
    cost = np.concatenate([np.zeros(len(matrix)), np.ones(width)])
    bounds = np.vstack(
        [np.column_stack([0 * cap, cap]), np.column_stack([np.zeros(width), np.full(width, np.inf)])]
    )
    slack = np.hstack([matrix.T, -np.eye(width)])
    answer = linprog(cost, A_ub=slack, b_ub=limits, bounds=bounds, method="highs")
    for scale in SCALES:
        whole = np.rint(np.maximum(-answer.ineqlin.marginals, 0) * scale).astype(np.int64)
        if int(limits @ whole) + int(np.maximum(-(matrix @ whole), 0) @ cap) < 0:
            return True
    return False


def children(node: Node, counts: NDArray[np.float64]) -> list[Node]:
    """Split a node: on a used pattern whose sets need not meet all others, else on a broken count."""
    used = np.flatnonzero(counts > 1e-9)
    patterns = node.allowed[used]
    apart = (patterns[:, None, :] + patterns[None, :, :] <= node.cells).all(axis=2).any(axis=1)
    if not apart.any():
        broken = np.abs(counts[used] - np.rint(counts[used]))
        if broken.max() > 1e-6:
            index = int(used[np.argmax(broken)])
            return count_limited(node, index, math.floor(counts[index]))
        apart = ((patterns > 0) & (patterns < node.cells)).any(axis=1)
        if not apart.any():
            raise NotProvedError("there is such a cover")
    order = np.lexsort((-counts[used], patterns.sum(axis=1)))
    chosen = patterns[next(i for i in order if apart[i])]
    return [nobody_is(node, chosen), everyone_meets(node, chosen)]


def prove_cell(cell: Cell, nodes: int = 20_000) -> int:
    """Prove the claim and return the nodes it took, or raise NotProvedError."""
    count = 0
    for smallest in range(1, cell.experts + 1):
        if cell.classes > smallest * cell.size or cell.classes * smallest > cell.experts * cell.size:
            continue
        open_nodes = [first_node(cell.experts, smallest)]
        while open_nodes:
            node = open_nodes.pop()
            count += 1
            if count > nodes:
                raise NotProvedError(f"not proved within {nodes} nodes")
            if len(node.allowed) == 0:
                continue
            cap = caps(node, cell)
            matrix = np.column_stack([node.allowed, node.rows.T])
            limits = np.concatenate([node.cells * cell.size, node.limits])
            relaxed = relax(matrix, limits, cap)
            if relaxed is None:
                if not impossible(matrix, limits, cap):
                    raise NotProvedError("no exact certificate found")
            elif relaxed.total > cell.classes - 1e-7 or not too_few(
                matrix, limits, cap, relaxed.prices, cell.classes
            ):
                open_nodes += children(node, relaxed.counts)
    return count


def main() -> None:
    """Prove the cells asked for, all of the library's by default, and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cells", nargs="*")
    parser.add_argument("--nodes", type=int, default=20_000)
    arguments = parser.parse_args()
    known = [Cell(v, k, m) for m, cells in CELLS.items() for v, k in cells]
    cells = [Cell(*map(int, text.split(","))) for text in arguments.cells] or known
    lines = ["| v | k | experts that do not suffice | nodes | CPU seconds |", "|---|---|---|---|---|"]
    failed = 0
    for cell in cells:
        start = time.process_time()
        try:
            outcome = str(prove_cell(cell, arguments.nodes))
        except NotProvedError as error:
            outcome, failed = str(error), failed + 1
        seconds = time.process_time() - start
        lines.append(f"| {cell.classes} | {cell.size} | {cell.experts} | {outcome} | {seconds:.1f} |")
        print(lines[-1], flush=True)
    if not arguments.cells and not failed:
        head = (
            "# Single cells: proofs by branch and bound\n\n"
            f"`python benchmarks/prove_cells.py`, {datetime.date.today()}, "
            f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}\n\n"
        )
        target = Path(__file__).parent / "results" / "cells.md"
        target.write_text(head + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
