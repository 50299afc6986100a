"""PanelClassifier(size="auto") against every fixed size, on five datasets with two model families.

    python benchmarks/sizes.py --data FOLDER [--splits 3] [--seed 0]

Test accuracy in percent, the mean of several random splits (40% test). FOLDER holds tabular/*.parquet; the
digits come with scikit-learn. Larger sets are cut to 3,000 rows. The seed chooses these rows and the splits.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pages import replace_table
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from covote import PanelClassifier
from covote.learn.sizing import candidate_sizes

RESULT = Path(__file__).parent / "results" / "sizes.md"
FAMILIES = {
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
    "decision tree": DecisionTreeClassifier(random_state=0),
}


def datasets(folder: Path, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Yield name, features and classes; classes with fewer than 10 rows are left out."""
    yield "digits", *load_digits(return_X_y=True)
    for name in ("letterrecognition", "satellite", "soybean", "shuttle"):
        table = pd.read_parquet(folder / "tabular" / f"{name}.parquet")
        if len(table) > 3000:
            table = table.sample(3000, random_state=seed)
        table = table[table.groupby("target").target.transform("size") >= 10]
        X = table.drop(columns="target")
        numbers = X.select_dtypes("number")
        X = numbers if numbers.shape[1] == X.shape[1] else pd.get_dummies(X.astype(str))
        yield name, X.to_numpy(float), table.target.astype(str).to_numpy()


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = [
        "| data | estimator | pairs | default | K/2 | K | auto | chosen | auto - best |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, X, y in datasets(options.data, options.seed):
        for family, estimator in FAMILIES.items():
            sizes = candidate_sizes(len(np.unique(y)))
            right: dict[Any, list[float]] = {size: [] for size in (*sizes, "auto")}
            chosen = []
            for split in range(options.seed, options.seed + options.splits):
                parts = train_test_split(X, y, test_size=0.4, random_state=split, stratify=y)
                for size, found in right.items():
                    model = PanelClassifier(estimator, size=size, random_state=0).fit(parts[0], parts[2])
                    found.append(100 * model.score(parts[1], parts[3]))
                    if size == "auto":
                        chosen.append(model.size_report_.size)
            mean = {size: float(np.mean(found)) for size, found in right.items()}
            best = max(mean[size] for size in sizes)
            k = sizes[-1]
            columns = [mean.get(size) for size in (2, sizes[1] if len(sizes) > 1 else k, max(2, k // 2), k)]
            cells = [f"{value:.1f}" for value in (*columns, mean["auto"])]
            behind = f"{mean['auto'] - best:+.1f}"
            row = [name, family, *cells, ", ".join(map(str, chosen)), behind]
            lines.append(f"| {' | '.join(row)} |")
            print(lines[-1], flush=True)
    replace_table(RESULT, lines, number=int(options.seed != 0))


if __name__ == "__main__":
    main()
