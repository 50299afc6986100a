"""The paper's objects behind its theorems: output sets S_k, and the graph G of covered pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.colours import LIGHT
from covote.errors import TooLargeError
from covote.panel import Name, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COVERED, MISSING = LIGHT["main"], LIGHT["second"]
"""Colours of pairs in pictures."""

MOST_ON_A_CIRCLE = 25
"""With more classes than this, the lines of a picture cannot be told apart."""
MOST_NAMED = 200
"""With more classes than this, their names do not fit at the edges of a matrix."""

MOST_ANSWERS = 1 << 22
"""Most answers in an output set (answer vectors x experts)."""


def output_set(panel: Panel, name: Name) -> NDArray[np.int64]:
    """Return S_k, every answer vector that class k allows, as class indices (vectors x experts).

    Experts who know k name it, the others name any class that they know.

    Paper: output sets, before Definition 2. Two classes are distinguishable iff their output sets are
    disjoint.

    >>> panel = Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]])
    >>> output_set(panel, "cat").tolist(), output_set(panel, "fox").tolist()
    ([[0, 1], [0, 2]], [[0, 2], [1, 2]])
    """
    k = panel.class_index(name)
    options = [[k] if known[k] else np.flatnonzero(known).tolist() for known in panel.knows]
    vectors = prod(map(len, options))
    if vectors * max(1, len(panel)) > MOST_ANSWERS:
        raise TooLargeError(
            f"class {name!r} allows {vectors:,} answer vectors, too many to list; "
            "decode(method='authority') distinguishes output sets without listing them"
        )
    return np.array(list(product(*options)), dtype=np.int64).reshape(vectors, len(panel))


@dataclass(frozen=True, eq=False)
class PairGraph:
    """The graph G: classes, and how many experts know both of each two (0: the edge is missing).

    Paper: section Set Covering; a cover makes G the complete graph.
    """

    classes: tuple[Name, ...]
    experts: NDArray[np.int64]

    @property
    def edges(self) -> list[tuple[Name, Name]]:
        """The covered pairs."""
        return self._pairs(self.experts > 0)

    @property
    def missing(self) -> list[tuple[Name, Name]]:
        """The pairs that no expert knows."""
        return self._pairs(self.experts == 0)

    def _pairs(self, chosen: NDArray[np.bool_]) -> list[tuple[Name, Name]]:
        return [(self.classes[k], self.classes[j]) for k, j in np.argwhere(np.triu(chosen, 1)).tolist()]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the graph: up to 25 classes on a circle, more as a matrix of the numbers of experts."""
        from matplotlib.figure import Figure

        large = len(self.classes) > MOST_ON_A_CIRCLE
        if ax is None:
            named = min(len(self.classes), MOST_NAMED)
            side = max(6.4, 2 + 0.12 * named) if large else 6.4
            ax = Figure(figsize=(side, side), layout="constrained").add_subplot()
        return self._matrix(ax) if large else self._circle(ax)

    def _circle(self, ax: Axes) -> Axes:
        """Draw covered pairs as lines (thicker: more experts), missing ones dashed."""
        number = len(self.classes)
        angle = np.pi / 2 - 2 * np.pi * np.arange(number) / max(1, number)
        x, y = np.cos(angle), np.sin(angle)
        most = max(1, int(np.triu(self.experts, 1).max(initial=0)))
        for k in range(number):
            for j in range(k + 1, number):
                shared = int(self.experts[k, j])
                style: dict[str, Any] = (
                    {"color": COVERED, "linewidth": 0.6 + 1.8 * shared / most, "alpha": 0.6}
                    if shared
                    else {"color": MISSING, "linewidth": 1.2, "linestyle": "--"}
                )
                ax.plot(x[[k, j]], y[[k, j]], zorder=1 if shared else 2, **style)
        ax.scatter(x, y, s=30, color="black", zorder=3)
        for name, right, up in zip(self.classes, x, y, strict=True):
            place = 1.08 * right, 1.08 * up
            ax.text(*place, str(name), ha="center", va="center", fontsize=9, parse_math=False)
        ax.set_xlim(-1.25, 1.25)
        ax.set_ylim(-1.25, 1.25)
        ax.set_aspect("equal")
        ax.set_axis_off()
        ax.set_title(f"{len(self.edges):,} pairs covered, {len(self.missing):,} not (dashed)", fontsize=10)
        return ax

    def _matrix(self, ax: Axes) -> Axes:
        """Draw a cell per pair: darker where more experts know both, red where no one does."""
        from matplotlib.colors import LinearSegmentedColormap
        from matplotlib.ticker import MaxNLocator

        number = len(self.classes)
        shared = np.ma.masked_array(self.experts, mask=np.eye(number, dtype=bool))
        shades = LinearSegmentedColormap.from_list("experts", ["#cfe3ea", COVERED, "#0c2c38"])
        colours = shades.with_extremes(under=MISSING, bad="white")
        drawn = ax.imshow(
            shared, cmap=colours, vmin=0.5, vmax=max(1.5, float(shared.max())), interpolation="none"
        )
        ax.figure.colorbar(
            drawn, ax=ax, shrink=0.6, extend="min", ticks=MaxNLocator(integer=True),
            label="experts who know both (red: no one)",
        )  # fmt: skip
        if number <= MOST_NAMED:
            names = [str(name) for name in self.classes]
            ax.set_xticks(np.arange(number), names, rotation=90, fontsize=6, parse_math=False)
            ax.set_yticks(np.arange(number), names, fontsize=6, parse_math=False)
        ax.set_title(f"{len(self.edges):,} pairs covered, {len(self.missing):,} not (red)", fontsize=10)
        return ax


def pair_graph(panel: Panel) -> PairGraph:
    """Return the graph G of a panel: an edge for each two classes that a common expert knows.

    >>> graph = pair_graph(Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]]))
    >>> graph.edges, graph.missing
    ([('cat', 'dog'), ('dog', 'fox')], [('cat', 'fox')])
    """
    counts = np.stack(list(panel.pair_counts())) if len(panel.classes) else np.zeros((0, 0), np.int64)
    return PairGraph(panel.classes, np.asarray(counts, dtype=np.int64))
