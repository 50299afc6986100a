# ruff: noqa: E402, E501
"""Panels that learn, next to scikit-learn's OneVsOneClassifier, OutputCodeClassifier and the estimator itself.

    python benchmarks/learning.py --data FOLDER [--sets digits,letter] [--estimators LinearSVC] [--repeats 3]

The same estimator with the same settings everywhere. CPU time of this process and its children for fit and predict, the least
of the repeats, which take turns; one thread. FOLDER holds tabular/letterrecognition.parquet, text/banking77.parquet and
text/minilm_banking77.npy (sentence features); the digits come with scikit-learn. "Aggregation" is the CPU time of `predict`
with experts that give again at once what they answered before, as a share of the time that they took to answer.
"""

from __future__ import annotations

import os

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

import argparse
import platform
import resource
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsOneClassifier, OutputCodeClassifier
from sklearn.svm import LinearSVC

from covote.learn import PanelClassifier
from covote.models.scikit import Scikit

Data = tuple[Any, Any, Any, Any]


def digits(folder: Path) -> Data:
    X, y = load_digits(return_X_y=True)
    return tuple(train_test_split(X / 16, y, test_size=0.4, random_state=0, stratify=y))


def letter(folder: Path) -> Data:
    table = pd.read_parquet(folder / "tabular" / "letterrecognition.parquet")
    X, y = table.drop(columns="target").to_numpy(float) / 15, table.target.astype(str).to_numpy().astype("U1")
    return tuple(train_test_split(X, y, test_size=0.4, random_state=0, stratify=y))


def banking77(folder: Path) -> Data:
    table = pd.read_parquet(folder / "text" / "banking77.parquet")
    X = np.load(folder / "text" / "minilm_banking77.npy").astype(float)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    learn = (table.split == "train").to_numpy()
    y = table.intent.to_numpy().astype(str)
    return X[learn], X[~learn], y[learn], y[~learn]


SETS: dict[str, Callable[[Path], Data]] = {"digits": digits, "letter": letter, "banking77": banking77}
ESTIMATORS: dict[str, Any] = {
    "LogisticRegression": LogisticRegression(C=10, max_iter=1000),
    "LinearSVC": LinearSVC(random_state=0),
    "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
}
SIZES = {"digits": (2, 4, 5), "letter": (2, 3, 4, 6, 13), "banking77": (2, 4, 10, 20)}


def cell(name: str, kind: str, folder: Path) -> tuple[Any, Data, str]:
    """Return the estimator, the data, and what was made smaller so that 2,926 boosted fits end."""
    estimator, data = clone(ESTIMATORS[kind]), SETS[name](folder)
    X, X_new, y, y_new = data
    if kind == "HistGradientBoosting" and name == "banking77":
        few = pd.Series(np.arange(len(y))).groupby(y).head(30).to_numpy()
        estimator.set_params(max_iter=3)
        return (
            estimator,
            (X[few][:, :48], X_new[:1000, :48], y[few], y_new[:1000]),
            "48 features, 30 rows a class, 3 iterations, 1,000 test rows",
        )
    if name == "banking77":
        few = pd.Series(np.arange(len(y))).groupby(y).head(60).to_numpy()
        return estimator, (X[few], X_new[::2], y[few], y_new[::2]), "60 rows a class, every second test row"
    if kind == "HistGradientBoosting" and name == "letter":
        return (
            estimator.set_params(max_iter=5),
            (X[:6000], X_new[:3000], y[:6000], y_new[:3000]),
            "6,000 rows, 5 iterations, 3,000 test rows",
        )
    return estimator, data, ""


def cpu() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def timed(model: Any, data: Data) -> tuple[float, float, float]:
    """Return CPU seconds of fit and predict, and the accuracy."""
    X, X_new, y, y_new = data
    start = cpu()
    model.fit(X, y)
    middle = cpu()
    predicted = model.predict(X_new)
    return middle - start, cpu() - middle, float(np.mean(predicted == y_new))


