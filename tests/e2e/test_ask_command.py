"""`covote ask` as a person types it."""

import csv
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covote import design, simulate

TRUTH = np.arange(200) % 10


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    panel = design(10, 4, effort="fast")
    panel.save("panel.toml")
    pq.write_table(simulate(panel, TRUTH, accuracy=0.95, seed=1).to_arrow(), "votes.parquet")
    gold = "".join(f"{n},{k}\n" for n, k in enumerate(TRUTH))
    Path("gold.csv").write_text("item,label\n" + gold)
    return panel


def test_a_replay_says_what_would_have_been_enough(covote, files):
    ran = covote(
        "ask",
        "votes.parquet",
        "--panel",
        "panel.toml",
        "--gold",
        "gold.csv",
        "--report",
        "ask.html",
        "--json",
    )
    assert ran.status == 0, ran.err
    rules = json.loads(ran.out)["rules"]
    assert set(rules) == {"elimination", "vote"}
    for found in rules.values():
        assert set(found) == {"answers_per_item", "cost_per_item", "agreement", "accuracy", "accuracy_all"}
        assert 1 < found["answers_per_item"] < len(files)
    assert rules["elimination"]["answers_per_item"] < rules["vote"]["answers_per_item"] < 6
    assert rules["vote"]["agreement"] > 0.97
    page = Path("ask.html").read_text()
    assert "<svg" in page
    assert "elimination" in page


def test_without_gold_only_agreement_is_told(covote, files):
    found = json.loads(covote("ask", "votes.parquet", "--panel", "panel.toml", "--json").out)["rules"]
    assert set(found["vote"]) == {"answers_per_item", "cost_per_item", "agreement"}
    said = covote("ask", "votes.parquet", "--panel", "panel.toml").out
    assert "You collected 9.0 answers per item, about" in said
    assert "Asking one expert at a time would have needed" in said


def test_the_next_questions_are_a_table_to_fill_in(covote, files):
    """They go to experts who have not answered the item, and the filled table can be decoded."""
    table = simulate(files, TRUTH, accuracy=0.95, missing=0.6, seed=1)
    pq.write_table(table.to_arrow(), "some.parquet")
    ran = covote(
        "ask",
        "some.parquet",
        "--panel",
        "panel.toml",
        "--next",
        "30",
        "-o",
        "questions.csv",
        "--gold",
        "gold.csv",
    )
    assert ran.status == 0, ran.err
    assert re.search(r"30 questions to [89] experts, \d to \d each", ran.err + ran.out)
    rows = list(csv.DictReader(Path("questions.csv").read_text().splitlines()))
    assert len(rows) == len({row["item"] for row in rows}) == 30
    assert {row["label"] for row in rows} == {""}
    names = [str(name) for name in files.names]
    assert all(table.dense[int(row["item"]), names.index(row["expert"])] == -1 for row in rows)
    filled = "".join(
        f"{r['item']},{r['expert']},{files.blocks()[names.index(r['expert'])][0]}\n" for r in rows
    )
    Path("filled.csv").write_text("item,expert,label\n" + filled)
    assert covote("decode", "filled.csv", "--panel", "panel.toml", "-o", "labels.csv").status == 0


def test_questions_have_the_headings_of_the_answers_and_offer_the_classes(covote, files):
    table = simulate(files, TRUTH, accuracy=0.95, missing=0.6, seed=1).to_arrow()
    pq.write_table(
        table.rename_columns(["photo", "volunteer", "species", *table.column_names[3:]]), "p.parquet"
    )
    said = covote("ask", "p.parquet", "--panel", "panel.toml", "--next", "5", "-o", "questions.xlsx").out
    assert "Fill in the column species, and add the rows to your answers." in said
    book = openpyxl.load_workbook("questions.xlsx")
    assert [cell.value for cell in book["covote"][1]] == ["photo", "volunteer", "species"]
    (offered,) = book["covote"].data_validations.dataValidation
    assert str(offered.sqref) == "C2:C6"
    assert [cell.value for (cell,) in book["lists"].iter_rows()] == list(map(str, files.classes))


