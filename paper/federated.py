"""Federated averaging and one-shot experts, all clients of a round trained in one batch.

Every client of a round takes its steps at the same time: its weights are one slice of stacked weights, and
one call computes the gradients of all. Without the averaging, the same steps train one-shot experts, so that
both cost the same. Import this module only where torch is there.

Reference: B. McMahan et al., Communication-efficient learning of deep networks from decentralized data, 2017.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from covote.panel import Panel
from covote.votes import Votes
from paper.trainers import Subset
from paper.trainers.networks import NETWORKS, scaled, shape_of
from paper.trainers.neural import Local

Weights = dict[str, Tensor]
"""Weights by name; stacked weights have one more dimension in front, the client."""


class Clients:
    """Clients and their images: client c holds every training image of the classes in `subsets[c]`.

    Parameters
    ----------
    images, truth
        Training images (uint8) and the index of each one's class.
    subsets
        What each client knows.
    classes
        How many classes there are.
    """

    def __init__(
        self,
        images: NDArray[np.uint8],
        truth: NDArray[np.integer[Any]],
        subsets: Sequence[Subset],
        classes: int,
        local: Local,
        seed: int,
    ) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.images = torch.tensor(images, device=self.device)
        self.truth = torch.tensor(np.asarray(truth, dtype=np.int64), device=self.device)
        self.local = local
        self.generator = torch.Generator().manual_seed(seed)
        self.rows = [torch.from_numpy(np.flatnonzero(np.isin(truth, subset))) for subset in subsets]
        self.sizes = torch.tensor([len(rows) for rows in self.rows])
        self.known = torch.zeros(len(subsets), classes, dtype=torch.bool, device=self.device)
        for row, subset in zip(self.known, subsets, strict=True):
            row[list(subset)] = True
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.network = NETWORKS[local.network](*shape_of(images), classes).to(self.device)
        self.start: Weights = {name: value.detach() for name, value in self.network.named_parameters()}

    def epoch(self, weights: Weights, who: Sequence[int], *, partial: bool) -> Weights:
        """Return the stacked weights of the clients `who` after each has gone once through its images.

        With `partial`, a client answers only with classes it knows, as an expert does; else with any class.
        """
        orders = [self.rows[c][torch.randperm(len(self.rows[c]), generator=self.generator)] for c in who]
        rows = torch.nn.utils.rnn.pad_sequence(orders, batch_first=True).to(self.device)
        lengths = self.sizes[list(who)].to(self.device)
        real = torch.arange(rows.shape[1], device=self.device) < lengths[:, None]
        allowed = self.known[list(who)] if partial else torch.ones_like(self.known[list(who)])
        # Dropout, where the network has it, must differ from client to client.
        gradient = vmap(grad(self._loss), randomness="different")
        self.network.train()
        for start in range(0, rows.shape[1], self.local.batch):
            part = slice(start, start + self.local.batch)
            seen = rows[:, part]
            images = scaled(self.images[seen.flatten()]).unflatten(0, seen.shape)
            slopes = gradient(weights, images, self.truth[seen], real[:, part], allowed)
            weights = {name: value - self.local.rate * slopes[name] for name, value in weights.items()}
        return weights

    def _loss(self, weights: Weights, images: Tensor, truth: Tensor, real: Tensor, allowed: Tensor) -> Tensor:
        answers = functional_call(self.network, weights, (images,))
        # A client with fewer images than another waits: padding, with any class it knows, has no gradient.
        wanted = torch.where(real, truth, allowed.int().argmax())
        losses = functional.cross_entropy(answers.masked_fill(~allowed, -torch.inf), wanted, reduction="none")
        return (losses * real).sum() / real.sum().clamp(min=1)

    def stacked(self, weights: Weights, clients: int) -> Weights:
        """Return the same weights for `clients` clients."""
        return {name: value.expand(clients, *value.shape).clone() for name, value in weights.items()}

    def answers(self, weights: Weights, images: NDArray[np.uint8], batch: int = 500) -> NDArray[np.float32]:
        """Return what one network answers, one row per image and one column per class."""
        self.network.eval()
        found = np.empty((len(images), self.known.shape[1]), dtype=np.float32)
        with torch.inference_mode():
            for start in range(0, len(images), batch):
                part = scaled(torch.tensor(images[start : start + batch], device=self.device))
                found[start : start + batch] = functional_call(self.network, weights, (part,)).cpu().numpy()
        return found

    def votes(self, weights: Weights, panel: Panel, images: NDArray[np.uint8]) -> Votes:
        """Return what experts (stacked weights, client i is expert i) say about images: one-shot fusion.

        Each names one of the classes that it knows; :func:`covote.decode` makes labels of the votes.
        """
        said = np.empty((len(images), len(panel)), dtype=np.int64)
        for i, known in enumerate(panel.knows):
            answers = self.answers({name: value[i] for name, value in weights.items()}, images)
            said[:, i] = np.where(known, answers, -np.inf).argmax(axis=1)
        return Votes.from_dense(said, panel)


def average(weights: Weights, sizes: Tensor) -> Weights:
    """Return the average of stacked weights; a client counts by the number of its images."""
    shares = sizes.double() / sizes.sum()
    return {
        name: torch.tensordot(shares.to(value.device), value.double(), dims=1).to(value.dtype)
        for name, value in weights.items()
    }


def rounds(
    clients: Clients, number: int, per_round: int | None, seed: int, start: Weights | None = None
) -> Iterator[tuple[Weights, int]]:
    """Yield, after each round of federated averaging, the global weights and how many images were seen.

    Parameters
    ----------
    number
        How many rounds.
    per_round
        Clients drawn for each round, all equally likely; None for all of them.
    start
        The weights to begin with (default: random ones): a warm start.
    """
    rng = np.random.default_rng(seed)
    weights, seen = start or clients.start, 0
    everyone = len(clients.rows)
    for _ in range(number):
        who = (
            range(everyone) if per_round is None else rng.choice(everyone, per_round, replace=False).tolist()
        )
        trained = clients.epoch(clients.stacked(weights, len(who)), who, partial=False)
        weights = average(trained, clients.sizes[list(who)])
        seen += int(clients.sizes[list(who)].sum())
        yield weights, seen


def one_shot(clients: Clients, epochs: int) -> Iterator[tuple[Weights, int]]:
    """Yield, after each epoch, the stacked weights of all experts and how many images were seen.

    Nothing is averaged, nothing is exchanged.
    """
    everyone = range(len(clients.rows))
    weights = clients.stacked(clients.start, len(everyone))
    for epoch in range(1, epochs + 1):
        weights = clients.epoch(weights, everyone, partial=True)
        yield weights, epoch * int(clients.sizes.sum())
