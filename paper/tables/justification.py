"""Figures: how confident experts are about classes they do not know, and how their answers spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.colours import SERIES
from covote.files.charts import new_figure
from paper.experiment import SIZES, Context, Needs, paper_subsets
from paper.sections import FAILS, HOLDS, Cell, Claim, Grid, Picture, Section, verdict
from paper.store import Experts
from paper.trainers.neural import quick_softmax

PER_CLASS = 1000
SURE = 0.9
UNIFORM = 0.9


def needs(context: Context) -> Needs:
    """Return the paper's 62 experts; the quick profile trains its own networks, see `build`."""
    return {} if context.profile == "quick" else {"mnist": paper_subsets()}


def build(context: Context) -> Section:
    """Return the two histograms and their findings."""
    experts = _experts(context)
    seen = [summarise(experts, subset) for subset in paper_subsets()]
    by_size = {f"R = {size}": [one for one in seen if one.size == size] for size in SIZES}
    by_size["all 62"] = seen
    return Section(
        grids=(_softmax_grid(by_size), _entropy_grid(by_size)),
        pictures=_pictures(by_size),
        claims=_claims(by_size),
        differences=(
            f"Up to {PER_CLASS:,} test images of each unfamiliar class; MNIST has fewer than that for some "
            "digits. The paper does not say from which part its 1,000 come.",
        ),
        **experts.about,
    )


def _experts(context: Context) -> Experts:
    if context.profile != "quick":
        return context.experts("mnist", paper_subsets())
    # Ridge experts have no softmax, so the quick profile trains small networks for this figure.
    trainer = quick_softmax(seed=context.seed)
    return context.experts_by(trainer, context.images("mnist"), paper_subsets())


@dataclass(frozen=True)
class AnswerSummary:
    """One expert's answers about test images.

    Attributes
    ----------
    size
        How many classes it knows.
    unfamiliar, familiar
        The largest softmax for every image of a class it does not know, and of one it knows.
    entropies
        For each unfamiliar class, how evenly its answers spread over the classes it knows, 0 to 1.
    """

    size: int
    unfamiliar: NDArray[np.float32]
    familiar: NDArray[np.float32]
    entropies: NDArray[np.float64]


def summarise(experts: Experts, subset: tuple[int, ...]) -> AnswerSummary:
    """Summarise an expert's answers about up to 1,000 test images of each class."""
    expert, truth = experts.by_subset[subset], experts.truth("test")
    largest = expert.probabilities["test"].max(axis=1).astype(np.float32)
    rows = {k: np.flatnonzero(truth == k)[:PER_CLASS] for k in range(len(experts.data.classes))}
    unfamiliar = [rows[k] for k in rows if k not in subset]
    votes = expert.votes["test"]
    return AnswerSummary(
        len(subset),
        largest[np.concatenate(unfamiliar)],
        largest[np.concatenate([rows[k] for k in subset])],
        np.array([normalised_entropy(votes[some], subset) for some in unfamiliar if len(some)]),
    )


def normalised_entropy(votes: NDArray[np.integer[Any]], subset: tuple[int, ...]) -> float:
    """Return the entropy of votes over the classes of an expert, as a share of the largest, log R.

    Paper: section Model Justification.

    >>> normalised_entropy(np.array([3, 7, 3, 7]), (3, 7))
    1.0
    >>> normalised_entropy(np.array([3, 3, 3]), (3, 7))
    0.0
    """
    shares = np.array([np.mean(votes == k) for k in subset])
    shares = shares[shares > 0]
    return float(abs(np.sum(shares * np.log(shares))) / np.log(len(subset)))


Groups = dict[str, list[AnswerSummary]]


def _all(group: list[AnswerSummary], what: str) -> NDArray[Any]:
    return np.concatenate([getattr(one, what) for one in group])


