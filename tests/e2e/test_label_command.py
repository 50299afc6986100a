"""`covote label` as a person types it: real models, kills, outages, mistakes."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import covote as covote_package
from covote import Panel, decode
from covote.votes import Votes

CLASSES = ["ant", "bee", "cat", "dog"]
BLOCKS = [["ant", "bee", "cat"], ["ant", "dog"], ["bee", "dog"], ["cat", "dog"]]
NAMES = ["a", "b", "c", "d"]
ITEMS = 1000

# A model per expert: it knows the truth (column x) where it can, and says its first class elsewhere.
MODULE = """
import os, signal
import numpy as np
from pathlib import Path

CLASSES = ["ant", "bee", "cat", "dog"]
HERE = Path(__file__).parent

def expert(name, known):
    def answer(batch):
        x = (batch["x"] if isinstance(batch, dict) else batch[:, 0]).astype(int)
        with open(HERE / f"{name}.log", "a") as log:
            log.write(f"{len(x)} {int((batch['n'] if isinstance(batch, dict) else batch[:, 1])[0])}\\n")
        if "KILL_AT" in os.environ:
            calls = sum(len(log.read_text().splitlines()) for log in HERE.glob("*.log"))
            if calls >= int(os.environ["KILL_AT"]):
                os.kill(os.getpid(), signal.SIGKILL)
        return [CLASSES[k] if CLASSES[k] in known else known[0] for k in x]
    return answer

a = expert("a", ["ant", "bee", "cat"])
b = expert("b", ["ant", "dog"])
c = expert("c", ["bee", "dog"])
d = expert("d", ["cat", "dog"])

def broken(batch):
    raise RuntimeError("out of memory")

def odd(batch):
    return ["wolf" if k == 3 else "bee" for k in batch["x"]]

def at_times(batch):
    if batch["n"][0] == 300:
        raise TimeoutError("try later")
    return c(batch)

def shapeless(batch):
    return ["dog"]

def sure(batch):
    right = np.asarray(batch["x"]) == 3
    chance = np.where(np.asarray(batch["n"]) % 2, 0.6, 0.99)
    return np.stack([np.where(right, 1 - chance, chance), np.where(right, chance, 1 - chance)], axis=1)

def unsure(batch):
    soft = np.full((len(batch["x"]), 2), 0.5)
    soft[::2] = np.nan
    return soft
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    module = f"experts_{abs(hash(str(tmp_path)))}"  # modules stay loaded: each test has its own
    (tmp_path / f"{module}.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    truth = np.random.default_rng(7).integers(0, 4, ITEMS)
    table = pa.table({"item": [f"i{n:04d}" for n in range(ITEMS)], "x": truth, "n": np.arange(ITEMS)})
    pq.write_table(table, tmp_path / "data.parquet", row_group_size=333)
    pyarrow.csv.write_csv(table, tmp_path / "data.csv")
    np.save(tmp_path / "data.npy", np.column_stack([truth, np.arange(ITEMS)]))
    save_panel(tmp_path, NAMES)
    return tmp_path


def save_panel(folder, functions, cost=None, file="panel.toml"):
    module = next(folder.glob("experts_*.py")).stem
    models = [f"python:{module}:{name}" for name in functions]
    panel = Panel.from_blocks(CLASSES, BLOCKS, NAMES, cost, models=models)
    panel.save(folder / file)
    return panel


def truth(folder):
    return [CLASSES[k] for k in np.load(folder / "data.npy")[:, 0]]


def labels(path):
    table = pq.read_table(path) if str(path).endswith("parquet") else pyarrow.csv.read_csv(path)
    return table.column("label").to_pylist()


def calls(folder, name):
    log = folder / f"{name}.log"
    return [tuple(map(int, line.split())) for line in log.read_text().splitlines()] if log.exists() else []


def run_label(covote, *arguments, data="data.parquet", output="labels.parquet", batch=100):
    return covote(
        "label", data, "--panel", "panel.toml", "-o", output, "--batch", batch, "--trust", *arguments
    )


def test_code_that_a_panel_names_runs_only_if_trusted_and_is_told(covote, folder):
    ran = covote("label", "data.parquet", "--panel", "panel.toml", "-o", "labels.parquet")
    assert ran.status == 2
    assert "expert 'a': model = \"python:experts_" in ran.err
    assert "--trust" in ran.err
    assert not any(calls(folder, name) for name in NAMES)
    ran = run_label(covote)
    assert ran.status == 0
    assert "Trusted to run code: python:experts_" in ran.out


# Not among them: what Python imports to run `-m` (runpy, importlib, os), before covote is imported.
MODULES = ("bisect", "typing", "__future__", "random", "numpy", "numba", "pyarrow")


def test_no_module_in_the_working_folder_is_run(folder, tmp_path_factory, monkeypatch):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for name in MODULES:
        (elsewhere / f"{name}.py").write_text(
            "open('/dev/stderr', 'w').write('EXPLODED'); raise SystemExit(9)"
        )
    command = [sys.executable, "-m", "covote", "label", folder / "data.parquet", "--panel",
               folder / "panel.toml", "-o", elsewhere / "labels.parquet", "--trust"]  # fmt: skip
    ran = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=False)
    assert (ran.returncode, "EXPLODED" in ran.stderr) == (0, False), ran.stderr
    assert (elsewhere / "labels.parquet").exists()


