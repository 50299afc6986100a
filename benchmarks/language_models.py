"""A language model on the 77 intents of banking77: one prompt, a panel of prompts, a baseline.

    python benchmarks/language_models.py http://127.0.0.1:8091/v1 --data FOLDER [--questions 500] [--size 52]

The server is llama.cpp's, from the wheel xllamacpp: `make language-models` installs it with a model of 135
million parameters and starts it. Options keep one order, so that the server reads them once. The baseline is
the nearest mean of MiniLM sentence features with five labelled questions per class; it costs no calls.
Intervals are 95% (Wilson). FOLDER holds text/banking77.parquet and text/minilm_banking77.npy. Prompts are
tried with ``--split train``. Answers are kept in ``--folder``: a run that is interrupted continues there.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
from numpy.typing import NDArray

from covote import Panel, design
from covote.labelling import DataPlace, label_file
from covote.labelling.answers_file import AnswersFile
from covote.models.prompts import calibrate_scores, from_scores

PROMPT = """These are the topics that customers ask a bank about:
{classes}

A customer asks: "{text}"
The topic of this question is:
-"""
MODEL = {"constrain": "grammar", "top_logprobs": 1000, "shuffle": False, "in_flight": 4, "timeout": 300.0}


def interval(right: int, items: int) -> str:
    """Return a share in percent with its 95% interval."""
    share, z = right / items, 1.96
    middle = (share + z * z / (2 * items)) / (1 + z * z / items)
    half = z * np.sqrt(share * (1 - share) / items + z * z / (4 * items**2)) / (1 + z * z / items)
    return f"{100 * share:.1f} ({100 * (middle - half):.0f} to {100 * (middle + half):.0f})"


def main() -> None:
    """Measure, and print the rows of the table as they come."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--split", default="test")
    parser.add_argument("--size", type=int, default=39, help="classes in each prompt of the panel")
    parser.add_argument("--name", default="model")
    parser.add_argument("--rows", default="baseline,one,panel")
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="covote-models-"))
    folder.mkdir(exist_ok=True)
    table = pd.read_parquet(options.data / "text" / "banking77.parquet")
    table["intent"] = table.intent.str.replace("_", " ").str.lower()
    X = np.load(options.data / "text" / "minilm_banking77.npy").astype("f4")
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    classes = sorted(table.intent.unique())
    chosen = table[table.split == options.split].sample(500, random_state=0).index[: options.questions]
    truth = table.intent[chosen].tolist()
    csv.write_csv(
        pa.table({"item": chosen.to_numpy(), "text": table.text[chosen].tolist()}), folder / "items.csv"
    )

    rng = np.random.default_rng(0)
    train = table[(table.split == "train") & ~table.index.isin(chosen)]
    means = [
        X[rng.choice(train.index[train.intent == name], 5, replace=False)].mean(axis=0) for name in classes
    ]
    cosine = X[chosen] @ (np.stack(means) / np.linalg.norm(means, axis=1, keepdims=True)).T
    model = {"use": f"chat:{options.url}", "prompt": PROMPT, **MODEL}

    def run(row: str, panel: Panel, columns: tuple[str, ...] = ("text",)) -> tuple[list[Any], int, int]:
        found = label_file(
            DataPlace(folder / "items.csv", "item", columns), folder / f"{row}.csv", panel, odds=1
        )
        labels = csv.read_csv(folder / f"{row}.csv").column("label").to_pylist()
        usage = [one.usage for one in found.experts]
        return labels, sum(one.calls for one in usage), sum(one.tokens_in + one.tokens_out for one in usage)

    def show(way: str, labels: list[Any], calls: int, tokens: int) -> None:
        right = sum(a == b for a, b in zip(labels, truth, strict=True))
        cells = (options.name, way, interval(right, len(truth)), f"{calls:,}", f"{tokens:,}")
        print(f"| {' | '.join(cells)} |", flush=True)

    def named(scores: NDArray[np.float32]) -> list[str | None]:
        return [classes[k] if k >= 0 else None for k in from_scores(scores)[0].tolist()]

    def baseline() -> None:
        show("(c) nearest mean, no language model", [classes[k] for k in cosine.argmax(axis=1)], 0, 0)

    def scores_of(row: str) -> NDArray[np.float32]:
        with closing(AnswersFile(folder / f"{row}.answers.sqlite")) as kept:
            return kept.scores("model")[1]

    def by_thirty(scores: NDArray[np.float32]) -> None:
        shares = []
        for _ in range(20):
            few = rng.choice(len(scores), 30, replace=False)
            usual = scores[few[0]] - calibrate_scores(scores[few])[0]
            shares.append(np.mean([a == b for a, b in zip(named(scores - usual), truth, strict=True)]))
        mean, spread = 100 * np.mean(shares), 100 * np.std(shares)
        print(f"by 30 random questions: {mean:.1f}, standard deviation of 20 draws {spread:.1f}", flush=True)

    def single(**more: Any) -> Panel:
        return Panel(classes, [[True] * len(classes)], ["model"], models=[{**model, **more}])

    def one() -> None:
        labels, *cost = run("one", single(calibrate=False))
        show("(a) one prompt, raw", labels, *cost)
        show("(a) one prompt, calibrated", named(calibrate_scores(scores_of("one"))), *cost)
        by_thirty(scores_of("one"))

    def panel() -> None:
        found = design(classes, options.size)
        found = Panel(found.classes, found.knows, found.names, models=[model] * len(found))
        way = f"(b) {len(found)} prompts with {options.size} classes, calibrated"
        show(way, *run(f"panel-{options.size}", found))

    rows = {"baseline": baseline, "one": one, "panel": panel}
    for row in options.rows.split(","):
        rows[row]()


if __name__ == "__main__":
    main()
