"""Table IV: CIFAR-10 accuracy of random panels, m* to m* + 3 experts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from covote.colours import SERIES
from paper import paper_values
from paper.charts import legend_above, side_by_side
from paper.experiment import (
    CLASSES,
    DEFAULT,
    METHODS,
    PAPER,
    Context,
    Needs,
    paired_gap,
    panel_accuracy,
    panel_chances,
    paper_panel,
    subsets_of,
)
from paper.sections import Cell, Claim, Grid, Measurement, Picture, Section, judge, select, verdict
from paper.tables import greedy_covers
from paper.trainers import Subset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZES = (4, 6, 8)
EXTRA = (0, 1, 2, 3)
DRAWS = 2
"""Independent draws, as in the paper."""
LINES = (("train", PAPER), *(("test", method) for method in METHODS))


def draws(size: int, seed: int) -> list[list[Subset]]:
    """Return draws of m* + 3 different random experts; the first m of a draw are a random panel."""
    found = []
    for draw in range(DRAWS):
        rng = np.random.default_rng([seed, size, draw])
        panel: list[Subset] = []
        while len(panel) < numbers(size)[-1]:
            subset = tuple(sorted(int(k) for k in rng.choice(CLASSES, size, replace=False)))
            if subset not in panel:
                panel.append(subset)
        found.append(panel)
    return found


def numbers(size: int) -> list[int]:
    """Return m* to m* + 3, as the paper has them."""
    return [paper_values.GREEDY_SIZES[size] + extra for extra in EXTRA]


def needs(context: Context) -> Needs:
    """Return the experts of every draw, and of the greedy covers that they are compared with."""
    found = []
    for size in reversed(SIZES):
        found += [subset for panel in draws(size, context.seed) for subset in panel]
        found += subsets_of(paper_panel(size))
    return {"cifar10": found}


def build(context: Context) -> Section:
    """Return the table, for the sizes whose experts are trained."""
    experts = context.experts("cifar10", needs(context)["cifar10"], partly=True)
    found: list[Measurement] = []
    ahead: dict[int, dict[tuple[int, int], tuple[float, float]]] = {}
    for n, size in enumerate(SIZES):
        context.progress(n, len(SIZES), f"random: R = {size}")
        panels, cover = draws(size, context.seed), subsets_of(paper_panel(size))
        if not experts.has([subset for panel in panels for subset in panel]):
            continue
        for split, method in LINES:
            for draw, panel in enumerate(panels):
                for m in numbers(size):
                    accuracy = panel_accuracy(experts, panel[:m], split, method)
                    found.append(
                        Measurement("cifar10", split, method, size, accuracy, experts=m, draw=draw + 1)
                    )
            if experts.has(cover):
                accuracy = panel_accuracy(experts, cover, split, method)
                found.append(Measurement("cifar10", split, method, size, accuracy))
        if experts.has(cover):
            whole = panel_chances(experts, cover, "test", PAPER)
            ahead[size] = {
                (m, draw): paired_gap(panel_chances(experts, panel[:m], "test", PAPER), whole)
                for draw, panel in enumerate(panels)
                for m in numbers(size)
            }
    there = sorted({one.size for one in found})
    missing = [f"R = {size}" for size in SIZES if size not in there]
    return Section(
        tuple(_grid(size, select(found, size=size)) for size in there),
        (Picture("random", _chart(found), "Test accuracy of random panels: the two draws and their mean."),),
        tuple(f"Not trained yet: {', '.join(missing)}." for _ in missing[:1]),
        _claims(ahead, found),
        (
            *greedy_covers.differences(experts, greedy_covers.NETWORKS["cifar10"]),
            "Within a draw, the panel of m + 1 experts is the panel of m and one more; every panel is "
            "uniformly random all the same.",
        ),
        measured=tuple(found),
        **experts.about,
    )


Gaps = Mapping[int, Mapping[tuple[int, int], tuple[float, float]]]
"""Points ahead of the greedy cover, and half of the 95% interval, by size, and by experts and draw."""


def _claims(ahead: Gaps, found: Sequence[Measurement]) -> tuple[Claim, ...]:
    """Judge both claims of the paper, by intervals paired over the test images."""
    fewer = {}
    more = {}
    for size, gaps in ahead.items():
        first, *others = numbers(size)
        panels = [gaps[first, draw] for draw in range(DRAWS)]
        # All panels of all sizes are tried, so the best must be ahead by more than the best is by chance.
        wider = interval_of_several(len(others) * DRAWS * len(SIZES)) / 1.96
        said = {judge(-gap, half) for gap, half in panels}
        fewer[f"R = {size}"] = said.pop() if len(said) == 1 else "cannot be told"
        best, half = max((gaps[m, draw] for m in others for draw in range(DRAWS)), key=lambda gap: gap[0])
        more[f"R = {size}"] = judge(best, wider * half)
    told = "; ".join(
        f"R = {size}: "
        + ", ".join(
            f"m = {m}: " + " and ".join(f"{gaps[m, d][0]:+z.2f} ± {gaps[m, d][1]:.2f}" for d in range(DRAWS))
            for m in numbers(size)
        )
        for size, gaps in ahead.items()
    )
    evidence = f"points ahead of the cover, by draw, paper's vote, 95%: {told}" if told else "not trained yet"
    return (
        Claim("m* random experts are less accurate than the cover", verdict(fewer), evidence),
        Claim(
            "a few random experts more can beat the cover",
            verdict(more),
            "the best panel of m* + 1 to m* + 3 experts, its interval widened for the number of panels",
        ),
    )


def interval_of_several(panels: int) -> float:
    """Return how many standard errors the 95% interval of the best of several panels has on either side.

    >>> round(interval_of_several(1), 2), round(interval_of_several(18), 2)
    (1.96, 2.99)
    """
    from scipy.stats import norm

    return float(norm.ppf(1 - 0.025 / panels))


def _grid(size: int, found: Sequence[Measurement]) -> Grid:
    rows = []
    for split, method in LINES:
        mine = select(found, split=split, decoder=method)
        cover = [one.accuracy for one in mine if one.experts is None]
        cells = []
        for m in numbers(size):
            paper = paper_values.RANDOM[size][split][m] if method == PAPER else None
            cells.append(Cell(mean_of(mine, m), paper))
        rows.append((f"{split}, {method}: mean", (*cells, Cell(cover[0] if cover else None))))
        for draw in range(1, DRAWS + 1):
            one_draw = (Cell(one.accuracy) for one in select(mine, draw=draw))
            rows.append((f"{split}, {method}: draw {draw}", (*one_draw, Cell())))
    columns = (*(f"m = {m}" for m in numbers(size)), "greedy cover")
    return Grid(f"R = {size}: accuracy in percent", columns, tuple(rows))


def mean_of(found: Iterable[Measurement], experts: int) -> float:
    """Return the mean accuracy of the draws with so many experts."""
    return float(np.mean([one.accuracy for one in select(found, experts=experts)]))


def _chart(found: Sequence[Measurement]) -> Figure:
    figure, parts = side_by_side(len(SIZES), "random experts (m)", "test accuracy (%)")
    for axes, size in zip(parts, SIZES, strict=True):
        axes.plot(
            numbers(size), [paper_values.RANDOM[size]["test"][m] for m in numbers(size)],
            "x--", color=SERIES[0], markersize=6, label="paper",
        )  # fmt: skip
        for method, colour in ((PAPER, SERIES[1]), (DEFAULT, SERIES[2])):
            mine = select(found, split="test", decoder=method, size=size)
            if mine:
                means = [mean_of(mine, m) for m in numbers(size)]
                axes.plot(numbers(size), means, "-", color=colour, label=method)
            for one in mine:
                if one.experts is None:
                    axes.axhline(one.accuracy, color=colour, linewidth=1, linestyle=":")
                else:
                    axes.plot(one.experts, one.accuracy, ".", color=colour, markersize=5)
        axes.set_title(f"R = {size} (dotted: greedy cover)", fontsize=9)
        axes.set_xticks(numbers(size))
    return legend_above(figure)