def _grid(title: str, groups: Groups, rows: dict[str, Any], note: str) -> Grid:
    cells = tuple(
        (name, tuple(Cell(100 * float(value(g))) for g in groups.values())) for name, value in rows.items()
    )
    return Grid(title, tuple(groups), cells, note, digits=1)


def _softmax_grid(groups: Groups) -> Grid:
    return _grid(
        "The largest softmax (% of images)",
        groups,
        {
            "unfamiliar, above 0.9": lambda g: np.mean(_all(g, "unfamiliar") > SURE),
            "unfamiliar, above 0.99": lambda g: np.mean(_all(g, "unfamiliar") > 0.99),
            "familiar, above 0.9": lambda g: np.mean(_all(g, "familiar") > SURE),
            "familiar, above 0.99": lambda g: np.mean(_all(g, "familiar") > 0.99),
        },
        "The paper prints no shares; it says that experts often give extremely confident predictions of "
        "images of classes that they know nothing about.",
    )


def _entropy_grid(groups: Groups) -> Grid:
    return _grid(
        "Normalised entropy of the answers (% of pairs of expert and unfamiliar class)",
        groups,
        {
            "above 0.9, nearly uniform": lambda g: np.mean(_all(g, "entropies") > UNIFORM),
            "0.1 to 0.9": lambda g: np.mean(
                (_all(g, "entropies") <= UNIFORM) & (_all(g, "entropies") >= 0.1)
            ),
            "below 0.1, nearly always the same answer": lambda g: np.mean(_all(g, "entropies") < 0.1),
            "mean entropy, times 100": lambda g: np.mean(_all(g, "entropies")),
        },
        "The paper prints no shares; it says that a nontrivial proportion behaves like uniform noise.",
    )


def _claims(groups: Groups) -> tuple[Claim, ...]:
    sure = {name: 100 * float(np.mean(_all(g, "unfamiliar") > SURE)) for name, g in groups.items()}
    even = {name: 100 * float(np.mean(_all(g, "entropies") > UNIFORM)) for name, g in groups.items()}
    familiar = 100 * float(np.mean(_all(groups["all 62"], "familiar") > SURE))
    return (
        Claim(
            "experts are often extremely confident about classes they do not know "
            f"(here: a softmax above {SURE} in more than half of the answers)",
            _above(sure, 50),
            f"{_listed(sure)}; about familiar classes {familiar:.1f}%",
        ),
        Claim(
            "their answers about a nontrivial proportion of classes are like uniform noise "
            f"(here: a normalised entropy above {UNIFORM} in more than 5% of the pairs of expert and class)",
            _above(even, 5),
            _listed(even),
        ),
    )


def _above(shares: dict[str, float], least: float) -> str:
    return verdict({name: HOLDS if share > least else FAILS for name, share in shares.items()})


def _listed(shares: dict[str, float]) -> str:
    return ", ".join(f"{name}: {share:.1f}%" for name, share in shares.items())


def _pictures(groups: Groups) -> tuple[Picture, ...]:
    parts = [(name, group) for name, group in groups.items() if name != "all 62"]
    drawn = []
    for name, what, label, caption in (
        (
            "softmax",
            "unfamiliar",
            "largest softmax",
            "The largest softmax on images of unfamiliar classes, 62 experts.",
        ),
        (
            "entropy",
            "entropies",
            "normalised entropy",
            "Normalised entropy of an expert's answers about one unfamiliar class; 1 is uniform.",
        ),
    ):
        figure, axes = new_figure()
        values = [_all(group, what) for _, group in parts]
        whole = sum(len(value) for value in values)
        axes.hist(
            values,
            bins=np.linspace(0, 1, 21),
            weights=[np.full(len(value), 100 / whole) for value in values],
            stacked=True,
            label=[label for label, _ in parts],
            color=SERIES[1 : len(parts) + 1],
        )
        axes.set_xlabel(label)
        axes.set_ylabel("share (%)")
        axes.legend(frameon=False, fontsize=8)
        drawn.append(Picture(f"justification-{name}", figure, caption))
    return tuple(drawn)
