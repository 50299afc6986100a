"""ONNX experts next to onnxruntime called directly; batches asked twice by a run that is killed.

    python benchmarks/labelling.py

CPU seconds of one process, one thread; direct calls and experts take turns on the same batches, the best of
several rounds counts.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pyarrow as pa
import pyarrow.parquet as pq
from onnx import TensorProto, helper

import covote
from covote import Panel
from covote.labelling.answers_file import AnswersFile
from covote.labelling.batch_questions import BatchQuestion, ask
from covote.labelling.data import DataPlace
from covote.labelling.preparing import prepare
from covote.models import open_expert

CLASSES = [f"class-{k}" for k in range(10)]


def network(path, sizes, *, labels, seed=0):
    """Write a network of dense layers; it gives probabilities, or the names of the classes."""
    rng = np.random.default_rng(seed)
    nodes, weights, last = [], [], "x"
    for n, (inner, outer) in enumerate(pairwise(sizes)):
        scale = np.float32(np.sqrt(2 / inner))
        for name, array in ((f"w{n}", rng.normal(size=(inner, outer)) * scale), (f"b{n}", np.zeros(outer))):
            flat = array.astype(np.float32)
            weights.append(helper.make_tensor(name, TensorProto.FLOAT, flat.shape, flat.ravel()))
        nodes.append(helper.make_node("Gemm", [last, f"w{n}", f"b{n}"], [f"z{n}"]))
        last = f"z{n}"
        if n < len(sizes) - 2:
            nodes.append(helper.make_node("Relu", [last], [f"r{n}"]))
            last = f"r{n}"
    nodes.append(helper.make_node("Softmax", [last], ["chances"], axis=1))
    outputs = [helper.make_tensor_value_info("chances", TensorProto.FLOAT, [None, sizes[-1]])]
    if labels:
        weights.append(
            helper.make_tensor("names", TensorProto.STRING, [sizes[-1]], [c.encode() for c in CLASSES])
        )
        nodes.append(helper.make_node("ArgMax", ["chances"], ["best"], axis=1, keepdims=0))
        nodes.append(helper.make_node("Gather", ["names", "best"], ["label"]))
        outputs = [helper.make_tensor_value_info("label", TensorProto.STRING, [None])]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, sizes[0]])]
    graph = helper.make_graph(nodes, "network", inputs, outputs, weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    helper.set_model_props(model, {"classes": json.dumps(CLASSES)})
    onnx.save(model, path)


def seconds(work):
    started = time.process_time()
    work()
    return time.process_time() - started


def compare(folder, sizes, labels, rows, batch, rounds):
    """Return CPU seconds of direct calls, of the expert, and of the run that asks and keeps."""
    network(folder / "model.onnx", sizes, labels=labels)
    data = np.random.default_rng(1).normal(size=(rows, sizes[0])).astype(np.float32)
    np.save(folder / "data.npy", data)
    names = [f"x{j}" for j in range(sizes[0])]
    pq.write_table(pa.table(dict(zip(names, data.T, strict=True))), folder / "data.parquet")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    model = {"use": "onnx:model.onnx", "threads": 1}
    expert = open_expert("e", CLASSES, model, folder)
    panel = Panel(CLASSES, [[1] * 10], ["e"], models=[model])
    batches = [data[start : start + batch] for start in range(0, rows, batch)]

    def run(file):
        with tempfile.TemporaryDirectory(dir=folder) as answers:
            kept = AnswersFile(Path(answers) / "labels.answers.sqlite")
            ready = prepare(DataPlace(folder / file), panel, folder, kept, batch, refresh=False, trust=False)
            ready.data.read(0, 1)  # a group of rows is decoded once, for all experts
            spans = [(s, min(s + batch, rows)) for s in range(0, rows, batch)]
            digests = ready.stat_digests
            questions = [BatchQuestion(0, start, stop, None, digests[start]) for start, stop in spans]

            def asked():
                for question in questions:
                    reply = ask(ready.experts[0], ready.data, question)
                    with kept.transaction():
                        kept.insert("e", reply.question.start, reply.answers.label, reply.answers.probability)

            with closing(kept):
                return seconds(asked)

    times = [
        (
            seconds(lambda: [session.run(None, {"x": rows})[0] for rows in batches]),
            seconds(lambda: [expert.answer(rows) for rows in batches]),
            run("data.npy"),
            run("data.parquet"),
        )
        for _ in range(rounds)
    ]
    return np.min(times, axis=0)


def killed_run(folder, kills, batches):
    """Kill a run of two experts at some moments; return (batches asked by each, the same labels?)."""
    (folder / "logged.py").write_text(
        "import time\nfrom pathlib import Path\n"
        "def said(name, batch):\n"
        "    with open(Path(__file__).parent / f'{name}.log', 'a') as log:\n"
        "        log.write(f'{int(batch[0, 0])}\\n')\n"
        "    time.sleep(0.01)\n    return ['ab'[int(x) % 2] for x in batch[:, 0]]\n"
        "def one(batch): return said('one', batch)\ndef two(batch): return said('two', batch)\n"
    )
    np.save(folder / "rows.npy", np.arange(batches * 10.0).reshape(-1, 1))
    models = ["python:logged:one", "python:logged:two"]
    Panel(["a", "b"], [[1, 1]] * 2, ["one", "two"], models=models).save(folder / "panel.toml")

    def start(output):
        command = [sys.executable, "-m", "covote", "label", "rows.npy", "--trust", "--panel", "panel.toml",
                   "-o", output, "--batch", "10"]  # fmt: skip
        environment = {**os.environ, "PYTHONPATH": str(Path(covote.__file__).parents[1])}
        return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL)

    def asked():
        return [
            len(f.read_text().split()) if f.exists() else 0 for f in (folder / "one.log", folder / "two.log")
        ]

    rng, at = np.random.default_rng(3), 0
    for _ in range(kills):
        at += int(rng.integers(1, 2 * batches // (kills + 1)))
        process = start("killed.parquet")
        while sum(asked()) < at and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.wait()
    start("killed.parquet").wait()
    counts = asked()
    start("whole.parquet").wait()
    same = (folder / "killed.parquet").read_bytes() == (folder / "whole.parquet").read_bytes()
    return counts, same


CASES = [
    ("784-512-256-10", [784, 512, 256, 10]),
    ("784-128-10", [784, 128, 10]),
    ("64-64-10", [64, 64, 10]),
    ("64-10 (linear)", [64, 10]),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=40_960)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kills", type=int, default=5)
    arguments = parser.parse_args()
    print(
        f"Python {platform.python_version()}, onnxruntime {onnxruntime.__version__}, numpy {np.__version__}"
    )
    print(f"{arguments.rows} rows in batches of {arguments.batch}; CPU milliseconds a batch, one thread\n")
    print("| network | gives | onnxruntime | expert | ratio | run, npy | ratio | run, Parquet | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, sizes in CASES:
        for labels in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                direct, *others = compare(
                    Path(folder), sizes, labels, arguments.rows, arguments.batch, arguments.rounds
                )
            scale = 1000 * arguments.batch / arguments.rows
            cells = " | ".join(f"{scale * other:.3f} | {other / direct:.2f}" for other in others)
            gives = "names" if labels else "probabilities"
            print(f"| {name} | {gives} | {scale * direct:.3f} | {cells} |", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        batches = 300
        counts, same = killed_run(Path(folder), arguments.kills, batches)
    again = [count - batches for count in counts]
    print(f"\nKilled {arguments.kills} times (SIGKILL): {again} of {batches} batches asked again;")
    print(f"labels the same byte for byte: {'yes' if same else 'NO'}.")


if __name__ == "__main__":
    main()
