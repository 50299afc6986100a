"""Experts that are neural networks, trained in parallel processes of one thread each."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from covote.errors import InputError, MissingDependencyError
from covote.progress import Progress
from covote.reproduction.cores import in_processes
from covote.reproduction.datasets import ImageSet
from covote.reproduction.trainers import Subset, Trained


@dataclass(frozen=True)
class Recipe:
    """Network, length, optimiser and augmentation of one expert's training.

    Attributes
    ----------
    network
        A name of :data:`covote.reproduction.trainers.networks.NETWORKS`.
    batch
        Images per step.
    rate
        The (largest) learning rate.
    steps, epochs
        The length; exactly one of them is given. With `steps` every expert takes the same number of steps,
        however many images it has; with `epochs` every expert sees its images equally often.
    optimiser
        "nesterov", "adam" or "adadelta".
    schedule
        "constant", "one-cycle" (up and down once) or "drops" (of the ResNet example of keras).
    decay
        Weight decay on the kernels.
    augment
        "none", "flip and nudge" (up to one whole pixel) or "keras" (fractions of pixels, as its generator
        does).
    centre
        "nothing", "channels" (mean and deviation of each channel) or "pixels" (mean of each pixel), over the
        expert's own training images.
    """

    network: str
    batch: int
    rate: float
    steps: int | None = None
    epochs: int | None = None
    optimiser: str = "nesterov"
    schedule: str = "constant"
    decay: float = 0.0
    augment: str = "none"
    centre: str = "nothing"

    def __post_init__(self) -> None:
        if (self.steps is None) == (self.epochs is None):
            raise InputError("give a recipe either steps or epochs")
        if self.length(self.batch) < 1 or self.batch < 1:
            raise InputError(f"nothing to train: {self}")

    def length(self, images: int) -> int:
        """Return the number of steps for `images` images.

        >>> Recipe("strided", batch=128, rate=0.1, epochs=12).length(12_000)
        1128
        """
        if self.steps is not None:
            return self.steps
        return (self.epochs or 0) * -(-images // self.batch)

    def shortened(self, effort: float) -> Recipe:
        """Return the recipe with `effort` times the steps or epochs, at least one.

        >>> Recipe("strided", batch=128, rate=0.1, epochs=12).shortened(0.5).epochs
        6
        """
        if not 0 < effort <= 1:
            raise InputError(f"effort {effort}; give a share of the training, above 0 and up to 1")
        if self.steps is not None:
            return replace(self, steps=max(1, round(self.steps * effort)))
        return replace(self, epochs=max(1, round((self.epochs or 0) * effort)))

    def text(self) -> str:
        """Return the recipe in one line; two recipes train alike exactly if their lines are equal."""
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items() if value is not None)


@dataclass(frozen=True)
class Local:
    """How a client of federated averaging trains: plain gradient descent, so that a round has no memory.

    Attributes
    ----------
    network
        A name of :data:`covote.reproduction.trainers.networks.NETWORKS`, one without running statistics.
    batch, rate
        Images per step, and the learning rate.
    """

    network: str
    batch: int
    rate: float


# Only how sure the networks are is looked at, so a short training of a small network is enough.
QUICK_SOFTMAX = Recipe("strided", batch=64, rate=0.05, steps=200, schedule="one-cycle")
# Length and rate of the medium recipes were chosen on the centralised model with held-out training images.
MEDIUM_MNIST = Recipe(
    "compact 3",
    batch=128,
    rate=0.2,
    steps=900,
    schedule="one-cycle",
    decay=5e-4,
    centre="channels",
)
MEDIUM_CIFAR10 = Recipe(
    "compact 4",
    batch=64,
    rate=0.1,
    steps=700,
    schedule="one-cycle",
    decay=5e-4,
    augment="flip and nudge",
    centre="channels",
)
# The examples of keras that the paper names, with the defaults of keras 2.3.
FULL_MNIST = Recipe("mnist_cnn", batch=128, rate=1.0, epochs=12, optimiser="adadelta")
FULL_CIFAR10 = Recipe(
    "resnet20",
    batch=32,
    rate=1e-3,
    epochs=200,
    optimiser="adam",
    schedule="drops",
    decay=2e-4,
    augment="keras",
    centre="pixels",
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
    remarks: ClassVar = ()

    @property
    def recipe(self) -> str:
        """Everything that decides what comes out."""
        return f"version 1, {self.training.text()}, votes on {self.train_rows} images, seed {self.seed}"

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
    from covote.reproduction.trainers.networks import fit

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
