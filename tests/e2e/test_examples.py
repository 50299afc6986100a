"""The examples run, and say what their stories promise."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from covote import label_file
from tests.pages import files

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name, *arguments):
    """Run an example in a process of its own, warnings as errors; return what it prints."""
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, env=os.environ, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    return ran.stdout


def shares(text):
    return [float(share) for share in re.findall(r"([\d.]+)%", text)]


def test_hospitals_know_more_together():
    text = run("hospital_silos.py")
    alone = [float(share) for share in re.findall(r"about all: ([\d.]+)%", text)]
    together = float(re.search(r"Together they are right about ([\d.]+)%", text)[1])
    assert len(alone) == 6
    assert max(alone) < 51 < 85 < together


def test_a_message_finds_its_team():
    text = run("bank_intents.py", "please stop the transfer to my landlord")
    assert "proved optimal" in text
    assert re.search(r"%  transfer_cancel\n", text)
    teams, one_model, pairs = shares(text[text.index("Accuracy on new") :])[:3]
    assert teams > 85
    assert teams > max(one_model, pairs) - 4


def test_redundancy_survives_an_outage():
    once, twice = run("outage.py").split("Redundancy 2")
    lost = {"once": shares(once), "twice": shares(twice)}
    # whole; then mean and worst for one, two and three lost experts
    assert len(lost["once"]) == len(lost["twice"]) == 7
    assert lost["once"][0] > lost["once"][1] > lost["once"][3] > lost["once"][5] > 85
    assert lost["twice"][2] > lost["twice"][0] - 0.5


@pytest.mark.parametrize("example", sorted(path.name for path in EXAMPLES.glob("*.py")))
def test_every_example_says_how_to_run_it(example):
    assert f"python examples/{example}" in (EXAMPLES / example).read_text(encoding="utf-8")


def test_a_stand_in_for_a_language_model_labels_the_messages_of_the_tutorial(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in files(EXAMPLES.parent / "docs" / "models-tutorial.md").items():
        Path(name).write_text(text, encoding="utf-8")
    command = [sys.executable, "-W", "error", str(EXAMPLES / "stand_in.py"), "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            address = server.stdout.readline().split()[-1]
            panel = Path("chat.toml").read_text(encoding="utf-8")
            Path("local.toml").write_text(
                panel.replace("http://127.0.0.1:8080/v1", address), encoding="utf-8"
            )
            found = label_file("messages.csv", "labels.csv", "local.toml", trust=True)
        finally:
            server.kill()
    rows = Path("labels.csv").read_text(encoding="utf-8").splitlines()[1:]
    labels = [row.split(",")[1] for row in rows]
    assert labels == ["lost card", "card arrival", "exchange rate", "lost card"]
    assert {run.name: run.asked for run in found.experts} == {"cards": 4, "post": 4, "assistant": 4}