@pytest.mark.parametrize("data", ["data.parquet", "data.csv", "data.npy"])
def test_every_kind_of_input_gives_the_same_labels_in_its_own_order(covote, folder, data):
    ran = run_label(covote, "--report", "report.html", data=data, output="labels.csv")
    assert ran.status == 0, ran.err
    assert labels("labels.csv") == truth(folder)
    items = pyarrow.csv.read_csv("labels.csv").column("item").to_pylist()
    assert items == (list(range(ITEMS)) if data.endswith("npy") else [f"i{n:04d}" for n in range(ITEMS)])
    for words in ("Asked 4 experts 4,000 questions", "1,000 items, 4,000 answers", "Wrote labels.csv.",
                  "kept in labels.answers.sqlite"):  # fmt: skip
        assert words in ran.out
    assert "<html" in Path("report.html").read_text(encoding="utf-8")
    assert [size for size, _ in calls(folder, "a")] == [100] * 10


def test_the_labels_are_those_of_the_decoder_in_memory(covote, folder):
    panel = save_panel(folder, NAMES)
    x = np.load(folder / "data.npy")[:, 0]
    dense = [[k if CLASSES[k] in known else CLASSES.index(known[0]) for known in BLOCKS] for k in x]
    run_label(covote, "--method", "authority")
    expected = decode(Votes.from_dense(dense, panel), method="authority").to_arrow()
    found = pq.read_table("labels.parquet")
    for column in ("label", "confidence", "margin", "runner_up", "violations", "status"):
        np.testing.assert_equal(found.column(column).to_pylist(), expected.column(column).to_pylist(), column)


def test_a_stored_table_counts_with_the_models_that_are_asked(covote, folder):
    save_panel(folder, ["a", "b", "c", "table"])
    text = Path("panel.toml").read_text()
    Path("panel.toml").write_text(re.sub('"python:[a-z0-9_]*:table"', '"table:stored.csv"', text))
    dog = np.array([name == "dog" for name in truth(folder)])
    chance = np.where(dog, 0.9, 0.2)
    chance[:3] = np.nan
    names = [f"i{n:04d}" for n in range(ITEMS)] + ["an item of other data"]
    chance = np.append(chance, 0.5)
    table = {"item": names, "cat": 1 - chance, "dog": chance}
    pyarrow.csv.write_csv(pa.table(table), "stored.csv")
    ran = run_label(covote, "--json")
    assert ran.status == 0, ran.err
    assert [run.get("asked") for run in json.loads(ran.out)["experts"]] == [ITEMS, ITEMS, ITEMS, None]
    assert [run["answers"] for run in json.loads(ran.out)["experts"]] == [ITEMS, ITEMS, ITEMS, ITEMS - 3]
    assert labels("labels.parquet") == truth(folder)
    decoded = covote("decode", "labels.answers.sqlite", "--panel", "panel.toml", "-o", "again.parquet")
    assert decoded.status == 0, decoded.err
    assert labels("again.parquet")[:ITEMS] == truth(folder)
    assert run_label(covote, "--dry-run").status == 0