class Replay:
    """A model that has answered to `X` before, and gives again at once what it said about some rows of it."""

    def __init__(self, model: Any, X: Any) -> None:
        self.model, self.classes_, self.X, self.given = model, model.classes_, X, {}
        for name in ("predict", "predict_proba", "decision_function"):
            if hasattr(model, name):
                setattr(self, name, partial(self.ask, name))

    def ask(self, name: str, rows: Any) -> Any:
        if name not in self.given:
            self.given[name] = getattr(self.model, name)(self.X)
        return self.given[name][rows]


def overhead(model: PanelClassifier, X: Any, repeats: int) -> float:
    """Return what predict takes when the experts answer at once, as a share of the time they take."""
    own, rest = [], []
    for _ in range(repeats):
        experts = [
            replace(expert, model=Scikit(Replay(expert.model.estimator, X)))
            for expert in model._fitted.experts
        ]
        panel = replace(model._fitted, experts=tuple(experts))
        items = np.arange(len(X))
        start = time.process_time()
        model.predict(X)
        whole = time.process_time() - start
        panel.labels(items)  # what is asked now is given at once from here on
        for _ in range(5):
            start = time.process_time()
            panel.labels(items)
            rest.append(time.process_time() - start)
        own.append(whole - min(rest))
    return min(rest) / min(own)


def models(estimator: Any, sizes: tuple[int, ...]) -> dict[str, Any]:
    """Return everybody who takes part."""
    return {
        "OneVsOneClassifier": OneVsOneClassifier(estimator),
        "OutputCodeClassifier (code_size 1.5)": OutputCodeClassifier(estimator, random_state=0),
        "the estimator itself": estimator,
        **{f"panel, R={size}": PanelClassifier(estimator, size=size) for size in sizes},
    }


def measure(name: str, kind: str, folder: Path, repeats: int) -> None:
    estimator, data, smaller = cell(name, kind, folder)
    everybody = models(estimator, SIZES[name])
    seen: dict[str, list[tuple[float, float, float]]] = {who: [] for who in everybody}
    fitted = {}
    for _ in range(repeats):
        for who, model in everybody.items():
            fitted[who] = clone(model)
            seen[who].append(timed(fitted[who], data))
            print(name, kind, who, seen[who][-1], file=sys.stderr, flush=True)
    total = {who: min(fit + predict for fit, predict, _ in runs) for who, runs in seen.items()}
    note = f" ({smaller})" if smaller else ""
    print(
        f"\n### {name}, {kind}{note}\n\n{len(data[2]):,} rows, {data[0].shape[1]} features, {len(set(data[2]))} classes; {len(data[3]):,} test rows\n"
    )
    print(
        "| | experts | fit, s | predict, s | accuracy | time of OneVsOne / its | time of OutputCode / its | aggregation |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for who, model in everybody.items():
        fit, predict = min(run[0] for run in seen[who]), min(run[1] for run in seen[who])
        ratios = [total[peer] / total[who] for peer in list(everybody)[:2]]
        experts, share = "", ""
        if isinstance(model, PanelClassifier):
            experts = str(len(fitted[who].experts_))
            share = f"{overhead(fitted[who], data[1], repeats):.1%}"
        print(
            f"| {who} | {experts} | {fit:.2f} | {predict:.2f} | {seen[who][0][2]:.2%} | {ratios[0]:.2f} | {ratios[1]:.2f} | {share} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", default="digits,letter,banking77")
    parser.add_argument("--estimators", default=",".join(ESTIMATORS))
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(
        f"python benchmarks/learning.py --data FOLDER --sets {arguments.sets} --estimators {arguments.estimators} --repeats {arguments.repeats}"
    )
    print(
        f"{date.today()}, Python {platform.python_version()}, scikit-learn {sklearn.__version__}, numpy {np.__version__}; CPU seconds, one thread"
    )
    for name in arguments.sets.split(","):
        for kind in arguments.estimators.split(","):
            measure(name, kind, arguments.data, arguments.repeats)


if __name__ == "__main__":
    main()
