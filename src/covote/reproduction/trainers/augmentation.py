"""Small random changes of training images. Import this module only where torch is there."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


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
