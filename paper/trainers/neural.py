"""Experts that are neural networks, trained in parallel processes of one thread each."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from covote.errors import InputError, MissingDependencyError
from covote.progress import Progress
from paper.cores import in_processes
from paper.datasets import ImageSet
from paper.trainers import Subset, TrainedExpert, file_name


@dataclass(frozen=True)
class Recipe:
    """Network, length, optimiser and augmentation of one expert's training.

    Attributes
    ----------
    network
        A name of :data:`paper.trainers.networks.NETWORKS`, or a function that makes a torch
        module from the number of channels, the side of the images and the number of classes.
    batch
        The most images per step; the steps of an epoch are of equal size.
    rate
        The (largest) learning rate.
    epochs
        How often every expert sees each of its images.
    optimiser
        "nesterov" or "adadelta".
    schedule
        "constant", "one-cycle" (up and down once) or "triangle" (the same, but never at 0).
    decay
        Weight decay on the kernels.
    momentum, bias_rate
        For "nesterov": its momentum, and how many times faster biases learn than kernels.
    smoothing
        Of the labels: this share of every label is spread over all classes.
    augment
        "none" or "flips and shifts" (up to two whole pixels; answers are averaged over flips and shifts of
        an image).
    centre
        "nothing" or "channels" (mean and deviation of each channel, over the expert's own training images).
    early_scale
        In the first half of the epochs, images are scaled to this share of their side to save time.
    bfloat16
        Whether steps compute in 16 bits where that is faster; weights and answers always have 32.
    """

    network: str | Callable[[int, int, int], Any]
    batch: int
    rate: float
    epochs: int
    optimiser: str = "nesterov"
    schedule: str = "constant"
    decay: float = 0.0
    momentum: float = 0.9
    bias_rate: float = 1.0
    smoothing: float = 0.0
    augment: str = "none"
    centre: str = "nothing"
    early_scale: float = 1.0
    bfloat16: bool = False

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.batch < 1:
            raise InputError(f"nothing to train: {self}")

    def text(self) -> str:
        """Return the recipe in one line; two recipes train alike exactly if their lines are equal."""
        told = {field.name: getattr(self, field.name) for field in fields(self)}
        if callable(self.network):
            told["network"] = f"{self.network.__module__}.{self.network.__qualname__}"
        return ", ".join(f"{name} {value}" for name, value in told.items())


@dataclass(frozen=True)
class Local:
    """How a client of federated averaging trains: plain gradient descent, so that a round has no memory.

    Attributes
    ----------
    network
        A name of :data:`paper.trainers.networks.NETWORKS`, one without running statistics.
    batch, rate
        The most images per step, and the learning rate.
    bfloat16
        Whether steps compute in 16 bits where that is faster.
    """

    network: str
    batch: int
    rate: float
    bfloat16: bool = False


# The figure only shows how confident networks are, so a short training of a small one is enough.
QUICK_SOFTMAX = Recipe("strided", batch=64, rate=0.05, epochs=1, schedule="one-cycle")
# The settings of Jordan's airbench94 with half of its channels, for two cores instead of a GPU.
PAPER_CIFAR10 = Recipe(
    "whitened",
    batch=512,
    rate=0.75,
    epochs=12,
    schedule="triangle",
    decay=1.3e-3,
    momentum=0.85,
    bias_rate=64.0,
    smoothing=0.2,
    augment="flips and shifts",
    centre="channels",
    early_scale=0.75,
    bfloat16=True,
)
# For Table V the paper halves the epochs and keeps its batch of 32; the rate goes with the batch.
FEW_CIFAR10 = replace(PAPER_CIFAR10, batch=32, rate=PAPER_CIFAR10.rate * 32 / PAPER_CIFAR10.batch, epochs=6)
# The example of keras that the paper names, with the defaults of keras 2.3.
PAPER_MNIST = Recipe("mnist_cnn", batch=128, rate=1.0, epochs=12, optimiser="adadelta", bfloat16=True)


@dataclass(frozen=True)
class NeuralTrainer:
    """A trainer: one network per expert.

    Attributes
    ----------
    name
        What the experts are, in words.
    training
        How each of them is trained.
    surrogate
        Whether this is another network or training than the paper's.
    train_rows
        How many training images, from the first on, the expert answers after training; None for all.
    seed
        Together with the classes of an expert, it seeds that expert's training.
    workers
        How many experts are trained at the same time, each in its own process; None for one per core.
    """

    name: str
    training: Recipe
    surrogate: bool
    train_rows: int | None = None
    seed: int = 0
    workers: int | None = None

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader should know about the training."""
        said = "Training steps compute in 16 bits (bfloat16) on processors with AVX-512; the paper's in 32."
        return (said,) if self.training.bfloat16 else ()

    @property
    def recipe(self) -> str:
        """Everything that determines the result."""
        return f"version 3, {self.training.text()}, votes on {self.train_rows} images, seed {self.seed}"

    def train(
        self, data: ImageSet, subsets: Sequence[Subset], progress: Progress, folder: Path | None = None
    ) -> Iterator[TrainedExpert]:
        """Train one expert per subset, and yield each when it is ready.

        Each epoch is saved in `folder`, where an interrupted run resumes.
        """
        require_torch(self.name)
        counts = np.bincount(data.train_y, minlength=len(data.classes))
        images = [int(counts[list(subset)].sum()) for subset in subsets]
        what = f"{data.name}: {self.name}"
        done, total = 0, sum(images)
        progress(done, total, what)
        work = partial(train_one, self, data, folder)
        for number, expert in enumerate(in_processes(work, subsets, self.workers), start=1):
            yield expert
            # Time goes with the number of images, so that is what progress counts.
            done += int(counts[list(expert.subset)].sum())
            progress(done, total, f"{what}, {number} of {len(subsets)} experts")


def train_one(trainer: NeuralTrainer, data: ImageSet, folder: Path | None, subset: Subset) -> TrainedExpert:
    """Train the expert that knows `subset`, and record its answers about every image."""
    from paper.trainers.networks import TrainedNetwork, fit

    place = np.full(len(data.classes), -1)
    place[list(subset)] = np.arange(len(subset))
    mine = np.isin(data.train_y, subset)

    def right(expert: TrainedNetwork) -> float:
        return float(np.mean(expert.probabilities(data.test_x).argmax(axis=1) == data.test_y))

    expert = fit(
        data.train_x[mine],
        place[data.train_y[mine]],
        len(subset),
        trainer.training,
        seed_of(trainer.seed, subset),
        keep=None if folder is None else folder / f"{file_name(subset)}.pt",
        # Only the centralised model is measured after every epoch: its accuracy against time.
        look=right if len(subset) == len(data.classes) else None,
    )
    started = time.process_time()
    train = expert.probabilities(data.train_x[: trainer.train_rows])
    test = expert.probabilities(data.test_x)
    seconds = expert.seconds + time.process_time() - started
    return TrainedExpert(subset, train, test, seconds, expert.curve)


def seed_of(seed: int, subset: Subset) -> int:
    """Return a different seed for every expert.

    >>> seed_of(0, (1, 2)) == seed_of(0, (1, 3))
    False
    """
    return int(np.random.SeedSequence([seed, *subset]).generate_state(1)[0])


def require_torch(what: str) -> None:
    """Raise an error with the install line if torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        raise MissingDependencyError(f"{what} needs PyTorch; install it with: pip install 'covote[torch]'")


def quick_softmax(seed: int = 0) -> NeuralTrainer:
    """Return the trainer behind the quick profile's figures of softmax: test images only."""
    return NeuralTrainer("small strided CNN", QUICK_SOFTMAX, True, 0, seed)


def paper_cifar10(seed: int = 0) -> NeuralTrainer:
    """Return the trainer of profile paper for CIFAR-10: 91.8% after 5 CPU minutes."""
    return NeuralTrainer("whitened CNN, 12 epochs", PAPER_CIFAR10, True, 5_000, seed)


def few_cifar10(seed: int = 0) -> NeuralTrainer:
    """Return the trainer of profile paper for 500 images of each class of CIFAR-10."""
    return NeuralTrainer("whitened CNN, 6 epochs in batches of 32", FEW_CIFAR10, True, 5_000, seed)


def paper_mnist(seed: int = 0) -> NeuralTrainer:
    """Return the paper's own set-up for MNIST."""
    return NeuralTrainer("mnist_cnn of keras", PAPER_MNIST, False, None, seed)
