"""`covote label --engine dask`, a process of its own with workers that are forks of it."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import covote as covote_package
from covote import Panel

CLASSES = ["ant", "bee", "cat"]


@pytest.fixture
def folder(tmp_path):
    """Data, and a panel of an ONNX model with threads of its own and a scikit-learn model."""
    import skops.io
    from skl2onnx import to_onnx

    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 600)
    rows = (np.eye(3)[truth] + 0.4 * rng.normal(size=(600, 3))).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    model = LogisticRegression().fit(rows, np.array(CLASSES)[truth])
    converted = to_onnx(model, rows[:1], options={"zipmap": False})
    (tmp_path / "m.onnx").write_bytes(converted.SerializeToString())
    skops.io.dump(model, tmp_path / "m.skops")
    models = [
        {"use": "m.onnx", "threads": 2, "classes": CLASSES},
        {"use": "m.onnx", "classes": CLASSES},
        "m.skops",
    ]
    Panel(CLASSES, np.ones((3, 3), bool), ["a", "b", "c"], models=models).save(tmp_path / "panel.toml")
    return tmp_path


def run(folder, output, *options):
    command = [
        sys.executable,
        "-m",
        "covote",
        "label",
        "rows.npy",
        "--trust",
        "--panel",
        "panel.toml",
        "-o",
        output,
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(covote_package.__file__).parents[1])}
    done = subprocess.run(
        [*command, "--batch", "50", *options],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    return done.returncode, done.stderr


def test_workers_open_the_models_and_label_the_same(folder):
    assert run(folder, "here.parquet")[0] == 0
    assert run(folder, "there.parquet", "--engine", "dask", "--workers", "2") == (0, "")
    assert run(folder, "less.parquet", "--ask", "adaptive")[0] == 0
    less = ("--ask", "adaptive", "--engine", "dask", "--workers", "2")
    assert run(folder, "less_there.parquet", *less) == (0, "")
    assert (folder / "less.parquet").read_bytes() == (folder / "less_there.parquet").read_bytes()
    assert (folder / "here.parquet").read_bytes() == (folder / "there.parquet").read_bytes()


def test_a_model_that_cannot_be_opened_is_told_in_a_line(folder):
    (folder / "m.skops").unlink()
    code, told = run(folder, "labels.parquet", "--engine", "dask", "--workers", "2")
    assert code == 2
    assert "expert 'c': no file" in told
    assert "Traceback" not in told
