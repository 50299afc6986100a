import numpy as np
import pytest
from sklearn.datasets import load_digits

NAMES = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])


@pytest.fixture(scope="session")
def digits():
    """Training images, their digits, other images, their digits."""
    X, y = load_digits(return_X_y=True)
    X = X / 16
    return X[:900], y[:900], X[900:1500], y[900:1500]


@pytest.fixture(scope="session")
def named(digits):
    """The same digits by name."""
    X, y, X_new, y_new = digits
    return X, NAMES[y], X_new, NAMES[y_new]


@pytest.fixture
def animals():
    X = np.repeat([[0.0, 0], [5, 0], [0, 5], [5, 5]], 6, axis=0) + np.arange(24)[:, None] / 30
    return X, np.repeat(["dog", "cat", "fox", "owl"], 6)