def test_a_second_run_asks_nobody_and_writes_the_same(covote, folder):
    run_label(covote)
    first = Path("labels.parquet").read_bytes()
    Path("labels.parquet").unlink()
    ran = run_label(covote)
    assert "0 questions (4,000 of 4,000 answers were there already)" in ran.out
    assert len(calls(folder, "a")) == 10
    assert Path("labels.parquet").read_bytes() == first
    assert run_label(covote, "--method", "em").status == 0  # another way to decode needs no new answers
    assert len(calls(folder, "a")) == 10


def test_the_answers_are_votes_for_other_commands(covote, folder):
    assert run_label(covote).status == 0
    answers = "labels.answers.sqlite"
    ran = covote("decode", answers, "--panel", "panel.toml", "-o", "again.parquet")
    assert ran.status == 0, ran.err
    assert pq.read_table("again.parquet").equals(pq.read_table("labels.parquet"))
    known = [f"i{n:04d},{name}\n" for n, name in enumerate(truth(folder)[:100])]
    (folder / "gold.csv").write_text("item,label\n" + "".join(known))
    ran = covote("compare", answers, "--panel", "panel.toml", "--gold", "gold.csv")
    assert ran.status == 0, ran.err
    ran = covote("explain", answers, "i0007", "--panel", "panel.toml")
    assert (ran.status, truth(folder)[7] in ran.out) == (0, True), ran.err
    ran = covote("ask", answers, "--panel", "panel.toml")
    assert ran.status == 0, ran.err
    ran = covote("check", answers, "--panel", "panel.toml")
    assert ran.status == 0, ran.err


def test_probabilities_and_items_to_review_are_written(covote, folder):
    ran = run_label(covote, "--method", "em", "--proba", "proba.csv", "--review", "review.csv")
    assert ran.status == 0, ran.err
    proba = pyarrow.csv.read_csv("proba.csv")
    assert proba.column_names == ["item", *CLASSES]
    best = [max(CLASSES, key=row.__getitem__) for row in proba.to_pylist()]
    assert best == labels("labels.parquet")
    assert Path("review.csv").read_text().startswith("item,label,suggested")
    for words in ("proba.csv", "review.csv"):
        assert words in ran.out
    ran = run_label(covote, "--method", "authority", "--proba", "proba.csv", output="other.parquet")
    assert ran.status == 2
    assert not (folder / "other.answers.sqlite").exists()


def test_probabilities_count_although_other_experts_give_none(covote, folder):
    panel = save_panel(folder, ["a", "b", "c", "sure"])
    ran = run_label(covote, "--proba", "proba.parquet", "--json")
    assert ran.status == 0, ran.err
    said = json.loads(ran.out)
    assert (said["probabilities"], said["without_probabilities"]) == (True, ["a", "b", "c"])
    assert "the probabilities of 1 of them decide ties" in run_label(covote).out
    x = np.load(folder / "data.npy")[:, 0]
    dense = [[k if CLASSES[k] in known else CLASSES.index(known[0]) for known in BLOCKS] for k in x]
    soft = np.full((ITEMS, 9), np.nan)
    chance = np.where(np.arange(ITEMS) % 2, 0.6, 0.99)
    soft[:, 7], soft[:, 8] = np.where(x == 3, [1 - chance, chance], [chance, 1 - chance])
    ids = [f"i{n:04d}" for n in range(ITEMS)]
    votes = Votes.from_dense(dense, panel, ids, soft)
    found, expected = pq.read_table("labels.parquet"), decode(votes).to_arrow()
    assert found.column("label").to_pylist() == expected.column("label").to_pylist()
    np.testing.assert_allclose(found.column("confidence"), expected.column("confidence"), atol=1e-6)
    plain = decode(Votes.from_dense(dense, panel, ids)).to_arrow()
    assert not np.allclose(plain.column("confidence"), expected.column("confidence"), atol=1e-4)
    ran = covote("decode", "labels.answers.sqlite", "--panel", "panel.toml", "-o", "again.parquet")
    assert ran.status == 0, ran.err
    assert pq.read_table("again.parquet").equals(found)


