"""How a network is trained: everything that decides the outcome, in one frozen value."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace

from covote.errors import InputError


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
        """Return the number of steps for so many images.

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
