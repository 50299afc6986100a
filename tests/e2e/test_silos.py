"""Six silos, each with another kind of model, label together: real files and real servers."""

import json
import sys
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

CLASSES = ["zero", "one", "two", "three", "four", "five"]
KNOWS = {
    "skops": [0, 1, 2, 3],
    "onnx": [0, 1, 4, 5],
    "torch": [2, 3, 4, 5],
    "function": [0, 1, 2, 3],
    "inference": [0, 1, 4, 5],
    "json": [2, 3, 4, 5],
}
BATCH = 100


class Servers(BaseHTTPRequestHandler):
    """Two of the silos: one speaks the Open Inference Protocol, the other answers in JSON of its own."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, said):
        body = json.dumps(said).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer({"inputs": [{"name": "pixels", "datatype": "FP32", "shape": [-1, 64]}]})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/digits":
            rows = [[item[f"p{k}"] for k in range(64)] for item in asked["items"]]
            self.server.items["json"] += len(rows)
            said = self.server.models["json"].predict(rows)
            self.answer({"labels": [str(CLASSES.index(name)) for name in said]})  # in its own words: digits
            return
        pixels = asked["inputs"][0]
        rows = np.array(pixels["data"]).reshape(pixels["shape"])
        self.server.items["inference"] += len(rows)
        data = self.server.models["inference"].predict_proba(rows)
        output = {"name": "p", "datatype": "FP64", "shape": list(data.shape), "data": data.ravel().tolist()}
        self.answer({"outputs": [output]})


@pytest.fixture
def silos(tmp_path, monkeypatch):
    """Models in the folder and on servers, and 600 rows of pixels to label."""
    skops, onnx, torch = (pytest.importorskip(name) for name in ("skops.io", "skl2onnx", "torch"))
    X, y = load_digits(return_X_y=True)
    X, y = (X[y < 6] / 16).astype(np.float32), np.array(CLASSES)[y[y < 6]]
    models = {}
    for name, known in KNOWS.items():
        mine = np.isin(y, np.array(CLASSES)[known]) & (np.arange(len(y)) >= 600)
        models[name] = LogisticRegression(max_iter=1000).fit(X[mine], y[mine])
    skops.dump(models["skops"], tmp_path / "silo.skops")
    converted = onnx.to_onnx(models["onnx"], X[:1], options={"zipmap": False})
    (tmp_path / "silo.onnx").write_bytes(converted.SerializeToString())
    linear = torch.nn.Linear(64, 4)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(models["torch"].coef_))
        linear.bias.copy_(torch.tensor(models["torch"].intercept_))
    program = torch.export.export(linear, (torch.zeros(8, 64),), dynamic_shapes=({0: torch.export.Dim.AUTO},))
    torch.export.save(program, tmp_path / "silo.pt2")
    module = f"silo_{abs(hash(str(tmp_path)))}"
    np.savez(tmp_path / "weights.npz", w=models["function"].coef_, b=models["function"].intercept_)
    (tmp_path / f"{module}.py").write_text(
        "from pathlib import Path\nimport numpy as np\n"
        "with np.load(Path(__file__).with_name('weights.npz')) as file:\n    w, b = file['w'], file['b']\n"
        f"NAMES = np.array({models['function'].classes_.tolist()!r})\n\n"
        "def classify(batch):\n"
        "    rows = np.stack([batch[f'p{k}'] for k in range(64)], axis=1)\n"
        "    return NAMES[(rows @ w.T + b).argmax(axis=1)]\n"
    )
    table = {"item": [f"scan-{n}" for n in range(600)], "site": ["north"] * 600}
    pq.write_table(
        pa.table({**table, **{f"p{k}": X[:600, k] for k in range(64)}}), tmp_path / "scans.parquet"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))
    with ThreadingHTTPServer(("127.0.0.1", 0), Servers) as server:
        server.models, server.items = models, Counter()
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        yield server, address, module, y[:600]
        server.shutdown()


def write_panel(path, models, address, module, mistakes):
    """Write the panel; the mistakes are a wrong file name, classes left out, and words not translated."""
    written = {
        "skops": '"skops:silos.skops"' if mistakes else '"skops:silo.skops"',
        "onnx": '"onnx:silo.onnx"',
        "torch": {"use": "torch:silo.pt2", "logits": True, "classes": "torch"},
        "function": f'"python:{module}:classify"',
        "inference": {"use": f"{address}/v2/models/digits"} | ({} if mistakes else {"classes": "inference"}),
        "json": {"use": f"json:{address}/digits"} | ({} if mistakes else {"labels": True}),
    }
    lines = [f"classes = {json.dumps(CLASSES)}"]
    for name, known in KNOWS.items():
        model = written[name]
        if isinstance(model, dict):
            model = dict(model)
            if "classes" in model:
                model["classes"] = models[name].classes_.tolist()
            if "labels" in model:
                model["labels"] = {str(k): CLASSES[k] for k in known}
            parts = []
            for key, value in model.items():
                table = isinstance(value, dict)
                inner = ", ".join(f'"{a}" = "{b}"' for a, b in value.items()) if table else json.dumps(value)
                parts.append(f"{key} = {{ {inner} }}" if table else f"{key} = {inner}")
            model = f"{{ {', '.join(parts)} }}"
        lines += ["[[experts]]", f'name = "{name}"', f"knows = {json.dumps([CLASSES[k] for k in known])}"]
        lines.append(f"model = {model}")
    path.write_text("\n".join(lines) + "\n")


def test_three_mistakes_are_told_at_once_and_six_kinds_of_models_label(covote, silos, tmp_path):
    server, address, module, truth = silos
    command = ["label", "scans.parquet", "--panel", "panel.toml", "-o", "labels.csv", "--trust"]
    write_panel(tmp_path / "panel.toml", server.models, address, module, mistakes=True)
    ran = covote(*command, "--batch", BATCH)
    assert ran.status == 2
    for words in (
        "3 experts cannot be asked: (1) expert 'skops': no file",
        "expert 'inference' gave 4 columns of probabilities without saying which classes they are",
        "expert 'json' answered '",
        "write labels = {",
    ):
        assert words in ran.err
    assert max(server.items.values()) <= BATCH
    assert not (tmp_path / "labels.csv").exists()
    write_panel(tmp_path / "panel.toml", server.models, address, module, mistakes=False)
    ran = covote(*command, "--batch", BATCH)
    assert ran.status == 0, ran.err
    assert "Asked 6 experts" in ran.out
    assert server.items == {"inference": 700, "json": 700}  # the first batch was of no use to anyone
    table = pyarrow.csv.read_csv(tmp_path / "labels.csv")
    assert table.column("item").to_pylist() == [f"scan-{n}" for n in range(600)]
    right = np.mean(np.array(table.column("label").to_pylist()) == truth)
    assert right > 0.92  # what one model gets that was trained on the data of all silos
