"""One round of our federated averaging is one round of Flower's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np

from paper.federated import Clients, average
from paper.tests.made_up import bars
from paper.trainers.neural import Local


def test_a_round_equals_flowers_fedavg_on_the_same_updates(peers, tmp_path):
    data = bars(train=97)
    subsets = [(0, 1), (2, 3, 4), (1, 5), (6, 7, 8, 9)]
    clients = Clients(data.train_x, data.train_y, subsets, 10, Local("strided", 8, 0.1), seed=3)
    trained = [clients.epoch(clients.start, c, 1, partial=False) for c in range(4)]
    assert len(set(clients.sizes)) > 1
    updates = {f"{c}/{name}": value.numpy() for c in range(4) for name, value in trained[c].items()}
    np.savez(tmp_path / "updates.npz", sizes=np.array(clients.sizes), **updates)
    subprocess.run(
        [peers / "python", Path(__file__).with_name("flower_round.py"), "updates.npz", "average.npz"],
        cwd=tmp_path,
        env={**os.environ, "FLWR_TELEMETRY_ENABLED": "0", "PYTHONPATH": ""},
        check=True,
        timeout=120,
    )
    ours = average(trained, clients.sizes)
    with np.load(tmp_path / "average.npz") as flowers:
        assert set(flowers.files) == set(ours)
        for name, value in ours.items():
            assert np.abs(value.numpy() - clients.start[name].numpy()).max() > 1e-4, "the round changed it"
            assert np.allclose(value.numpy(), flowers[name], rtol=1e-5, atol=1e-7)
