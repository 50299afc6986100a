"""The numbers printed in the paper, in percent, by size R of the experts."""

from __future__ import annotations

Accuracies = dict[int, float]

GREEDY_SIZES = {2: 45, 4: 9, 6: 5, 8: 3}
"""Experts of the greedy covers of ten classes."""

MNIST: dict[str, Accuracies] = {
    "train": {2: 99.71, 4: 99.82, 6: 99.74, 8: 99.78, 10: 99.12},
    "test": {2: 98.98, 4: 99.03, 6: 98.97, 8: 99.07, 10: 99.26},
}
CIFAR10: dict[str, Accuracies] = {
    "train": {2: 99.61, 4: 99.49, 6: 99.55, 8: 99.16, 10: 98.48},
    "test": {2: 88.36, 4: 90.82, 6: 91.95, 8: 91.99, 10: 91.98},
}

MISSING: dict[int, dict[str, dict[int, tuple[float, float]]]] = {
    1: {
        "train": {2: (98.63, 1.62), 4: (94.14, 3.06), 6: (96.30, 2.86), 8: (95.54, 4.03)},
        "test": {2: (87.51, 1.48), 4: (86.11, 2.80), 6: (88.78, 2.64), 8: (88.28, 3.80)},
    },
    2: {
        "train": {2: (97.58, 2.32), 4: (86.54, 5.20), 6: (88.38, 4.77), 8: (79.26, 0.25)},
        "test": {2: (86.62, 2.11), 4: (79.28, 4.80), 6: (81.41, 4.42), 8: (73.73, 0.83)},
    },
}
"""CIFAR-10 with one and two experts removed: mean and standard deviation over all removals."""

RANDOM: dict[int, dict[str, dict[int, float]]] = {
    4: {
        "train": {9: 91.66, 10: 92.15, 11: 92.44, 12: 94.28},
        "test": {9: 84.33, 10: 84.98, 11: 85.47, 12: 87.22},
    },
    6: {
        "train": {5: 93.97, 6: 98.78, 7: 98.87, 8: 99.74},
        "test": {5: 86.70, 6: 91.60, 7: 91.82, 8: 92.76},
    },
    8: {
        "train": {3: 95.71, 4: 99.48, 5: 99.75, 6: 99.75},
        "test": {3: 88.88, 4: 92.60, 5: 93.24, 6: 93.37},
    },
}
"""CIFAR-10 with random panels of m experts: mean of two draws."""

LESS_DATA: dict[str, Accuracies] = {
    "train": {2: 71.75, 4: 74.55, 6: 78.32, 8: 78.23},
    "test": {2: 68.56, 4: 71.37, 6: 75.64, 8: 75.60},
}
"""CIFAR-10 with 500 training images per class and half the epochs."""

FEDAVG: tuple[tuple[str, int, str, str, int, float], ...] = (
    ("mnist", 2, "2 clients per round", "test", 100, 48.5),
    ("mnist", 2, "2 clients per round", "test", 200, 93.1),
    ("cifar10", 2, "2 clients per round", "train", 200, 31.52),
    ("cifar10", 2, "2 clients per round", "train", 400, 67.25),
    ("cifar10", 2, "2 clients per round", "test", 400, 47.5),
    ("cifar10", 2, "all clients", "train", 200, 78.37),
    ("cifar10", 2, "all clients", "train", 400, 89.24),
)
"""Points of the learning curves of FedAvg: images, R, who takes part, split, round, accuracy."""
FEDAVG_BEST: tuple[tuple[str, str, str, float], ...] = (
    ("cifar10", "2 clients per round", "train", 100.0),
    ("cifar10", "2 clients per round", "test", 71.1),
    ("cifar10", "all clients", "test", 70.8),
)
"""Accuracies of FedAvg after the last round, for the R with the best test accuracy."""
