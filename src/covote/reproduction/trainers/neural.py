"""Experts that are neural networks, trained in parallel processes of one thread each."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from covote.errors import MissingDependencyError
from covote.reproduction.cores import in_processes
from covote.reproduction.datasets import ImageSet
from covote.reproduction.trainers import Progress, Subset, Trained
from covote.reproduction.trainers.recipes import (
    FULL_CIFAR10,
    FULL_MNIST,
    MEDIUM_CIFAR10,
    MEDIUM_MNIST,
    QUICK_SOFTMAX,
    Recipe,
)


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
        So many training images, the first, are asked about after training; None for all.
    seed
        Together with what an expert knows it decides where its training starts.
    workers
        Experts trained at the same time, each in a process of its own; None for one per core.
    """

    name: str
    training: Recipe
    surrogate: bool
    train_rows: int | None = None
    seed: int = 0
    workers: int | None = None

    @property
    def recipe(self) -> str:
        """Everything that decides what comes out."""
        return f"version 1, {self.training.text()}, votes on {self.train_rows} images, seed {self.seed}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Nothing more to say: the name and the recipe say it."""
        return ()

    def train(self, data: ImageSet, subsets: Sequence[Subset], progress: Progress) -> Iterator[Trained]:
        """Train one expert per subset, and give each as soon as it is there."""
        require_torch(self.name)
        what = f"{data.name}: {self.name}"
        progress(0, len(subsets), what)
        trained = in_processes(partial(train_one, self, data), subsets, self.workers)
        for done, expert in enumerate(trained, start=1):
            yield expert
            progress(done, len(subsets), what)


def train_one(trainer: NeuralTrainer, data: ImageSet, subset: Subset) -> Trained:
    """Train the expert that knows `subset`, and ask it about every image."""
    from covote.reproduction.trainers.fitting import fit

    started = time.process_time()
    place = np.full(len(data.classes), -1)
    place[list(subset)] = np.arange(len(subset))
    mine = np.isin(data.train_y, subset)
    expert = fit(
        data.train_x[mine],
        place[data.train_y[mine]],
        len(subset),
        trainer.training,
        seed_of(trainer.seed, subset),
    )
    train = expert.probabilities(data.train_x[: trainer.train_rows])
    test = expert.probabilities(data.test_x)
    return Trained(subset, train, test, time.process_time() - started)


def seed_of(seed: int, subset: Subset) -> int:
    """Return a seed of its own for every expert.

    >>> seed_of(0, (1, 2)) == seed_of(0, (1, 3))
    False
    """
    return int(np.random.SeedSequence([seed, *subset]).generate_state(1)[0])


def require_torch(what: str) -> None:
    """Raise an error with the install line if torch is not there."""
    if importlib.util.find_spec("torch") is None:
        raise MissingDependencyError(f"{what} needs PyTorch; install it with: pip install 'covote[torch]'")


def quick_softmax(seed: int = 0) -> NeuralTrainer:
    """Return the trainer behind the quick profile's figures of softmax: test images only."""
    return NeuralTrainer("small strided CNN", QUICK_SOFTMAX, True, 0, seed)


def medium_mnist(seed: int = 0, effort: float = 1.0) -> NeuralTrainer:
    """Return the medium trainer for grey images: small networks, equal steps for every expert."""
    return NeuralTrainer("compact CNN", MEDIUM_MNIST.shortened(effort), True, 10_000, seed)


def medium_cifar10(seed: int = 0, effort: float = 1.0) -> NeuralTrainer:
    """Return the medium trainer for CIFAR-10: small networks, equal steps for every expert."""
    return NeuralTrainer("compact CNN", MEDIUM_CIFAR10.shortened(effort), True, 10_000, seed)


def full_mnist(seed: int = 0, effort: float = 1.0) -> NeuralTrainer:
    """Return the paper's own set-up for MNIST; made for a GPU."""
    return NeuralTrainer("mnist_cnn of keras", FULL_MNIST.shortened(effort), False, None, seed, workers=1)


def full_cifar10(seed: int = 0, effort: float = 1.0) -> NeuralTrainer:
    """Return the paper's own set-up for CIFAR-10; made for a GPU."""
    return NeuralTrainer("ResNet20 v1", FULL_CIFAR10.shortened(effort), False, None, seed, workers=1)
