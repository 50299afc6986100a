"""Federated averaging, against torch's own optimiser, and from one interruption to the next."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from covote import Panel
from covote.errors import FileError
from paper.datasets import DataSource
from paper.experiment import Context
from paper.federated import Clients, average, one_shot, rounds
from paper.tables.fedavg import ONE_SHOT, PLANS, Plan, Task, curves, make, read
from paper.tests.made_up import bars
from paper.trainers.networks import NETWORKS, batches
from paper.trainers.neural import Local, seed_of

LOCAL = Local("strided", 8, 0.1)
SUBSETS = [(0, 1), (2, 3, 4), (1, 5)]


def some_clients(seed: int = 0) -> Clients:
    data = bars(train=97)
    return Clients(data.train_x, data.train_y, SUBSETS, 10, LOCAL, seed)


def plain_epoch(clients, weights, c, parts, partial):
    """One client's epoch by torch's own optimiser."""
    network = NETWORKS["strided"](1, 12, 10)
    network.load_state_dict(weights)
    optimiser = torch.optim.SGD(network.parameters(), lr=LOCAL.rate)
    for part in parts:
        rows = clients.rows[c][part]
        answers = network(clients.images[rows][:, None].float() / 255)
        if partial:
            answers = answers.masked_fill(~clients.known[c], -torch.inf)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(answers, clients.truth[rows]).backward()
        optimiser.step()
    return {name: value.detach() for name, value in network.named_parameters()}


@pytest.mark.parametrize("partial", [True, False])
def test_an_epoch_equals_one_with_torchs_own_optimiser(partial):
    clients = some_clients()
    for c in range(3):
        order = torch.Generator().manual_seed(seed_of(0, (1, c)))
        ours = clients.epoch(clients.start, c, 1, partial=partial)
        theirs = plain_epoch(
            clients, clients.start, c, batches(clients.sizes[c], LOCAL.batch, order), partial
        )
        for name, value in theirs.items():
            assert torch.allclose(ours[name], value, atol=1e-6), name


def test_epochs_of_other_numbers_and_clients_see_their_images_in_other_orders():
    clients = some_clients()
    first, again, other = (clients.epoch(clients.start, 0, n, partial=True) for n in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


@pytest.mark.skipif(torch.backends.cpu.get_cpu_capability() != "AVX512", reason="needs AVX-512")
def test_steps_in_16_bits_are_near_those_in_32():
    data = bars(train=97)
    exact, fast = (
        Clients(data.train_x, data.train_y, SUBSETS, 10, replace(LOCAL, bfloat16=half), 0).epoch(
            some_clients().start, 1, 1, partial=True
        )
        for half in (False, True)
    )
    assert not all(torch.equal(exact[name], fast[name]) for name in exact)
    assert all(torch.allclose(exact[name], fast[name], atol=0.02) for name in exact)


def test_a_client_counts_by_its_images():
    models = [{"w": torch.tensor([1.0, 2.0])}, {"w": torch.tensor([4.0, 8.0])}]
    assert torch.allclose(average(models, [1, 3])["w"], torch.tensor([3.25, 6.5]))


def test_a_round_of_one_client_is_that_clients_epoch():
    clients = some_clients()
    (([weights], images),) = rounds(clients, 1, 1, seed=4)
    (who,) = np.random.default_rng([4, 1]).choice(3, 1, replace=False)
    assert images == clients.sizes[who]
    expected = clients.epoch(clients.start, who, 1, partial=False)
    assert all(torch.equal(value, expected[name]) for name, value in weights.items())


def test_rounds_begin_where_they_are_told_to():
    clients = some_clients()
    (([first], _), ([second], _)) = rounds(clients, 2, 2, seed=0)
    (([again], _),) = rounds(some_clients(), 2, 2, seed=0, start=first, done=1)
    assert all(torch.equal(again[name], value) for name, value in second.items())


def test_one_shot_experts_vote_only_for_what_they_know():
    clients = some_clients()
    ((models, images),) = one_shot(clients, 1)
    assert images == sum(clients.sizes)
    panel, shown = Panel.from_blocks(10, SUBSETS), bars().test_x
    votes = clients.votes(models, panel, shown)
    for i, subset in enumerate(SUBSETS):
        alone = clients.answers(models[i], shown)[:, subset]
        assert np.array_equal(votes.dense[:, i], np.array(subset)[alone.argmax(axis=1)])


def test_clients_learn():
    data = bars(train=400, noise=30)
    clients = Clients(data.train_x, data.train_y, [tuple(range(10))], 10, LOCAL, 0)
    *_, ([weights], _) = rounds(clients, 4, None, seed=0)
    assert np.mean(clients.answers(weights, data.test_x).argmax(axis=1) == data.test_y) > 0.9


PLAN = Plan(LOCAL, per_class=10, epochs=2, rounds=(4, 2), items=(50, 50))


def test_every_round_of_a_curve_is_measured(tmp_path):
    data = bars().reduced(10)
    for scheme, number, clients in (("2 clients per round", 4, 2), ("all clients", 2, 3), (ONE_SHOT, 2, 3)):
        task = make(tmp_path, data, Task(8, scheme, PLAN, 0))
        curve = read(task.file(tmp_path, data))
        assert curve.seen == tuple(80 * clients * n for n in range(1, number + 1))
        assert len(curve.train) == len(curve.test) == len(curve.seconds) == number


@pytest.mark.parametrize("name", ["mnist", "cifar10"])
def test_the_papers_federation_starts_with_tiny_settings(name, tmp_path):
    data = bars(train=20, test=10)
    scaled = [np.kron(x, np.ones((1, 3, 3), np.uint8)) for x in (data.train_x, data.test_x)]
    if name == "mnist":
        train, test = (x[:, :28, :28] for x in scaled)
    else:
        train, test = (np.stack([x[:, :32, :32]] * 3, axis=3) for x in scaled)
    data = replace(data, train_x=train, test_x=test)
    task = Task(8, "all clients", replace(PLANS["paper"][name], rounds=(1, 1), items=(10, 10)), 0)
    first, again = (read(make(tmp_path / n, data, task).file(tmp_path / n, data)) for n in "ab")
    assert replace(first, seconds=()) == replace(again, seconds=())
    assert first.seen == (3 * 16,)


@pytest.mark.parametrize("scheme", ["2 clients per round", ONE_SHOT])
def test_a_longer_curve_continues_a_shorter_one(tmp_path, scheme):
    data = bars().reduced(10)
    short = Task(8, scheme, replace(PLAN, epochs=1, rounds=(1, 1)), 0)
    make(tmp_path / "twice", data, short)
    found = []
    for folder in (tmp_path / "twice", tmp_path / "once"):
        models = []
        curve = read(make(folder, data, Task(8, scheme, PLAN, 0)).file(folder, data), models)
        found.append((replace(curve, seconds=()), models))
    (one, models), (other, others) = found
    assert one == other
    assert len(one.test) == PLAN.length(scheme)
    assert all(torch.equal(m[name], n[name]) for m, n in zip(models, others, strict=True) for name in m)


def test_curves_are_stored_and_only_those_that_are_wanted_are_made(tmp_path, monkeypatch):
    monkeypatch.setitem(PLANS, "quick", {"mnist": PLAN})
    context = Context(DataSource(tmp_path), tmp_path, _images={"mnist": bars()}, workers=1)
    context.curves = lambda size, scheme: (size, scheme) == (8, "all clients")
    first = curves(context, "mnist")
    assert list(first) == [(8, "all clients")]
    files = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")}
    assert len(files) == 1
    assert curves(context, "mnist") == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.npz")} == files
    next(iter(files)).write_text("{}")
    with pytest.raises(FileError, match="remove it and run again"):
        curves(context, "mnist")
