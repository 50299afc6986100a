"""Weighted blow-ups: every point of a base design stands for some classes, or for none.

Two classes of different points meet on the line through these points. A line that carries more classes than
an expert can know is covered recursively. Induced covers (weights 0 and 1) and multiplication (all weights
equal) are of this kind; annealing finds the weights.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covote.covers.blocks import Blocks, Cover, padded, relabelled
from covote.covers.constructions.few_experts import few_experts, hoped_sizes
from covote.covers.random_kernels import chance
from covote.covers.search import blow_ups_kernels as kernels

COLD = 0.15
"""Last temperature of the annealing of weights, in experts."""


def anneal_blowup(
    lines: Blocks,
    classes: int,
    size: int,
    *,
    moves: int,
    seed: int,
    start: str = "even",
    hot: float = 0.6,
    target: int = 0,
) -> NDArray[np.int32]:
    """Return weights of the base points that sum to `classes` and need few experts.

    The search starts with weights that are as equal as they can be. The points with more (or with fewer) lie
    anywhere ("even"), or fill one line after the other ("added", "removed").
    """
    points = int(lines.max()) + 1
    through, degree = _lines_through(lines, points)
    cost = hoped_sizes(classes, size).astype(np.float64)
    random = np.random.default_rng(seed)
    weights = _first_weights(lines, classes, points, start, random)
    load, support = np.zeros((2, len(lines)), dtype=np.int32)
    blowup = kernels.Blowup(np.ascontiguousarray(lines), through, degree, weights, load, support, cost, size)
    kernels.anneal_weights(blowup, moves, hot, COLD, float(target), chance(seed))
    return weights


def _first_weights(
    lines: Blocks, classes: int, points: int, start: str, random: np.random.Generator
) -> NDArray[np.int32]:
    order = random.permutation(points).astype(np.int32)
    if start != "even":
        in_lines = lines[random.permutation(len(lines))].ravel()
        _, first = np.unique(in_lines[in_lines >= 0], return_index=True)
        order = in_lines[in_lines >= 0][np.sort(first)]
    if start == "removed":
        order = order[::-1]
    each, more = divmod(classes, points)
    weights = np.full(points, each, dtype=np.int32)
    weights[order[:more]] += 1
    return weights


def blow_up(lines: Blocks, weights: NDArray[np.int32], size: int, base: str) -> Cover:
    """Build the cover: each point its classes, each line an expert or as many as it takes."""
    start = np.concatenate([[0], np.cumsum(weights)])
    parts = []
    for line in lines:
        present = [p for p in line if p >= 0 and weights[p] > 0]
        if len(present) < 2:
            continue
        members = np.concatenate([np.arange(start[p], start[p + 1], dtype=np.int32) for p in present])
        parts.append(
            padded([members], size)
            if len(members) <= size
            else relabelled(few_experts(len(members), size).blocks, members)
        )
    return Cover(np.vstack(parts), f"{base} with weighted points")


def _lines_through(lines: Blocks, points: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    degree = np.bincount(lines[lines >= 0], minlength=points).astype(np.int32)
    through = np.zeros((points, int(degree.max())), dtype=np.int32)
    for point in range(points):
        on = np.flatnonzero((lines == point).any(axis=1))
        through[point, : len(on)] = on
    return through, degree
