"""Average clients by Flower's own FedAvg; run by the Python of the second environment.

flower_round.py UPDATES.npz AVERAGE.npz: `sizes`, and arrays named CLIENT/WEIGHT, become one array per weight.
"""

from __future__ import annotations

import sys

import numpy as np
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server.strategy import FedAvg

given = np.load(sys.argv[1])
sizes = given["sizes"]
names = [name.partition("/")[2] for name in given.files if name.startswith("0/")]
results = [
    (
        None,
        FitRes(
            status=Status(code=Code.OK, message=""),
            parameters=ndarrays_to_parameters([given[f"{client}/{name}"] for name in names]),
            num_examples=int(size),
            metrics={},
        ),
    )
    for client, size in enumerate(sizes)
]
averaged, _ = FedAvg().aggregate_fit(1, results, [])
np.savez(sys.argv[2], **dict(zip(names, parameters_to_ndarrays(averaged), strict=True)))
