"""Federated averaging with all clients in one batch, against a plain loop."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from covote import Panel
from covote.errors import FileError
from paper import hybrid
from paper.datasets import DataSource
from paper.experiment import Context
from paper.federated import Clients, average, one_shot, rounds
from paper.tables.fedavg import ONE_SHOT, PLANS, Curve, Plan, Task, curves, make
from paper.tests.made_up import bars
from paper.trainers.networks import NETWORKS
from paper.trainers.neural import Local

LOCAL = Local("strided", 8, 0.1)
SUBSETS = [(0, 1), (2, 3, 4), (1, 5)]


def some_clients(seed: int = 0) -> Clients:
    data = bars(train=97)
    return Clients(data.train_x, data.train_y, SUBSETS, 10, LOCAL, seed)


def plain_epoch(clients, weights, c, order, partial):
    """One client's epoch by torch's own optimiser."""
    network = NETWORKS["strided"](1, 12, 10)
    network.load_state_dict(weights)
    optimiser = torch.optim.SGD(network.parameters(), lr=LOCAL.rate)
    for start in range(0, len(order), LOCAL.batch):
        rows = order[start : start + LOCAL.batch]
        answers = network(clients.images[rows][:, None].float() / 255)
        if partial:
            answers = answers.masked_fill(~clients.known[c], -torch.inf)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(answers, clients.truth[rows]).backward()
        optimiser.step()
    return {name: value.detach() for name, value in network.named_parameters()}


@pytest.mark.parametrize("partial", [True, False])
def test_batched_clients_equal_clients_one_by_one(partial):
    clients = some_clients()
    assert len(set(clients.sizes.tolist())) > 1, "clients of different sizes are the harder case"
    together = clients.epoch(clients.stacked(clients.start, 3), range(3), partial=partial)
    generator = torch.Generator().manual_seed(0)
    for c in range(3):
        rows = clients.rows[c]
        order = rows[torch.randperm(len(rows), generator=generator)]
        alone = plain_epoch(clients, clients.start, c, order, partial)
        for name, value in alone.items():
            assert torch.allclose(together[name][c], value, atol=1e-5), name


def test_a_client_counts_by_its_images():
    stacked = {"w": torch.tensor([[1.0, 2.0], [4.0, 8.0]])}
    assert torch.allclose(average(stacked, torch.tensor([1, 3]))["w"], torch.tensor([3.25, 6.5]))


def test_a_round_of_one_client_is_that_clients_epoch():
    (weights, seen), *_ = rounds(some_clients(), 1, 1, seed=4)
    who = int(np.random.default_rng(4).choice(3, 1, replace=False)[0])
    clients = some_clients()
    expected = clients.epoch(clients.stacked(clients.start, 1), [who], partial=False)
    assert seen == clients.sizes[who]
    for name, value in weights.items():
        assert torch.allclose(value, expected[name][0], atol=1e-6)


def test_rounds_begin_where_they_are_told_to():
    clients = some_clients()
    ((first, _),) = rounds(clients, 1, None, seed=0)
    ((warm, _),) = rounds(some_clients(seed=5), 1, None, seed=0, start=first)
    clients = some_clients(seed=5)
    expected = average(clients.epoch(clients.stacked(first, 3), range(3), partial=False), clients.sizes)
    for name, value in warm.items():
        assert torch.allclose(value, expected[name], atol=1e-6)


def test_one_shot_experts_vote_only_for_what_they_know():
    clients = some_clients()
    *_, (weights, _) = one_shot(clients, 1)
    panel, images = Panel.from_blocks(10, SUBSETS), bars().test_x
    votes = clients.votes(weights, panel, images)
    for i, subset in enumerate(SUBSETS):
        alone = clients.answers({name: value[i] for name, value in weights.items()}, images)[:, subset]
        assert np.array_equal(votes.dense[:, i], np.array(subset)[alone.argmax(axis=1)])


def test_experts_and_full_rounds_cost_the_same():
    clients = some_clients()
    experts = [seen for _, seen in one_shot(clients, 2)]
    assert experts == [seen for _, seen in rounds(clients, 2, None, seed=0)]


def test_clients_learn():
    data = bars(train=400, noise=30)
    clients = Clients(data.train_x, data.train_y, [tuple(range(10))], 10, LOCAL, 0)
    *_, (weights, _) = rounds(clients, 4, None, seed=0)
    assert np.mean(clients.answers(weights, data.test_x).argmax(axis=1) == data.test_y) > 0.9


PLAN = Plan(LOCAL, per_class=10, epochs=2, rounds=(4, 2), items=(50, 50))


def test_every_round_of_a_short_curve_and_the_first_epochs_are_measured():
    data = bars().reduced(10)
    for scheme, rounds_done in (
        ("2 clients per round", (1, 2, 3, 4)),
        ("all clients", (1, 2)),
        (ONE_SHOT, (1, 2)),
    ):
        _, curve = make((data, Task(8, scheme, PLAN, 0)))
        assert curve.rounds == rounds_done
        clients = 2 if scheme == "2 clients per round" else 3
        assert curve.seen == tuple(80 * clients * n for n in rounds_done)


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_the_papers_federation_starts_with_tiny_settings(name):
    data = bars(train=20, test=10)
    scaled = [np.kron(x, np.ones((1, 3, 3), np.uint8)) for x in (data.train_x, data.test_x)]
    if name == "mnist":
        train, test = (x[:, :28, :28] for x in scaled)
    else:
        train, test = (np.stack([x[:, :32, :32]] * 3, axis=3) for x in scaled)
    data = replace(data, train_x=train, test_x=test)
    plan = replace(PLANS["paper"][name], rounds=(1, 1), epochs=1, items=(10, 10))
    _, first = make((data, Task(8, "all clients", plan, 0)))
    _, again = make((data, Task(8, "all clients", plan, 0)))
    assert replace(first, seconds=0) == replace(again, seconds=0)
    assert first.rounds == (1,)
    assert first.seen == (3 * 16,)


def test_curves_are_kept_and_found_again(tmp_path):
    tasks = [Task(8, "all clients", PLAN, 0)]  # a single curve is made in this process
    context = Context(DataSource(tmp_path), tmp_path, _images={"mnist": bars()})
    first = curves(context, "mnist", tasks)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert len(files) == 1
    assert curves(context, "mnist", tasks) == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")} == files
    next(iter(files)).write_text("{}")
    with pytest.raises(FileError, match="remove it and run again"):
        curves(context, "mnist", tasks)


def test_the_accuracy_at_equal_compute_is_the_last_before_it():
    curve = Curve((1, 2, 3), (10, 20, 30), (1.0, 2.0, 3.0), (4.0, 5.0, 6.0), 0.0)
    assert [curve.by(seen) for seen in (5, 10, 19, 30)] == [4.0, 4.0, 4.0, 6.0]
    assert curve.at_round(2, "train") == 2.0
    assert curve.at_round(100, "train") is None


def test_a_panel_gives_federated_averaging_a_warm_start(capsys):
    hybrid.main()
    panel, pupil, *curve = (float(share) for share in re.findall(r"([\d.]+)%", capsys.readouterr().out))
    assert panel > pupil > 85
    cold, warm = curve[::2], curve[1::2]
    assert len(cold) == len(warm) == 5
    assert all(hot > fresh for fresh, hot in zip(cold[:3], warm[:3], strict=True))
