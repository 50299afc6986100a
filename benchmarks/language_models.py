"""A language model on the 77 intents of banking77: one prompt, a panel of prompts, a prior, a chooser.

    python benchmarks/language_models.py http://127.0.0.1:8091/v1 --data FOLDER [--questions 100]

The server is llama.cpp's, for example from the wheel xllamacpp (`make language-models` installs it with a
model of 135 million parameters). Options keep one order, so that the server reads them once. The prior is the
nearest mean of MiniLM sentence features with five labelled questions per class; it costs no calls. Intervals
are 95% (Wilson). FOLDER holds text/banking77.parquet and text/minilm_banking77.npy.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

from covote import Panel, design
from covote.labelling import DataPlace, label_file
from covote.models.chooser import chooser_panel

PROMPT = """{classes}

Which of these is this question of a bank's customer about?
{text}

Answer with its name."""
MODEL = {"constrain": "grammar", "top_logprobs": 500, "shuffle": False, "in_flight": 1, "timeout": 300.0}


def interval(right: int, items: int) -> str:
    """Return a share in percent with its 95% interval."""
    share, z = right / items, 1.96
    middle = (share + z * z / (2 * items)) / (1 + z * z / items)
    half = z * np.sqrt(share * (1 - share) / items + z * z / (4 * items**2)) / (1 + z * z / items)
    return f"{100 * share:.1f} ({100 * (middle - half):.0f} to {100 * (middle + half):.0f})"


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--name", default="model")
    parser.add_argument("--rows", default="prior,raw,calibrated,chooser,panel")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="covote-models-"))
    table = pd.read_parquet(options.data / "text" / "banking77.parquet")
    table["intent"] = table.intent.str.replace("_", " ").str.lower()
    X = np.load(options.data / "text" / "minilm_banking77.npy").astype("f4")
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    classes = sorted(table.intent.unique())
    chosen = table[table.split == "test"].sample(500, random_state=0).index[: options.questions]
    truth = table.intent[chosen].tolist()
    csv.write_csv(
        pa.table({"item": chosen.to_numpy(), "text": table.text[chosen].tolist()}), folder / "items.csv"
    )

    rng = np.random.default_rng(0)
    train = table[table.split == "train"]
    means = [
        X[rng.choice(train.index[train.intent == name], 5, replace=False)].mean(axis=0) for name in classes
    ]
    cosine = X[chosen] @ (np.stack(means) / np.linalg.norm(means, axis=1, keepdims=True)).T
    chance = np.exp(20 * (cosine - cosine.max(axis=1, keepdims=True)))
    chance /= chance.sum(axis=1, keepdims=True)
    columns = {"item": chosen.to_numpy()} | {name: chance[:, k] for k, name in enumerate(classes)}
    pq.write_table(pa.table(columns), folder / "prior.parquet")

    place = DataPlace(folder / "items.csv", "item", ("text",))
    model = {"use": f"chat:{options.url}", "prompt": PROMPT, **MODEL}
    everything = [[True] * len(classes)]

    def run(row: str, panel: Panel, where: DataPlace = place) -> tuple[list[Any], int, int]:
        found = label_file(where, folder / f"{row}.csv", panel, odds=1)
        labels = csv.read_csv(folder / f"{row}.csv").column("label").to_pylist()
        usage = [one.usage for one in found.experts]
        return labels, sum(one.calls for one in usage), sum(one.tokens_in + one.tokens_out for one in usage)

    def alone(**more: Any) -> Panel:
        return Panel(classes, everything, ["model"], models=[{**model, **more}])

    def chooser() -> Panel:
        panel = chooser_panel(f"chat:{options.url}", folder / "prior.parquet", shown=4)
        return Panel(panel.classes, panel.knows, panel.names, models=[{**panel.models[0], **model}])

    def prompts() -> Panel:
        panel = design(classes, 39)
        return Panel(panel.classes, panel.knows, panel.names, models=[model] * len(panel))

    rows = {
        "prior": ("(c) prior alone", None),
        "raw": ("(a) one prompt, raw", lambda: run("raw", alone(calibrate=False))),
        "calibrated": ("(a) one prompt, calibrated", lambda: run("calibrated", alone())),
        "chooser": (
            "(d) chooser after the prior, 4 shown",
            lambda: run("chooser", chooser(), DataPlace(folder / "items.csv", "item", ("item", "text"))),
        ),
        "panel": ("(b) six prompts with 39 classes, calibrated", lambda: run("panel", prompts())),
    }
    for key in options.rows.split(","):
        name, measure = rows[key]
        if measure is None:
            found: tuple[list[Any], int, int] = [classes[k] for k in chance.argmax(axis=1)], 0, 0
        else:
            found = measure()
        right = sum(a == b for a, b in zip(found[0], truth, strict=True))
        cells = (options.name, name, interval(right, len(truth)), f"{found[1]:,}", f"{found[2]:,}")
        line = f"| {' | '.join(cells)} |"
        print(line, flush=True)


if __name__ == "__main__":
    main()