def label_process(folder, *options, **environment):
    """Run in a process of its own, which is killed at the call that KILL_AT names; return its exit status."""
    command = [sys.executable, "-m", "covote", "label", "data.parquet", "--trust", "--panel", "panel.toml",
               "-o", "labels.parquet", "--batch", "20", *options]  # fmt: skip
    source = str(Path(covote_package.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": source, **environment}
    ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    return ended.returncode, ended.stderr.decode()


def test_killed_while_a_model_answers_it_goes_on_where_it_was(covote, folder):
    batches = ITEMS // 20
    kills = ("2", "110")
    for call in kills:
        assert label_process(folder, KILL_AT=call) == (-signal.SIGKILL, "")
        assert not (folder / "labels.parquet").exists()
        assert not list(folder.glob(".*"))
    assert label_process(folder) == (0, "")
    asked = [starts for name in NAMES for starts in [[n for _, n in calls(folder, name)]]]
    for starts in asked:
        assert set(starts) == set(range(0, ITEMS, 20))
    again = sum(len(starts) - batches for starts in asked)
    assert again <= len(kills)  # at most the batch in flight, for each kill
    resumed = (folder / "labels.parquet").read_bytes()
    for path in folder.glob("*.log"):
        path.unlink()
    ran = run_label(covote, output="other.parquet", batch=20)
    assert ran.status == 0
    assert Path("other.parquet").read_bytes() == resumed
    assert labels("other.parquet") == truth(folder)


def test_an_expert_that_fails_is_named_and_its_pairs_with_it(covote, folder):
    save_panel(folder, ["a", "b", "broken", "d"])
    ran = run_label(covote, "--json", "--no-strict")
    assert ran.status == 3
    said = json.loads(ran.out)
    assert said["uncovered"] == [["bee", "dog"]]
    c = said["experts"][2]
    assert (c["missing"], c["failed"], c["answers"]) == (ITEMS, 3, 0)  # given up after three batches
    assert "expert 'c' failed: RuntimeError: out of memory" in c["reason"]
    ran = run_label(covote, "--no-strict", output="fresh.parquet")
    assert ran.status == 3
    assert "answers were there already" not in ran.out
    ran = run_label(covote, "--no-strict")
    assert "Asked 4 experts 300 questions (3,000 of 4,000 answers were there already)" in ran.out
    assert (
        "Warning: expert 'c' failed: RuntimeError: out of memory 3 times (all its answers are missing)"
        in ran.err
    )
    assert "no one can tell 1 pair of classes apart: bee and dog" in ran.err
    save_panel(folder, NAMES)
    ran = run_label(covote)  # c has another model now, but was never heard: no answer is lost
    assert (ran.status, "Warning" in ran.err) == (0, False)
    assert labels("labels.parquet") == truth(folder)
    assert len(calls(folder, "a")) == 20  # once for each of two outputs


def test_a_batch_that_fails_is_asked_again_by_the_next_run(covote, folder):
    save_panel(folder, ["a", "b", "at_times", "d"])
    ran = run_label(covote)
    assert ran.status == 0  # it is missing a batch, and not lost
    assert "TimeoutError: try later (its answers to 100 of 1,000 items are missing)" in ran.err
    before = len(calls(folder, "c"))
    assert before == 9
    run_label(covote)
    assert len(calls(folder, "c")) == before


def test_items_that_no_column_names_are_called_by_their_position(covote, folder):
    table = pq.read_table(folder / "data.parquet").drop_columns("item")
    pq.write_table(table, folder / "nameless.parquet")
    ran = run_label(covote, data="nameless.parquet")
    assert ran.status == 0, ran.err
    assert "nameless.parquet has no column item, task or id, so the items are called 0, 1, 2" in ran.out
    assert "called 0, 1" not in run_label(covote, output="other.parquet").out
    assert labels("labels.parquet") == truth(folder)


def test_all_mistakes_of_a_panel_are_told_together_before_the_second_batch(covote, folder):
    save_panel(folder, ["a", "broken", "shapeless", "d"])
    ran = run_label(covote)
    assert ran.status == 3
    first = "2 experts cannot be asked: (1) expert 'b' failed: RuntimeError: out of memory; (2) expert 'c' "
    for words in (f"{first}gave 1 answers for 100 items", "The rest was not asked", "--no-strict"):
        assert words in ran.err
    assert not Path("labels.parquet").exists()
    text = Path("panel.toml").read_text()
    Path("panel.toml").write_text(re.sub('"python:[a-z0-9_]*:shapeless"', '"onnx:nowhere.onnx"', text))
    ran = run_label(covote)  # with one that cannot even be opened: nothing is labelled without it
    assert ran.status == 2
    assert "(1) expert 'c': no file" in ran.err
    assert "(2) expert 'b' failed" in ran.err
    assert [len(calls(folder, name)) for name in "ad"] == [1, 1]
    assert run_label(covote, "--no-strict").status == 2
    save_panel(folder, NAMES)
    assert run_label(covote).status == 0  # what was answered is not asked again
    assert [len(calls(folder, name)) for name in NAMES] == [10] * 4
    assert labels("labels.parquet") == truth(folder)


def test_a_run_with_nothing_to_ask_opens_no_model(covote, folder):
    assert run_label(covote).status == 0
    first = Path("labels.parquet").read_bytes()
    module = next(folder.glob("experts_*.py"))
    written = module.stat()
    script = "import sys; from covote.cli import main; sys.argv[0] = 'covote'; main(); print(*sys.modules)"
    command = [sys.executable, "-c", script, "label", "data.parquet", "--panel", "panel.toml",
               "--batch", "100", "-o", "labels.parquet", "--trust"]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ran.returncode, module.stem in ran.stdout.split()) == (0, False), ran.stderr
    assert Path("labels.parquet").read_bytes() == first
    assert module.stat() == written


@pytest.mark.parametrize(("model", "words", "missing"), [
    ("odd", "answered 'wolf'", "some"),
    ("shapeless", "gave 1 answers for 100 items", ITEMS),
    ("unsure", "gave probabilities that are not numbers (NaN", ITEMS // 2),
])  # fmt: skip
def test_answers_that_cannot_be_used_are_missing(covote, folder, model, words, missing):
    save_panel(folder, ["a", "b", model, "d"])
    ran = run_label(covote, "--json", "--no-strict", output="loose.parquet")
    found = json.loads(ran.out)["experts"][2]
    assert words in found["reason"]
    assert found["missing"] == (truth(folder).count("dog") if missing == "some" else missing)


def test_nothing_is_labelled_if_nobody_answers(covote, folder):
    save_panel(folder, ["broken"] * 4)
    ran = run_label(covote, "--no-strict")
    assert ran.status == 3
    assert "no expert answered anything" in ran.err
    assert not Path("labels.parquet").exists()


def test_only_doubtful_items_go_to_the_expensive_experts(covote, folder):
    save_panel(folder, NAMES, [10, 1, 1, 1])
    ran = run_label(covote, "--ask", "doubtful")
    assert ran.status == 0, ran.err
    assert labels("labels.parquet") == truth(folder)
    asked = [size for size, _ in calls(folder, "a")]
    # b, c and d agree on dogs alone; of anything else only a can tell what it is.
    assert sum(asked) == sum(name != "dog" for name in truth(folder))
    assert f"{ITEMS - sum(asked):,} of 4,000 questions were saved" in ran.out
    first = Path("labels.parquet").read_bytes()
    run_label(covote, "--ask", "doubtful")
    assert Path("labels.parquet").read_bytes() == first
    assert len(calls(folder, "a")) == len(asked)
    ran = run_label(covote)  # everybody about everything: only the others are asked now
    assert sum(size for size, _ in calls(folder, "a")) == ITEMS
    run_label(covote, "--ask", "doubtful")
    assert Path("labels.parquet").read_bytes() == first


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--ask", "nobody"), "'nobody' is not one of everyone, doubtful"),
        (("--budget", "5"), "a budget is for language models with prices"),
    ],
)
def test_terms_of_asking_that_cannot_be_kept_ask_nobody(covote, folder, options, words):
    ran = run_label(covote, *options)
    assert (ran.status, words in ran.err) == (2, True), ran.err
    assert not any(calls(folder, name) for name in NAMES)


