"""The networks of the experiments, and how one is trained and asked. Importing this needs torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from covote.reproduction.trainers.neural import Recipe

_DROPS = (
    (180, 0.5e-3),
    (160, 1e-3),
    (120, 1e-2),
    (80, 1e-1),
)  # after this many epochs, this share of the rate


def compact_4(channels: int, side: int, classes: int) -> nn.Sequential:
    """Four convolutions, three of them pooled, and one dense layer; for two cores and colour images."""
    return _pooled(channels, side, classes, (16, 32, 64, 128))


def compact_3(channels: int, side: int, classes: int) -> nn.Sequential:
    """Three pooled convolutions and one dense layer; for two cores and small grey images."""
    return _pooled(channels, side, classes, (8, 16, 32))


def _pooled(channels: int, side: int, classes: int, widths: tuple[int, ...]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for n, width in enumerate(widths):
        layers.append(nn.Conv2d(channels, width, 3, padding=1, bias=False))
        if n < 3:
            # Pooled first, so that normalisation sees a quarter of the numbers: a third less time in all.
            layers.append(nn.MaxPool2d(2))
            side //= 2
        layers += [nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(channels * side * side, classes))


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


class Residual(nn.Module):  # type: ignore[misc]  # torch may be absent where types are checked
    """Two convolutions around a shortcut, as in version 1 of keras' ResNet example."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        # Keras pads strided convolutions of even sides at the end only; see forward.
        self.first = nn.Conv2d(channels, width, 3, stride, padding=1 if stride == 1 else 0)
        self.first_norm = _norm(width)
        self.second = nn.Conv2d(width, width, 3, padding=1)
        self.second_norm = _norm(width)
        self.shortcut: nn.Module = nn.Identity() if stride == 1 else nn.Conv2d(channels, width, 1, stride)

    def forward(self, images: Tensor) -> Tensor:
        """Return the activations after the block."""
        padded = images if self.stride == 1 else functional.pad(images, (0, 1, 0, 1))
        inner = functional.relu(self.first_norm(self.first(padded)))
        inner = self.second_norm(self.second(inner))
        return functional.relu(inner + self.shortcut(images))


def resnet20(channels: int, side: int, classes: int) -> nn.Sequential:
    """ResNet20 v1 of keras' CIFAR-10 example, which the paper uses for CIFAR-10."""
    layers: list[nn.Module] = [nn.Conv2d(channels, 16, 3, padding=1), _norm(16), nn.ReLU()]
    width = 16
    for stage in range(3):
        for block in range(3):
            stride = 2 if stage > 0 and block == 0 else 1
            layers.append(Residual(width, 16 << stage, stride))
            width = 16 << stage
    last = side // 4 // 8
    layers += [nn.AvgPool2d(8), nn.Flatten(), nn.Linear(width * last * last, classes)]
    return _like_keras(nn.Sequential(*layers), _he_normal)


def _norm(width: int) -> nn.BatchNorm2d:
    # Keras' defaults: momentum 0.99 of the old value, epsilon 0.001.
    return nn.BatchNorm2d(width, eps=1e-3, momentum=0.01)


def _he_normal(weight: Tensor) -> Tensor:
    return nn.init.trunc_normal_(weight, std=1.0).mul_(
        (2.0 / nn.init._calculate_correct_fan(weight, "fan_in")) ** 0.5 / 0.87962566103423978
    )


def _like_keras(network: nn.Sequential, kernel: Callable[[Tensor], Tensor]) -> nn.Sequential:
    with torch.no_grad():
        for layer in network.modules():
            if isinstance(layer, nn.Conv2d | nn.Linear):
                kernel(layer.weight)
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
    return network


NETWORKS: dict[str, Callable[[int, int, int], nn.Sequential]] = {
    "compact 4": compact_4,
    "compact 3": compact_3,
    "strided": strided,
    "mnist_cnn": mnist_cnn,
    "tutorial_cnn": tutorial_cnn,
    "resnet20": resnet20,
}


# Training


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
