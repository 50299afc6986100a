"""The paper's objects behind its theorems: output sets S_k, and the graph G of covered pairs."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import TooLargeError
from covote.panel import Name, Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
            "decode(method='authority') tells output sets apart without listing them"
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
        """Draw classes on a circle, covered pairs as lines (thicker: more experts), missing ones dashed."""
        from matplotlib.figure import Figure

        number = len(self.classes)
        if ax is None:
            ax = Figure(figsize=(6.4, 6.4), layout="constrained").add_subplot()
        angle = np.pi / 2 - 2 * np.pi * np.arange(number) / max(1, number)
        x, y = np.cos(angle), np.sin(angle)
        most = max(1, int(np.triu(self.experts, 1).max(initial=0)))
        for k in range(number):
            for j in range(k + 1, number):
                shared = int(self.experts[k, j])
                style: dict[str, Any] = (
                    {"color": "#1f6f8b", "linewidth": 0.6 + 1.8 * shared / most, "alpha": 0.6}
                    if shared
                    else {"color": "#b5532a", "linewidth": 1.2, "linestyle": "--"}
                )
                ax.plot(x[[k, j]], y[[k, j]], zorder=1 if shared else 2, **style)
        ax.scatter(x, y, s=30, color="black", zorder=3)
        if number <= 60:
            for name, right, up in zip(self.classes, x, y, strict=True):
                place = 1.08 * right, 1.08 * up
                ax.text(*place, str(name), ha="center", va="center", fontsize=9, parse_math=False)
        ax.set_xlim(-1.25, 1.25)
        ax.set_ylim(-1.25, 1.25)
        ax.set_aspect("equal")
        ax.set_axis_off()
        ax.set_title(f"{len(self.edges):,} pairs covered, {len(self.missing):,} not (dashed)", fontsize=10)
        return ax


def pair_graph(panel: Panel) -> PairGraph:
    """Return the graph G of a panel: an edge for each two classes that a common expert knows.

    >>> graph = pair_graph(Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]]))
    >>> graph.edges, graph.missing
    ([('cat', 'dog'), ('dog', 'fox')], [('cat', 'fox')])
    """
    counts = np.stack(list(panel.pair_counts())) if len(panel.classes) else np.zeros((0, 0), np.int64)
    return PairGraph(panel.classes, np.asarray(counts, dtype=np.int64))
