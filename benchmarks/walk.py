"""The walk of a command: through how many modules and functions of covote it goes.

    python benchmarks/walk.py [--source src]

Counts what is called while `design`, `decode`, `label` and `PanelClassifier.predict` run on small inputs, not
what is imported.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

SETTING = """
import sys, threading, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import numpy as np
import covote
home = str(Path(covote.__file__).parent)
def walked(run):
    seen = set()
    def importing(frame):
        while frame is not None:
            code = frame.f_code
            if code.co_name == "<module>" and code.co_filename.startswith(home):
                return not code.co_filename.endswith("__main__.py")
            frame = frame.f_back
        return False
    def call(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(home) and not importing(frame):
            seen.add((code.co_filename, code.co_qualname))
    threading.setprofile(call)
    sys.setprofile(call)
    try:
        run()
    finally:
        sys.setprofile(None)
    print(len({name for name, _ in seen}), len(seen))
def command(*words):
    import runpy
    sys.argv = ["covote", *words]
    def run():
        try:
            runpy.run_module("covote", run_name="__main__")
        except SystemExit as ended:
            assert not ended.code, ended.code
    walked(run)
"""
FILES = """
from covote import Panel, simulate
import pyarrow.parquet as pq
panel = Panel(10, [[(k + i) % 10 < 4 for k in range(10)] for i in range(9)])
panel.save("panel.toml")
pq.write_table(simulate(panel, np.arange(3000) % 10).to_arrow("long"), "votes.parquet")
"""
MODELS = """
from covote import Panel
Path("nearest.py").write_text("def one(rows): return [0] * len(rows)")
Panel(2, [[1, 1]] * 2, models=["python:nearest:one"] * 2).save("models.toml")
np.save("data.npy", np.zeros((300, 2)))
"""
FIT = """
from covote.learn import PanelClassifier
from sklearn.datasets import make_blobs
points, truth = make_blobs(300, centers=5, random_state=0)
from sklearn.linear_model import LogisticRegression
model = PanelClassifier(LogisticRegression()).fit(points, truth)
"""
WALKS = {
    "design": 'command("design", "13", "4", "-o", "designed.toml")',
    "decode": FILES + 'command("decode", "votes.parquet", "--panel", "panel.toml", "-o", "labels.parquet")',
    "label": MODELS + 'command("label", "data.npy", "--panel", "models.toml", "-o", "labels.parquet"{trust})',
    "predict": FIT + "walked(lambda: model.predict(points))",
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--source", type=Path, default=Path(__file__).parents[1] / "src")
    source = parser.parse_args().source.resolve()
    trust = ', "--trust"' if "--trust" in (source / "covote/cli/label.py").read_text() else ""
    print("| walk | modules | functions |\n|---|---|---|")
    for name, code in WALKS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = f"import sys\nsys.path.insert(0, {str(source)!r})\n"
            script = path + SETTING + code.replace("{trust}", trust)
            ran = subprocess.run(
                [sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False
            )
        counts = ran.stdout.split()[-2:] if ran.returncode == 0 else ["failed", ran.stderr.strip()[-200:]]
        print(f"| {name} | {' | '.join(counts)} |", flush=True)


if __name__ == "__main__":
    main()
