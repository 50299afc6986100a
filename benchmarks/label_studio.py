"""A round trip through the real Label Studio server: configure, import, label, export, read again.

    python benchmarks/label_studio.py PATH/label-studio

Votes are converted to tasks with predictions and a panel to configurations; the server takes both. Then the
same votes are submitted as annotations, one is cancelled, and covote reads what the server exports as JSON
and as JSON-MIN. `make label-studio` installs the server into an environment of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from covote import Panel
from covote.files.converting import convert
from covote.tables.table_file import TableFile

TOKEN = "0123456789abcdef0123456789abcdef01234567"
PORT = 8098
VOTES = {("i1", "ann"): "robin", ("i2", "ann"): "magpie", ("i3", "ann"): "none of mine"}


def call(method: str, path: str, body: Any = None) -> Any:
    """Return what the server answers."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{PORT}{path}",
        None if body is None else json.dumps(body).encode(),
        {"Authorization": f"Token {TOKEN}", "Content-Type": "application/json"},
        method=method,
    )
    with urllib.request.urlopen(request, timeout=120) as reply:
        return json.loads(reply.read() or b"null")


def wait() -> None:
    """Wait until the server answers."""
    for _ in range(600):
        try:
            call("GET", "/api/version")
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(1)
        else:
            return
    raise SystemExit("the server did not start")


def answers(path: Path) -> dict[tuple[str, str], str]:
    """Return the answers that covote finds in a file."""
    table = TableFile(path, exports=True).table().select(["item", "expert", "label"])
    return {(row["item"], str(row["expert"])): row["label"] for row in table.to_pylist()}


def main() -> None:
    """Run the round trip, and say what came back."""
    folder = Path(tempfile.mkdtemp(prefix="covote-label-studio-"))
    environment = {**os.environ, "LABEL_STUDIO_ENABLE_LEGACY_API_TOKEN": "true", "COLLECT_ANALYTICS": "false"}
    environment.pop("PYTHONPATH", None)
    who = ["--username", "ann@example.org", "--password", "only-for-this-test", "--user-token", TOKEN]
    start = [sys.argv[1], "start", "-b", "--port", str(PORT), "--data-dir", str(folder / "data"), *who]
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(start, env=environment, stdout=log, stderr=log)
    try:
        wait()
        print("Label Studio", call("GET", "/api/version").get("release"))
        panel = Panel.from_blocks({"ann": ["robin", "magpie"], "bob": ["magpie", "raven"]})
        panel.save(folder / "panel.toml")
        configurations = convert(folder / "panel.toml", folder / "configurations")
        rows = [f"{item},{expert},{label}" for (item, expert), label in VOTES.items()]
        (folder / "votes.csv").write_text("\n".join(["item,expert,label", *rows]) + "\n")
        convert(folder / "votes.csv", folder / "tasks.json", panel=panel)
        project = call(
            "POST", "/api/projects", {"title": "ann", "label_config": configurations[0].read_text()}
        )
        where = f"/api/projects/{project['id']}"
        tasks = json.loads((folder / "tasks.json").read_text())
        call("POST", f"{where}/import", tasks)
        for task in call("GET", f"/api/tasks?project={project['id']}&fields=all")["tasks"]:
            (prediction,) = task["predictions"]
            url = f"/api/tasks/{task['id']}/annotations/"
            call("POST", url, {"result": prediction["result"]})
            if task["data"]["item"] == "i3":
                call("POST", url, {"result": [], "was_cancelled": True})
        for kind in ("JSON", "JSON_MIN"):
            place = folder / f"{kind.lower()}.json"
            place.write_text(json.dumps(call("GET", f"{where}/export?exportType={kind}")))
            found = {item: label for (item, _), label in answers(place).items()}
            same = found == {item: label for (item, _), label in VOTES.items()}
            print(kind, "equal to the plain table:", same, TableFile(place, exports=True).notes)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
