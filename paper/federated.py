"""Federated averaging, and one-shot experts that take the same steps without averaging.

An epoch of a client depends on its weights, the seed, the client and the number of the epoch alone, so a run
that was interrupted continues from its weights. Import this module only where torch is there.

Reference: B. McMahan et al., Communication-efficient learning of deep networks from decentralized data, 2017.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional

from covote.panel import Panel
from covote.votes import Votes
from paper.trainers import Subset
from paper.trainers.networks import NETWORKS, autocast, batches, scaled, seeded, shape_of
from paper.trainers.neural import Local, seed_of

Weights = dict[str, Tensor]


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
        self.local, self.seed = local, seed
        self.rows = [torch.from_numpy(np.flatnonzero(np.isin(truth, subset))) for subset in subsets]
        self.sizes = [len(rows) for rows in self.rows]
        self.known = torch.zeros(len(subsets), classes, dtype=torch.bool, device=self.device)
        for row, subset in zip(self.known, subsets, strict=True):
            row[list(subset)] = True
        with seeded(seed):
            self.network = NETWORKS[local.network](*shape_of(images), classes).to(self.device)
        self.start: Weights = {name: value.detach() for name, value in self.network.named_parameters()}

    def epoch(self, weights: Weights, client: int, number: int, *, partial: bool) -> Weights:
        """Return the weights of a client after it has gone once through its images.

        With `partial`, it answers only with classes it knows, as an expert does; else with any class.
        `number` counts epochs or rounds: it sets the order of the images and what dropout leaves out.
        """
        seed = seed_of(self.seed, (number, client))
        allowed = self.known[client] if partial else torch.ones_like(self.known[client])
        self.network.train()
        with seeded(seed):
            order = torch.Generator().manual_seed(seed)
            for part in batches(len(self.rows[client]), self.local.batch, order):
                rows = self.rows[client][part]
                weights = {name: value.detach().requires_grad_() for name, value in weights.items()}
                with autocast(self.device, self.local.bfloat16):
                    answers = functional_call(self.network, weights, (scaled(self.images[rows]),))
                answers = answers.float().masked_fill(~allowed, -torch.inf)
                loss = functional.cross_entropy(answers, self.truth[rows])
                slopes = torch.autograd.grad(loss, list(weights.values()))
                weights = {
                    name: value.detach() - self.local.rate * slope
                    for (name, value), slope in zip(weights.items(), slopes, strict=True)
                }
        return weights

    def answers(self, weights: Weights, images: NDArray[np.uint8], batch: int = 500) -> NDArray[np.float32]:
        """Return what one network answers, one row per image and one column per class."""
        self.network.eval()
        found = np.empty((len(images), self.known.shape[1]), dtype=np.float32)
        with torch.inference_mode():
            for start in range(0, len(images), batch):
                part = scaled(torch.tensor(images[start : start + batch], device=self.device))
                found[start : start + batch] = functional_call(self.network, weights, (part,)).cpu().numpy()
        return found

    def votes(self, models: Sequence[Weights], panel: Panel, images: NDArray[np.uint8]) -> Votes:
        """Return what experts (client i is expert i) say about images: one-shot fusion.

        Each names one of the classes that it knows; :func:`covote.decode` makes labels of the votes.
        """
        said = np.empty((len(images), len(panel)), dtype=np.int64)
        for i, (known, weights) in enumerate(zip(panel.knows, models, strict=True)):
            said[:, i] = np.where(known, self.answers(weights, images), -np.inf).argmax(axis=1)
        return Votes.from_dense(said, panel)


def average(models: Sequence[Weights], sizes: Sequence[int]) -> Weights:
    """Return the average of the clients' weights; a client counts by the number of its images."""
    shares = [size / sum(sizes) for size in sizes]
    return {
        name: torch.stack([share * model[name].double() for share, model in zip(shares, models, strict=True)])
        .sum(dim=0)
        .to(first.dtype)
        for name, first in models[0].items()
    }


def rounds(
    clients: Clients,
    number: int,
    per_round: int | None,
    seed: int,
    start: Weights | None = None,
    done: int = 0,
) -> Iterator[tuple[list[Weights], int]]:
    """Yield, after each round of federated averaging, the global weights and how many images it took.

    Parameters
    ----------
    number
        The number of the last round.
    per_round
        Clients drawn for each round, all equally likely; None for all of them.
    start, done
        The weights to begin with (default: random ones), and the rounds that they have behind them.
    """
    weights, everyone = start or clients.start, range(len(clients.sizes))
    for n in range(done + 1, number + 1):
        rng = np.random.default_rng([seed, n])
        who = everyone if per_round is None else rng.choice(len(everyone), per_round, replace=False).tolist()
        sizes = [clients.sizes[c] for c in who]
        weights = average([clients.epoch(weights, c, n, partial=False) for c in who], sizes)
        yield [weights], sum(sizes)


def one_shot(
    clients: Clients, epochs: int, start: Sequence[Weights] | None = None, done: int = 0
) -> Iterator[tuple[list[Weights], int]]:
    """Yield, after each epoch, the weights of all experts and how many images it took.

    Nothing is averaged, nothing is exchanged.
    """
    models = list(start or [clients.start] * len(clients.sizes))
    for n in range(done + 1, epochs + 1):
        models = [clients.epoch(weights, c, n, partial=True) for c, weights in enumerate(models)]
        yield models, sum(clients.sizes)
