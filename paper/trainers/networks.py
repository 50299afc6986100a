"""The networks of the experiments, their training and their predictions. Importing this needs torch."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from covote import atomic
from covote.errors import FileError
from paper.trainers.neural import Recipe

FLIPS = "flips and shifts"


class Whitened(nn.Sequential):  # type: ignore[misc]  # torch may be absent where types are checked
    """A fixed layer that whitens patches, and three blocks of two convolutions; for two cores.

    Reference: K. Jordan, 94% on CIFAR-10 in 3.29 seconds on a single GPU, 2024 (airbench94), with half of its
    channels and without its lookahead optimiser.
    """

    def __init__(self, channels: int, classes: int, widths: tuple[int, ...] = (32, 128, 128)) -> None:
        first = nn.Conv2d(channels, 2 * 4 * channels, 2)
        first.weight.requires_grad = False
        nn.init.zeros_(first.bias)
        layers: list[nn.Module] = [first, nn.GELU()]
        channels = first.out_channels
        for width in widths:
            layers += [_identity_convolution(channels, width), nn.MaxPool2d(2), *_batch_norm(width)]
            layers += [_identity_convolution(width, width), *_batch_norm(width)]
            channels = width
        super().__init__(
            *layers, nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(channels, classes, bias=False)
        )

    def forward(self, images: Tensor) -> Tensor:
        """Return the answers, scaled so that training starts with small ones."""
        return super().forward(images) / 9

    def set_whitening(self, images: Tensor) -> None:
        """Set the first layer to the principal directions of the images' patches, and their opposites."""
        patches = images.unfold(2, 2, 1).unfold(3, 2, 1).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(0, 2)
        values, vectors = torch.linalg.eigh(patches.T @ patches / len(patches))
        found = vectors.T.flip(0) / (values.flip(0)[:, None] + 5e-4).sqrt()
        shaped = found.unflatten(1, (images.shape[1], 2, 2))
        self[0].weight.data.copy_(torch.cat([shaped, -shaped]))

    def follow_progress(self, share: float) -> None:
        """Let the first layer's bias learn only in the first third of the training."""
        self[0].bias.requires_grad = share < 1 / 3


def _identity_convolution(channels: int, width: int) -> nn.Conv2d:
    """Return a convolution that at first passes its input through, as far as it has channels for it."""
    layer = nn.Conv2d(channels, width, 3, padding=1, bias=False)
    nn.init.dirac_(layer.weight.data[:channels])
    return layer


def _batch_norm(width: int) -> list[nn.Module]:
    norm = nn.BatchNorm2d(width, momentum=0.4)
    norm.weight.requires_grad = False
    return [norm, nn.GELU()]


def whitened(channels: int, side: int, classes: int) -> nn.Sequential:
    """The network of profile paper for CIFAR-10."""
    return Whitened(channels, classes)


def strided(channels: int, side: int, classes: int) -> nn.Sequential:
    """Two strided convolutions and one dense layer, without normalisation: the cheapest network here.

    It has no running statistics, so averages of its weights are all that federated averaging needs.
    """
    last = (side + 3) // 4
    return nn.Sequential(
        nn.Conv2d(channels, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * last * last, classes),
    )


