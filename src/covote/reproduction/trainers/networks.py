"""The networks of the experiments. Import this module only where torch is there."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional


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