def test_changed_data_and_panels_are_noticed_and_named(covote, folder):
    run_label(covote)
    before = len(calls(folder, "a"))
    assert run_label(covote, batch=50).status == 0  # answers belong to items, not to batches
    assert len(calls(folder, "a")) == before
    ran = run_label(covote, "--columns", "x,n")
    assert "columns was not given and is now ['x', 'n']" in ran.err
    os.utime("data.parquet")  # only touched: the content is what counts
    assert run_label(covote).status == 0
    table = pq.read_table("data.parquet")
    pq.write_table(table.slice(0, 900), "data.parquet")
    ran = run_label(covote)
    assert (ran.status, "the data data.parquet have changed" in ran.err) == (2, True)
    assert run_label(covote, "--refresh").status == 0
    assert len(labels("labels.parquet")) == 900


def test_an_expert_more_asks_only_that_expert(covote, folder):
    run_label(covote)
    module = next(folder.glob("experts_*.py")).stem
    panel = Panel.load("panel.toml")
    more = Panel.from_blocks(CLASSES, [["cat", "dog"]], ["e"], models=[f"python:{module}:d"])
    (panel + more).save("panel.toml")
    before = {name: len(calls(folder, name)) for name in NAMES}
    assert run_label(covote).status == 0
    after = {name: len(calls(folder, name)) for name in NAMES}
    assert after == {**before, "d": before["d"] + 10}