def mnist_cnn(channels: int, side: int, classes: int) -> nn.Sequential:
    """The network of keras' mnist_cnn example, which the paper uses for MNIST."""
    network = nn.Sequential(
        nn.Conv2d(channels, 32, 3),
        nn.ReLU(),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Dropout(0.25),
        nn.Flatten(),
        nn.Linear(64 * ((side - 4) // 2) ** 2, 128),
        nn.ReLU(),
        nn.Dropout(0.5),
        nn.Linear(128, classes),
    )
    return _like_keras(network, nn.init.xavier_uniform_)


def tutorial_cnn(channels: int, side: int, classes: int) -> nn.Sequential:
    """The network of TensorFlow's image tutorial, which the paper's FedAvg uses for CIFAR-10."""
    last = ((side - 2) // 2 - 2) // 2 - 2
    network = nn.Sequential(
        nn.Conv2d(channels, 32, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(64, 64, 3),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(64 * last * last, 64),
        nn.ReLU(),
        nn.Linear(64, classes),
    )
    return _like_keras(network, nn.init.xavier_uniform_)


def _like_keras(network: nn.Sequential, kernel: Callable[[Tensor], Tensor]) -> nn.Sequential:
    with torch.no_grad():
        for layer in network.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                kernel(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
    return network


NETWORKS: dict[str, Callable[[int, int, int], nn.Sequential]] = {
    "whitened": whitened,
    "strided": strided,
    "mnist_cnn": mnist_cnn,
    "tutorial_cnn": tutorial_cnn,
}


# Training


class TrainedNetwork:
    """A trained network, the number of classes it knows, and how its training images were centred.

    `averaged` says that answers are averaged over flips and shifts of an image; `seconds` is the CPU time of
    the training, and `curve` the accuracy after each epoch, if it was measured.
    """

    def __init__(
        self, network: nn.Module, classes: int, centre: tuple[Tensor, Tensor], averaged: bool = False
    ) -> None:
        self.network, self.classes, self.averaged = network, classes, averaged
        self.mean, self.scale = centre
        self.seconds = 0.0
        self.curve: tuple[tuple[float, float], ...] = ()

    def _views(self, images: Tensor) -> Iterator[tuple[float, Tensor]]:
        """Yield views of the images and the weight of each view's answer, as in airbench94."""
        if not self.averaged:
            yield 1.0, images
            return
        wider = functional.pad(images, (1, 1, 1, 1), mode="reflect")
        shifts = (0.5, images), (0.25, wider[:, :, :-2, :-2]), (0.25, wider[:, :, 2:, 2:])
        for weight, shifted in shifts:
            yield from ((weight / 2, shifted), (weight / 2, shifted.flip(3)))

    def probabilities(self, images: NDArray[np.uint8], batch: int = 500) -> NDArray[np.float32]:
        """Return the softmax, one row per image and one column per class that the network knows."""
        self.network.eval()
        found = np.empty((len(images), self.classes), dtype=np.float32)
        with one_thread(), torch.inference_mode():
            for start in range(0, len(images), batch):
                part = (as_tensor(images[start : start + batch], self.mean.device) - self.mean) / self.scale
                answer = sum(weight * self.network(view) for weight, view in self._views(part))
                found[start : start + batch] = functional.softmax(answer, dim=1).cpu().numpy()
        return found


def fit(
    images: NDArray[np.uint8],
    truth: NDArray[np.integer[Any]],
    classes: int,
    recipe: Recipe,
    seed: int,
    *,
    keep: Path | None = None,
    look: Callable[[TrainedNetwork], float] | None = None,
) -> TrainedNetwork:
    """Train a new network on `images`, whose `truth` is 0..classes-1.

    It uses one thread and its own generator, so the same seed gives the same network on the same machine.
    The state after each epoch is saved in the file `keep`; an interrupted training resumes there and ends
    with the same weights. `look` is called after each epoch, and its results are the network's `curve`.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with seeded(seed):
        return _fit(images, truth, classes, recipe, torch.Generator().manual_seed(seed), device, keep, look)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Compute with one thread and a local random state inside the block (dropout, first weights)."""
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread inside the block, so that sums have one order and processes do not compete."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def autocast(device: torch.device, wanted: bool) -> torch.autocast:
    """Compute in 16 bits inside the block, if wanted, and where that is faster."""
    fast = device.type != "cpu" or torch.backends.cpu.get_cpu_capability() == "AVX512"
    return torch.autocast(device.type, torch.bfloat16, enabled=wanted and fast)


def _fit(
    images: NDArray[np.uint8],
    truth: NDArray[np.integer[Any]],
    classes: int,
    recipe: Recipe,
    generator: torch.Generator,
    device: torch.device,
    keep: Path | None,
    look: Callable[[TrainedNetwork], float] | None,
) -> TrainedNetwork:
    started = time.process_time()
    centre = mean, scale = centre_of(images, recipe.centre, device)
    make = recipe.network if callable(recipe.network) else NETWORKS[recipe.network]
    network = make(*shape_of(images), classes).to(device, memory_format=torch.channels_last)
    if isinstance(network, Whitened):
        network.set_whitening((as_tensor(images[:5000], device) - mean) / scale)
    optimiser = make_optimiser(network, recipe)
    expert = TrainedNetwork(network, classes, centre, recipe.augment == FLIPS)
    # Every second epoch mirrors what the epoch before it showed.
    mirrored = torch.rand(len(images), generator=generator) < 0.5
    per_epoch = -(-len(images) // recipe.batch)
    epochs, length = recipe.epochs, recipe.epochs * per_epoch
    wanted = torch.from_numpy(np.asarray(truth, dtype=np.int64))
    done = _resume(keep, expert, optimiser, generator)
    for epoch in range(done, epochs):
        network.train()
        if isinstance(network, Whitened):
            network.follow_progress(epoch / epochs)
        for step, rows in enumerate(batches(len(images), recipe.batch, generator), start=epoch * per_epoch):
            rate = recipe.rate * rate_factor(recipe.schedule, step, length)
            for group in optimiser.param_groups:
                group["lr"] = rate * group["faster"]
            part = (as_tensor(images[rows.numpy()], device) - mean) / scale
            if recipe.augment == FLIPS:
                part = flip_and_shift(part, mirrored[rows] ^ (epoch % 2 == 1), generator)
            if recipe.early_scale != 1 and epoch < epochs // 2:
                part = functional.interpolate(
                    part, scale_factor=recipe.early_scale, mode="bilinear", antialias=True
                )
            optimiser.zero_grad()
            truths = wanted[rows].to(device)
            with autocast(device, recipe.bfloat16):
                answers = network(part)
            functional.cross_entropy(answers.float(), truths, label_smoothing=recipe.smoothing).backward()
            optimiser.step()
        expert.seconds += time.process_time() - started
        if look is not None:
            expert.curve += ((expert.seconds, look(expert)),)
        started = time.process_time()
        if keep is not None:
            _save_checkpoint(keep, epoch + 1, expert, None if epoch + 1 == epochs else optimiser, generator)
    return expert


def _save_checkpoint(
    keep: Path,
    epochs: int,
    expert: TrainedNetwork,
    optimiser: torch.optim.Optimizer | None,
    generator: torch.Generator,
) -> None:
    """Save everything that the next epochs depend on, completely or not at all."""
    state = {
        "epochs": epochs,
        "network": expert.network.state_dict(),
        # After the last epoch, only the weights are of use.
        "optimiser": None if optimiser is None else optimiser.state_dict(),
        "generator": generator.get_state(),
        "dropout": torch.get_rng_state(),
        "seconds": expert.seconds,
        "curve": expert.curve,
    }
    with atomic.replacing(keep) as temporary:
        torch.save(state, temporary)


def _resume(
    keep: Path | None,
    expert: TrainedNetwork,
    optimiser: torch.optim.Optimizer,
    generator: torch.Generator,
) -> int:
    """Resume a saved training, if there is one; return how many epochs are done."""
    if keep is None or not keep.is_file():
        return 0
    try:
        state = torch.load(keep, weights_only=True)
        expert.network.load_state_dict(state["network"])
        if state["optimiser"] is not None:
            optimiser.load_state_dict(state["optimiser"])
        generator.set_state(state["generator"])
        torch.set_rng_state(state["dropout"])
        expert.seconds, expert.curve = state["seconds"], state["curve"]
        return int(state["epochs"])
    except (OSError, RuntimeError, KeyError, pickle.UnpicklingError) as error:
        raise FileError(f"{keep} cannot be read ({error!r}); remove it and run again") from error


def as_tensor(images: NDArray[np.uint8], device: torch.device) -> Tensor:
    """Return (n, channels, side, side) in 0..1, in memory channel last."""
    return scaled(torch.tensor(images, device=device))


def scaled(images: Tensor) -> Tensor:
    """Return whole numbers of 0..255 as (n, channels, side, side) in 0..1."""
    part = images.float().div_(255)
    return part[:, None] if part.ndim == 3 else part.permute(0, 3, 1, 2)


def shape_of(images: NDArray[np.uint8]) -> tuple[int, int]:
    """Return channels and side of images."""
    return (1 if images.ndim == 3 else images.shape[3]), images.shape[1]


def centre_of(images: NDArray[np.uint8], centre: str, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return what to subtract from the images, and what to divide them by."""
    one = torch.ones(1, device=device)
    if centre == "nothing":
        return one * 0, one
    # Sums of whole numbers, so that the order of summation does not matter.
    flat = images.reshape(-1, shape_of(images)[0])
    counts = [np.bincount(flat[:, c], minlength=256) for c in range(flat.shape[1])]
    levels = np.arange(256) / 255
    means = [count @ levels / count.sum() for count in counts]
    squares = [count @ levels**2 / count.sum() for count in counts]
    deviations = [max(1e-6, (q - m * m) ** 0.5) for m, q in zip(means, squares, strict=True)]
    shaped = torch.tensor([means, deviations], dtype=torch.float32, device=device)[:, :, None, None]
    return shaped[0], shaped[1]


def batches(images: int, batch: int, generator: torch.Generator) -> tuple[Tensor, ...]:
    """Return the rows of an epoch's batches of equal size: every image once, at most `batch` per step."""
    order: Tensor = torch.randperm(images, generator=generator)
    return tuple(order.tensor_split(-(-images // batch)))


def make_optimiser(network: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return the recipe's optimiser; kernels of convolutions and dense layers decay, nothing else does."""
    learning = [weight for weight in network.parameters() if weight.requires_grad]
    kernels = [weight for weight in learning if weight.ndim > 1]
    rest = [weight for weight in learning if weight.ndim <= 1]
    groups = [
        {"params": kernels, "weight_decay": recipe.decay, "faster": 1.0},
        {"params": rest, "faster": recipe.bias_rate},
    ]
    if recipe.optimiser == "adadelta":
        return torch.optim.Adadelta(groups, lr=recipe.rate, rho=0.95, eps=1e-7)
    return torch.optim.SGD(groups, lr=recipe.rate, momentum=recipe.momentum, nesterov=True)


def rate_factor(schedule: str, step: int, steps: int) -> float:
    """Return the share of the largest rate at a step.

    >>> [round(rate_factor("one-cycle", step, 100), 2) for step in (0, 25, 50, 99)]
    [0.04, 1.0, 0.67, 0.01]
    """
    if schedule == "one-cycle":
        rise = max(1, steps // 4)
        done = step + 1
        return done / rise if done <= rise else max(0.0, (steps - step) / (steps - rise))
    if schedule == "triangle":
        peak, share = 0.23, step / steps
        return 0.2 + 0.8 * share / peak if share < peak else 0.07 + 0.93 * (1 - share) / (1 - peak)
    return 1.0


# Small random changes of training images


def flip_and_shift(images: Tensor, mirrored: Tensor, generator: torch.Generator, pixels: int = 2) -> Tensor:
    """Mirror the chosen images, and move each by up to `pixels` whole pixels; the border reflects.

    Images and result are (n, channels, side, side), in memory channel last.
    """
    number, _, high, wide = images.shape
    down, right = torch.randint(-pixels, pixels + 1, (2, number), generator=generator)
    rows = _reflected(down[:, None] + torch.arange(high), high)
    columns = _reflected(right[:, None] + torch.arange(wide), wide)
    columns = torch.where(mirrored[:, None], columns.flip(1), columns)
    by_pixel = images.permute(0, 2, 3, 1)
    moved = by_pixel[torch.arange(number)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return moved.permute(0, 3, 1, 2)


def _reflected(places: Tensor, length: int) -> Tensor:
    """Return places outside of 0..length-1 as places inside, as if the border were a mirror."""
    inside = places.abs()
    return torch.where(inside < length, inside, 2 * (length - 1) - inside)
