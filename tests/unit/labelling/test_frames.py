"""Data in memory get the labels that the same data in a file get."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from covote import Panel, label, label_file
from covote.errors import InputError

MODULE = """
from pathlib import Path

def _asked(name, batch):
    rows = len(batch["x"] if isinstance(batch, dict) else batch)
    with open(Path(__file__).parent / "asked.log", "a") as log:
        log.write(f"{name} {rows}\\n")

def _x(batch):
    return batch["x"] if isinstance(batch, dict) else batch[:, 0]

def low(batch):
    _asked("low", batch)
    return ["a" if x < 5 else "b" for x in _x(batch)]

def high(batch):
    _asked("high", batch)
    return ["b" if x < 7 else "c" for x in _x(batch)]

def all_of_them(batch):
    return ["a" if x < 5 else "b" if x < 7 else "c" for x in _x(batch)]

def broken(batch):
    raise ValueError("no power")
"""


@pytest.fixture
def panel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    module = f"framed_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{module}.py").write_text(MODULE)
    models = [f"python:{module}:{name}" for name in ("low", "high", "all_of_them")]
    return Panel.from_blocks(list("abc"), ["ab", "bc", "abc"], ["low", "high", "all"], models=models)


X = np.arange(10)
FRAMES = {
    "pandas": pd.DataFrame({"item": list("klmnopqrst"), "x": X}, index=range(3, 13)),
    "polars": pl.DataFrame({"item": list("klmnopqrst"), "x": X}),
    "arrow": pa.table({"item": list("klmnopqrst"), "x": X}),
    "dict": {"item": list("klmnopqrst"), "x": X},
}


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_are_labelled_as_files_are(panel, tmp_path, kind):
    FRAMES["pandas"].to_csv("data.csv", index=False)
    label_file("data.csv", "labels.csv", panel, trust=True)
    found = label(FRAMES[kind], panel, trust=True).to_pandas()
    assert found["item"].tolist() == list("klmnopqrst")
    assert found["label"].tolist() == ["a"] * 5 + ["b"] * 2 + ["c"] * 3
    assert found["label"].tolist() == pd.read_csv("labels.csv")["label"].tolist()
    assert np.allclose(found["confidence"], pd.read_csv("labels.csv")["confidence"], atol=0.01)  # two digits


def test_arrays_are_labelled(panel):
    assert label(X[:, None], panel, trust=True).to_pandas()["label"].tolist() == list("aaaaabbccc")


def test_kept_answers_are_not_asked_for_again(panel, tmp_path):
    for method in ("learned", "em"):
        label(FRAMES["polars"], panel, keep="answers.sqlite", trust=True, method=method)
    assert (tmp_path / "asked.log").read_text().split() == ["low", "10", "high", "10"]
    with pytest.raises(InputError, match="have changed since"):
        label({"item": list("ab"), "x": [1, 2]}, panel, keep="answers.sqlite", trust=True)


def test_missing_answers_are_told(panel):
    module = panel.models[0].split(":")[1]
    models = [panel.models[0], f"python:{module}:broken", panel.models[2]]
    away = Panel(panel.classes, panel.knows, panel.names, models=models)
    with pytest.warns(UserWarning, match="10 answers are missing: expert 'high'.*no power"):
        found = label(FRAMES["arrow"], away, trust=True)
    assert found.to_pandas()["label"].tolist()[-1] == "c"


def test_code_runs_only_if_it_is_trusted(panel, tmp_path):
    with pytest.raises(InputError, match="trust"):
        label(FRAMES["arrow"], panel)
    assert not (tmp_path / "asked.log").exists()


def test_a_panel_may_be_given_by_its_file(panel, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    panel.save("panel.toml")
    (tmp_path / "panel.toml").rename(tmp_path / "elsewhere" / "panel.toml")
    for module in tmp_path.glob("framed_*.py"):
        module.rename(tmp_path / "elsewhere" / module.name)
    FRAMES["pandas"].to_csv("data.csv", index=False)
    label_file("data.csv", "labels.csv", "elsewhere/panel.toml", trust=True)
    found = label(FRAMES["dict"], tmp_path / "elsewhere" / "panel.toml", trust=True)
    assert pd.read_csv("labels.csv")["label"].tolist() == found.to_pandas()["label"].tolist()
    assert found.to_pandas()["label"].tolist() == list("aaaaabbccc")