def test_folders_of_images(covote, tmp_path):
    from PIL import Image

    (tmp_path / "my_eyes_1.py").write_text(
        "import numpy as np\n"
        "def dark(batch):\n    return np.where(batch.mean(axis=(1, 2, 3)) < 100, 'night', 'day')\n"
    )
    (tmp_path / "pictures" / "more").mkdir(parents=True)
    for n, grey in enumerate([10, 200, 90]):
        folder = tmp_path / "pictures" / ("more" if n == 2 else "")
        Image.new("L" if n else "RGB", (8, 6 + n), grey if n else (grey, 0, 0)).save(folder / f"{n}.png")
    Panel(["night", "day"], [[1, 1]], ["eye"], models=["python:my_eyes_1:dark"]).save("panel.toml")
    ran = covote("label", "pictures", "--trust", "--panel", "panel.toml", "-o", "labels.csv")
    assert ran.status == 2
    assert "1.png is 8x7 pixels" in ran.err
    assert "--image-size 8x6" in ran.err
    ran = covote(
        "label",
        "pictures",
        "--trust",
        "--panel",
        "panel.toml",
        "-o",
        "labels.csv",
        "--image-size",
        "4x4",
        "--refresh",
    )
    assert ran.status == 0, ran.err
    table = pyarrow.csv.read_csv("labels.csv")
    assert table.column("item").to_pylist() == ["0.png", "1.png", "more/2.png"]
    assert table.column("label").to_pylist() == ["night", "day", "night"]
    (tmp_path / "pictures" / "3.png").write_text("no image")
    ran = covote(
        "label", "pictures", "--trust", "--panel", "panel.toml", "-o", "other.csv", "--image-size", "4x4"
    )
    assert (ran.status, "3.png cannot be read as an image" in ran.err) == (2, True)