def test_a_stored_model_is_one_more_expert_who_is_not_asked(covote, files):
    """With a model that is always right, only what it leaves open is worth a question."""
    table = simulate(files, TRUTH, accuracy=0.9, missing=0.5, seed=1)
    pq.write_table(table.to_arrow(), "some.parquet")
    proba = np.where(TRUTH[:, None] == np.arange(10), 0.91, 0.01)
    proba[:20] = 0  # the model says nothing
    columns = {str(name): proba[:, k] for k, name in enumerate(files.classes)}
    pq.write_table(pa.table({"photo": np.arange(len(TRUTH)), **columns}), "camera.parquet")
    command = ("ask", "some.parquet", "--panel", "panel.toml", "--next", "20", "-o", "questions.csv")
    silent = {}
    for model in ((), ("--model", "camera.parquet")):
        assert covote(*command, *model).status == 0
        rows = list(csv.DictReader(Path("questions.csv").read_text().splitlines()))
        assert "camera" not in {row["expert"] for row in rows}
        silent[model] = sum(int(row["item"]) < 20 for row in rows)
    assert silent[()] < 5 < 10 < silent["--model", "camera.parquet"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("votes.parquet", "--panel", "panel.toml", "--next", "5"), "give both --next 200 and -o"),
        (("votes.parquet", "--panel", "panel.toml", "-o", "q.csv"), "give both --next 200 and -o"),
        (("votes.parquet", "--panel", "panel.toml", "--next", "-5", "-o", "q.csv"), "at least 1, not -5"),
        (("votes.parquet", "--panel", "panel.toml", "--next", "5", "-o", "q.doc"), "q.doc"),
        (("votes.parquet", "--panel", "panel.toml", "--next", "5", "-o", "votes.parquet"), "votes.parquet"),
        (
            ("votes.parquet", "--panel", "panel.toml", "--next", "5", "-o", "q.csv", "--json"),
            "leave them out",
        ),
        (("votes.parquet",), "--panel"),
        (("--panel", "panel.toml", "--json"), "need a file of answers; name it"),
        (("nothing.parquet", "--panel", "panel.toml"), "nothing.parquet"),
    ],
)
def test_mistakes_end_in_one_line(covote, files, arguments, words):
    ran = covote("ask", *arguments)
    assert ran.status == 2
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_a_conversation_is_undone_and_goes_on_from_its_state(files):
    from typer.testing import CliRunner

    from covote.asking import Asker
    from covote.cli.app import app

    def talk(*lines):
        arguments = ["ask", "--panel", "panel.toml", "--state", "state.npz"]
        return CliRunner().invoke(app, arguments, input="\n".join(lines) + "\n")

    def first_choice():
        (question,) = Asker.load("state.npz").waiting() or Asker.load("state.npz").next(1)
        return str(question.classes[0])

    begun = talk("99", "skip", "quit")
    assert "99" in begun.output
    assert "which of" in begun.output
    talk(first_choice(), "quit")
    assert Asker.load("state.npz").answers == 1
    talk("undo", "quit")
    assert Asker.load("state.npz").answers == 0


def test_a_state_with_ids_goes_on_in_the_terminal(files):
    from typer.testing import CliRunner

    from covote.asking import Asker
    from covote.cli.app import app

    for ids, name in ((["left eye", "right eye"], "left eye"), ([70, 71], "70"), ([0, 1], "1")):
        Asker(files, ids).save("named.npz")
        (question,) = Asker.load("named.npz").next(1)
        typed = f"{question.classes[0]}\nquit\n"
        ran = CliRunner().invoke(app, ["ask", "--panel", "panel.toml", "--state", "named.npz"], input=typed)
        assert ran.exit_code == 0, ran.output
        assert f"item {name}: 10 classes are possible" in ran.output
        assert Asker.load("named.npz").answers == 1


def test_of_two_conversations_with_one_state_the_second_to_answer_loses_nothing_of_the_first(files):
    command = [sys.executable, "-m", "covote", "ask", "--panel", "panel.toml", "--state", "state.npz"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as early:
        print("skip", file=early.stdin, flush=True)
        while not Path("state.npz").exists() and early.poll() is None:
            time.sleep(0.02)
        late = subprocess.run(command, input="skip\nskip\nquit\n", capture_output=True, text=True, check=True)
        assert late.stderr == ""
        there = Path("state.npz").read_bytes()
        _, said = early.communicate("none\nquit\n")
        assert (early.returncode, Path("state.npz").read_bytes()) == (2, there)
    assert "another program has written state.npz meanwhile, so the last answer is not kept" in said
