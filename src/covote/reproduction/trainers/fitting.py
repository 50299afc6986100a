"""Train one network on images, and ask it. Import this module only where torch is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from covote.reproduction.trainers.networks import NETWORKS
from covote.reproduction.trainers.neural import Recipe

_DROPS = ((180, 0.5e-3), (160, 1e-3), (120, 1e-2), (80, 1e-1))  # after so many epochs, times so much


class TrainedNetwork:
    """A trained network, how many classes it knows, and what its training images were centred by."""

    def __init__(self, network: nn.Module, classes: int, mean: Tensor, scale: Tensor) -> None:
        self.network, self.classes, self.mean, self.scale = network, classes, mean, scale

    def probabilities(self, images: NDArray[np.uint8], batch: int = 500) -> NDArray[np.float32]:
        """Return the softmax, one row per image and one column per class that the network knows."""
        self.network.eval()
        found = np.empty((len(images), self.classes), dtype=np.float32)
        with one_thread(), torch.inference_mode():
            for start in range(0, len(images), batch):
                part = as_tensor(images[start : start + batch], self.mean.device)
                answer = self.network((part - self.mean) / self.scale)
                found[start : start + batch] = functional.softmax(answer, dim=1).cpu().numpy()
        return found


def fit(
    images: NDArray[np.uint8], truth: NDArray[np.integer[Any]], classes: int, recipe: Recipe, seed: int
) -> TrainedNetwork:
    """Train a new network on `images`, whose `truth` is 0..classes-1.

    One thread, and a generator of its own: the same seed gives the same network on the same machine.
    """
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    with seeded(seed):
        return _fit(images, truth, classes, recipe, torch.Generator().manual_seed(seed), device)


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Compute with one thread and with randomness of its own inside the block (dropout, first weights)."""
    with one_thread(), torch.random.fork_rng():
        torch.manual_seed(seed)
        yield


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute with one thread inside: sums have one order, and processes do not crowd each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _fit(
    images: NDArray[np.uint8],
    truth: NDArray[np.integer[Any]],
    classes: int,
    recipe: Recipe,
    generator: torch.Generator,
    device: torch.device,
) -> TrainedNetwork:
    mean, scale = centre_of(images, recipe.centre, device)
    network = NETWORKS[recipe.network](*shape_of(images), classes)
    network = network.to(device, memory_format=torch.channels_last)
    network.train()
    optimiser = make_optimiser(network, recipe)
    length = recipe.length(len(images))
    per_epoch = -(-len(images) // recipe.batch)
    wanted = torch.from_numpy(np.asarray(truth, dtype=np.int64))
    for step, rows in enumerate(batches(len(images), recipe.batch, length, generator)):
        rate = recipe.rate * share_of_rate(recipe.schedule, step, length, per_epoch)
        for group in optimiser.param_groups:
            group["lr"] = rate
        part = (as_tensor(images[rows.numpy()], device) - mean) / scale
        part = augmented(part, recipe.augment, generator)
        optimiser.zero_grad()
        answer = network(part)
        loss = functional.cross_entropy(answer, wanted[rows].to(device))
        loss.backward()
        optimiser.step()
    return TrainedNetwork(network, classes, mean, scale)


def augmented(images: Tensor, how: str, generator: torch.Generator) -> Tensor:
    """Return the images with the recipe's small random changes."""
    if how == "flip and nudge":
        return flip_and_shift(images, generator, pixels=1)
    return keras_shift(images, generator) if how == "keras" else images


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
    """Return what to subtract from the images and what to divide them by."""
    one = torch.ones(1, device=device)
    if centre == "nothing":
        return one * 0, one
    if centre == "pixels":
        mean = images.mean(axis=0, dtype=np.float64).astype(np.float32) / 255
        shaped = torch.from_numpy(mean).to(device)
        return (shaped[None] if shaped.ndim == 2 else shaped.permute(2, 0, 1)), one
    # Sums of whole numbers, so that the order of summation does not matter.
    flat = images.reshape(-1, shape_of(images)[0])
    counts = [np.bincount(flat[:, c], minlength=256) for c in range(flat.shape[1])]
    levels = np.arange(256) / 255
    means = [count @ levels / count.sum() for count in counts]
    squares = [count @ levels**2 / count.sum() for count in counts]
    deviations = [max(1e-6, (q - m * m) ** 0.5) for m, q in zip(means, squares, strict=True)]
    shaped = torch.tensor([means, deviations], dtype=torch.float32, device=device)[:, :, None, None]
    return shaped[0], shaped[1]


def batches(images: int, batch: int, steps: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Yield the rows of `steps` batches; every image comes once before any comes again."""
    done = 0
    while done < steps:
        order = torch.randperm(images, generator=generator)
        for start in range(0, images, batch):
            if done == steps:
                return
            yield order[start : start + batch]
            done += 1


def make_optimiser(network: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return the recipe's optimiser; kernels of convolutions and dense layers decay, nothing else does."""
    kernels = [weight for weight in network.parameters() if weight.ndim > 1]
    rest = [weight for weight in network.parameters() if weight.ndim <= 1]
    groups = [{"params": kernels, "weight_decay": recipe.decay}, {"params": rest}]
    if recipe.optimiser == "adam":
        return torch.optim.Adam(groups, lr=recipe.rate, eps=1e-7)
    if recipe.optimiser == "adadelta":
        return torch.optim.Adadelta(groups, lr=recipe.rate, rho=0.95, eps=1e-7)
    return torch.optim.SGD(groups, lr=recipe.rate, momentum=0.9, nesterov=True)


def share_of_rate(schedule: str, step: int, steps: int, per_epoch: int) -> float:
    """Return the share of the largest rate at a step.

    >>> [round(share_of_rate("one-cycle", step, 100, 1), 2) for step in (0, 25, 50, 99)]
    [0.04, 1.0, 0.67, 0.01]
    """
    if schedule == "one-cycle":
        rise = max(1, steps // 4)
        done = step + 1
        return done / rise if done <= rise else max(0.0, (steps - step) / (steps - rise))
    if schedule == "drops":
        epoch = step // per_epoch
        return next((share for after, share in _DROPS if epoch > after), 1.0)
    return 1.0


# Small random changes of training images


def flip_and_shift(images: Tensor, generator: torch.Generator, pixels: int) -> Tensor:
    """Mirror half of the images, and move each by up to `pixels` whole pixels (zeros come in).

    Images and result are (n, channels, side, side), in memory channel last.
    """
    number, _, high, wide = images.shape
    mirrored = torch.rand(number, generator=generator) < 0.5
    down, right = torch.randint(0, 2 * pixels + 1, (2, number), generator=generator)
    rows = down[:, None] + torch.arange(high)
    columns = right[:, None] + torch.arange(wide)
    columns = torch.where(mirrored[:, None], columns.flip(1), columns)
    padded = functional.pad(images.permute(0, 2, 3, 1), (0, 0, pixels, pixels, pixels, pixels))
    moved = padded[torch.arange(number)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return moved.permute(0, 3, 1, 2)


def keras_shift(images: Tensor, generator: torch.Generator, share: float = 0.1) -> Tensor:
    """Mirror half of the images, and move each by up to `share` of its side, as keras' generator does.

    Fractions of pixels are interpolated linearly, and the border pixel fills what comes in.
    """
    number = len(images)
    mirror = torch.where(torch.rand(number, generator=generator) < 0.5, -1.0, 1.0)
    shift = (torch.rand((number, 2), generator=generator) * 2 - 1) * share
    motion = torch.zeros(number, 2, 3)
    motion[:, 0, 0], motion[:, 1, 1] = mirror, 1.0
    # Coordinates run from -1 to 1, so that the whole side is 2 long.
    motion[:, :, 2] = 2 * shift
    grid = functional.affine_grid(motion.to(images.device), list(images.shape), align_corners=False)
    return functional.grid_sample(images, grid, padding_mode="border", align_corners=False)