@pytest.mark.parametrize(("arguments", "words"), [
    (["nothing.parquet"], "no file nothing.parquet"),
    (["data.txt"], "no file data.txt"),
    (["data.parquet", "--id", "name"], "no column 'name'; it has: item, x, n"),
    (["data.parquet", "--columns", "x,y"], "no column 'y'"),
    (["data.parquet", "--id", "x"], "item 0 of column 'x' is in row|of column 'x' is in row"),
    (["data.parquet", "--image-size", "3x3"], "--image-size is for folders"),
    (["data.parquet", "--batch", "0"], "at least 1"),
    (["data.npy", "--id", "x"], "no columns to choose"),
    (["data.parquet", "--method", "guess"], "no method 'guess'"),
    (["data.parquet", "--image-size", "big"], "as 224x224"),
])  # fmt: skip
def test_mistakes_end_in_one_line(covote, folder, arguments, words):
    ran = covote("label", *arguments, "--trust", "--panel", "panel.toml", "-o", "labels.parquet")
    assert ran.status == 2
    assert any(word in ran.err for word in words.split("|")), ran.err
    assert "Traceback" not in ran.err
    assert not Path("labels.parquet").exists()


def test_a_panel_without_models_and_empty_data_are_explained(covote, folder):
    Panel(2, [[1, 1]]).save("panel.toml")
    ran = run_label(covote)
    assert (ran.status, "expert 'expert-1' has no model" in ran.err) == (2, True)
    save_panel(folder, NAMES)
    np.save("empty.npy", np.zeros((0, 2)))
    ran = run_label(covote, data="empty.npy")
    assert (ran.status, "nothing to label" in ran.err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--method", "magic"), "no method 'magic'"),
        (("--gold", "none.csv"), "no file none.csv"),
    ],
)
def test_a_method_that_cannot_work_costs_no_question(covote, folder, arguments, words):
    ran = run_label(covote, *arguments)
    assert ran.status == 2
    assert words in ran.err
    assert not list(folder.glob("*.log"))


def test_gold_items_are_used(covote, folder):
    known = [f"i{n:04d},{name}\n" for n, name in enumerate(truth(folder)[:400])]
    (folder / "gold.csv").write_text("item,label\n" + "".join(known))
    ran = run_label(covote, "--gold", "gold.csv")
    assert ran.status == 0, ran.err
    assert labels(folder / "labels.parquet") == truth(folder)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--columns", "x,m"), "data.csv has no column 'm'"),
        (("--id", "items"), "data.csv has no column 'items' (did you mean 'item'?)"),
        (("--image-size", "3x3"), "--image-size is for folders"),
    ],
)
def test_a_mistake_that_asked_nobody_leaves_nothing_to_refresh(covote, folder, arguments, words):
    ran = run_label(covote, *arguments, data="data.csv")
    assert ran.status == 2
    assert words in ran.err
    ran = run_label(covote, data="data.csv")
    assert ran.status == 0, ran.err
    assert labels(folder / "labels.parquet") == truth(folder)


def test_a_folder_that_is_not_there_is_not_made(covote, folder):
    ran = run_label(covote, output="nowhere/labels.parquet")
    assert (ran.status, "there is no folder" in ran.err) == (2, True)
    assert not (folder / "nowhere").exists()
