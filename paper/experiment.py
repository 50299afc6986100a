"""What every table and figure works with: data, stored votes, the paper's panels, ways to decode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.covers import design
from covote.decoding import decode
from covote.errors import DataError, InputError
from covote.panel import Panel
from covote.progress import Progress
from covote.votes import Votes
from paper.cores import in_threads
from paper.datasets import DataSource, ImageSet, load_images
from paper.store import Experts, Store
from paper.trainers import Subset, Trainer, neural, ridge

SIZES = (2, 4, 6, 8)
"""The sizes of experts (R) in the paper's experiments, without 10, the centralised model."""
CLASSES = 10
Needs = Mapping[str, Sequence[Subset]]
"""The experts that a table needs, by image set."""
TRAINERS: dict[str, dict[str, Callable[..., Trainer]]] = {
    "quick": {
        "mnist": ridge.mnist, "fashion": ridge.mnist, "cifar10": ridge.cifar10, "cifar10-few": ridge.cifar10
    },
    "paper": {
        "mnist": neural.paper_mnist, "fashion": neural.paper_mnist, "cifar10": neural.paper_cifar10,
        "cifar10-few": neural.few_cifar10,
    },
}  # fmt: skip
"""The trainer of each profile and image set, made from a seed; `-few` is for few images of each class."""


@dataclass(eq=False)
class Context:
    """One run of the experiments.

    Attributes
    ----------
    source, out, keep
        Where the datasets are, where pages go, and where trained experts are kept (default: in `out`).
    profile, seed
        How experts are trained, and their seed.
    train
        Whether to train experts that are not stored; otherwise, tables that need them are left out.
    workers
        How many processes train networks (default: one for each core).
    curves
        Which curves of federated averaging to make, by R and scheme; stored ones are shown in any case.
    """

    source: DataSource
    out: Path
    profile: str = "quick"
    seed: int = 0
    train: bool = True
    progress: Progress = lambda done, total, message: None
    keep: Path | None = None
    workers: int | None = None
    curves: Callable[[int, str], bool] = lambda size, scheme: True
    _images: dict[str, ImageSet] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.profile not in TRAINERS:
            raise InputError(f"no profile {self.profile!r}; choose one of {', '.join(TRAINERS)}")

    @property
    def page(self) -> Path:
        """The page of results."""
        return self.out / f"{self.profile}.md"

    @cached_property
    def store(self) -> Store:
        """Everything that is trained."""
        return Store(self.keep or self.out / "experts")

    def images(self, name: str) -> ImageSet:
        """Return an image set; it is read once."""
        if name not in self._images:
            self.progress(0, 1, f"reading {name}")
            self._images[name] = load_images(name, self.source)
        return self._images[name]

    def experts(
        self,
        images: str,
        subsets: Iterable[Subset],
        *,
        per_class: int | None = None,
        partly: bool = False,
    ) -> Experts:
        """Return experts of an image set: stored ones where possible, others trained now.

        Where nothing may be trained, `partly` returns the stored ones.
        """
        data = self.images(images).reduced(per_class, self.seed)
        model = TRAINERS[self.profile][images + "-few" * (per_class is not None)](seed=self.seed)
        return self.experts_by(model, data, subsets, partly=partly)

    def experts_by(
        self, model: Trainer, data: ImageSet, subsets: Iterable[Subset], *, partly: bool = False
    ) -> Experts:
        """Return the experts of any trainer on any data set, in the same way."""
        wanted = list(dict.fromkeys(subsets))
        if not self.train:
            there = self.store.stored(data, model, wanted)
            if not there or (len(there) < len(wanted) and not partly):
                raise DataError(
                    f"{len(wanted) - len(there)} of {len(wanted)} experts on {data.name} are not trained "
                    "yet; run again without --stored"
                )
            wanted = there
        if isinstance(model, neural.NeuralTrainer):
            model = replace(model, workers=self.workers)
        return self.store.experts(data, model, wanted, self.progress)


def paper_panel(size: int) -> Panel:
    """Return the paper's greedy cover of ten classes by experts of this size.

    >>> [len(paper_panel(size)) for size in SIZES]
    [45, 9, 5, 3]
    """
    return design(CLASSES, size, method="paper")


def subsets_of(panel: Panel) -> list[Subset]:
    """Return what each expert of a panel knows, as class indices."""
    return [tuple(int(k) for k in row.nonzero()[0]) for row in panel.knows]


def paper_subsets() -> list[Subset]:
    """Return the 62 experts of the paper's four covers.

    >>> len(paper_subsets())
    62
    """
    return [subset for size in SIZES for subset in subsets_of(paper_panel(size))]


ALL_CLASSES: Subset = tuple(range(CLASSES))
"""What the centralised model knows."""


# Accuracy

PAPER = "paper's vote"
PLAIN = "covote, votes alone"
DEFAULT = "covote, with probabilities"
METHODS: dict[str, tuple[bool, dict[str, Any]]] = {
    PAPER: (False, {"method": "authority"}),
    PLAIN: (False, {}),
    DEFAULT: (True, {}),
}
"""How the paper's panels are decoded: whether with probabilities, and the options of `decode`."""


def panel_chances(
    experts: Experts, subsets: Sequence[Subset], split: str, method: str
) -> NDArray[np.float64]:
    """Return how likely each item is labelled right by one of `METHODS`: 1, 0, or what a fair draw gives."""
    soft, options = METHODS[method]
    found: NDArray[np.float64] = decode(experts.votes(subsets, split, soft=soft), **options).expected_score(
        experts.truth(split)
    )
    return found


def panel_accuracy(experts: Experts, subsets: Sequence[Subset], split: str, method: str) -> float:
    """Return the accuracy, in percent, of a panel of stored experts by one of `METHODS`."""
    return 100 * float(panel_chances(experts, subsets, split, method).mean())


def paired_gap(first: NDArray[np.float64], second: NDArray[np.float64]) -> tuple[float, float]:
    """Return how many points the first is ahead of the second, and half of the 95% interval, paired by item.

    >>> ahead, half = paired_gap(np.array([1.0, 1.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0, 1.0]))
    >>> round(ahead, 1), round(half, 1)
    (25.0, 49.0)
    """
    gain = 100 * (first - second)
    return float(gain.mean()), float(1.96 * gain.std(ddof=1) / np.sqrt(len(gain)))


def panel_accuracies(
    experts: Experts, panels: Iterable[Sequence[Subset]], split: str, method: str
) -> Iterator[float]:
    """Yield the accuracy of each of several panels, as they are decoded; all cores are used."""
    return in_threads(lambda subsets: panel_accuracy(experts, subsets, split, method), panels)


def label_accuracy(votes: Votes, truth: NDArray[np.int64], method: str = "learned", **options: Any) -> float:
    """Return the share of right labels that a method gives; a tied item counts what a fair draw would give.

    A panel may leave a class without an expert; such a class is never a label.
    """
    return float(decode(votes, method=method, **options).expected_score(truth).mean())
