"""What holds for every command: a quiet success, inputs that stay as they are, letters and interrupts."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xlsxwriter

from covote import Panel
from covote.cli.app import COMMANDS

VOTES = "item,expert,label\n" + "".join(
    f"{item},{expert},{label}\n"
    for item, answers in {"i1": "aac", "i2": "bcb", "i3": "acc"}.items()
    for expert, label in zip(("x", "y", "z"), answers, strict=True)
)
RUNS = {
    "design": ("design", 7, 3, "-o", "new.toml", "--plot", "new.png"),
    "check": ("check", "panel.toml"),
    "complete": ("complete", "part.toml", 2, "-o", "whole.toml"),
    "select": ("select", "panel.toml", "-o", "chosen.toml"),
    "docs": ("docs", "trust"),
    "bounds": ("bounds", 10, 4, "--plot", "bounds.svg"),
    "decode": ("decode", "votes.csv", "--panel", "panel.toml", "-o", "labels.csv", "--report", "report.html"),
    "compare": ("compare", "votes.csv", "--panel", "panel.toml", "--gold", "gold.csv"),
    "explain": ("explain", "votes.csv", "i3", "--panel", "panel.toml"),
    "label": (
        "label",
        "data.npy",
        "--panel",
        "models.toml",
        "--trust",
        "-o",
        "l.parquet",
        "--report",
        "r.html",
    ),
    "ask": ("ask", "votes.csv", "--panel", "panel.toml"),
    "simulate": ("simulate", "panel.toml", "--items", 20),
    "multilabel": ("multilabel", "decode", "votes.csv", "--panel", "panel.toml", "-o", "sets.csv"),
    "convert": ("convert", "votes.csv", "tasks.json", "--panel", "panel.toml"),
    "demo": ("demo",),
    "start": ("start", "study.xlsx"),
}
SHUFFLED = ("decode", "shuffled.csv", "--panel", "panel.toml", "--method", "em", "-o", "labels.parquet")


@pytest.fixture
def folder(tmp_path):
    blocks = [["a", "b"], ["a", "c"], ["b", "c"]]
    Panel.from_blocks(list("abc"), blocks, ["x", "y", "z"]).save(tmp_path / "panel.toml")
    Panel.from_blocks(list("abc"), blocks[:2], ["x", "y"]).save(tmp_path / "part.toml")
    models = ["python:first_class:answer"] * 3
    Panel.from_blocks(list("abc"), [["a", "b"]] * 3, ["x", "y", "z"], models=models).save(
        tmp_path / "models.toml"
    )
    (tmp_path / "first_class.py").write_text("def answer(batch):\n    return ['a'] * len(batch)\n")
    np.save(tmp_path / "data.npy", np.zeros((5, 2)))
    (tmp_path / "votes.csv").write_text(VOTES)
    with xlsxwriter.Workbook(tmp_path / "study.xlsx") as book:
        for name, rows in (
            ("Panel", [["expert", *"abc"], ["x", 1, 1, ""], ["y", 1, "", 1], ["z", "", 1, 1]]),
            ("Answers", [["item", *"xyz"], ["i1", "a", "a", "b"], ["i2", "b", "c", "b"]]),
        ):
            sheet = book.add_worksheet(name)
            for number, row in enumerate(rows):
                sheet.write_row(number, 0, row)
    (tmp_path / "gold.csv").write_text("item,label\ni1,a\ni3,c\n")
    rows = [f"i{n},{'xyz'[k]},{'aac'[k]}\n" for n in range(2000) for k in range(3)]
    mixed = np.random.default_rng(0).permutation(rows)
    (tmp_path / "shuffled.csv").write_text("item,expert,label\n" + "".join(mixed))
    return tmp_path


def run(folder, *arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "covote", *map(str, arguments)],
        cwd=folder, capture_output=True, env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_into_sixty_columns_and_ends_with_two_examples(covote, monkeypatch, name):
    monkeypatch.setenv("COLUMNS", "60")
    text = covote(name, "--help").out
    assert "…" not in text
    assert "{" not in text
    assert max(map(len, text.splitlines())) <= 60
    foot = [line.strip() for line in text[text.index("Examples:") :].splitlines()]
    assert len([line for line in foot if line.startswith(f"covote {name}")]) == 2


def test_labels_have_a_place_beside_the_data_unless_one_is_given(covote, folder):
    ran = covote("label", "data.npy", "--panel", "models.toml", "--trust")
    assert (ran.status, "Wrote data.labels.csv." in ran.out) == (0, True)
    assert (folder / "data.labels.answers.sqlite").is_file()


def test_the_best_method_on_gold_items_labels_data_too(covote, folder):
    (folder / "known.csv").write_text("item,label\n0,a\n1,a\n2,a\n")
    ran = covote(
        "label", "data.npy", "--panel", "models.toml", "--trust", "--method", "auto", "--gold", "known.csv"
    )
    assert (ran.status, "Decoded by learned, the best on the gold items." in ran.out) == (0, True), ran.err


def test_a_command_that_is_misspelt_is_guessed(covote):
    ran = covote("dekode")
    assert (ran.status, ran.err) == (
        2, "covote: no command 'dekode' (did you mean 'decode'?); covote --help lists all of them\n"
    )  # fmt: skip


def test_a_terminal_breaks_lines_between_words_and_commands_not_at_all(folder):
    pty = pytest.importorskip("pty")
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 40))
    command = [sys.executable, "-m", "covote", "design", "7", "3", "-o", "a-panel-with-a-long-name.toml"]
    environment = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(command, cwd=folder, stdout=theirs, env=environment) as running:
        os.close(theirs)
        text = b""
        while running.poll() is None or text.count(b"Next") == 0:
            try:
                text += os.read(ours, 1 << 16)
            except OSError:  # the other end is closed
                break
    lines = text.decode().splitlines()
    assert lines[-1] == "Next: covote decode answers.csv --panel a-panel-with-a-long-name.toml -o labels.csv"
    assert max(map(len, lines[:-1])) <= 40
    assert lines[0] == "7 experts who each know 3 of 7 classes"


def test_every_command_is_run_here():
    assert set(RUNS) == set(COMMANDS) - {"studio"}  # a server, which has tests of its own


@pytest.mark.parametrize("arguments", [*RUNS.values(), SHUFFLED], ids=[*RUNS, "decode shuffled"])
def test_a_command_that_succeeds_says_nothing_on_stderr(folder, arguments):
    ran = run(folder, *arguments)
    assert (ran.returncode, ran.stderr.decode()) == (0, "")
    assert ran.stdout


OVER = {
    "complete": ("complete", "part.toml", 2, "-o", "INPUT"),
    "select": ("select", "panel.toml", "-o", "INPUT"),
    "design": ("design", "panel.toml", 2, "-o", "INPUT"),
    "decode": ("decode", "votes.csv", "--panel", "panel.toml", "-o", "INPUT"),
    "label": ("label", "data.csv", "--panel", "models.toml", "-o", "INPUT"),
}


@pytest.mark.parametrize("way", ["same", "absolute", "symlink", "hard link"])
@pytest.mark.parametrize("name", OVER)
def test_an_input_is_not_written_over(covote, folder, name, way):
    (folder / "data.csv").write_text("item,x\n1,2\n")
    source = folder / OVER[name][1]
    target = {"same": Path(source.name), "absolute": source}.get(way, Path(f"other{source.suffix}"))
    if way == "symlink":
        target.symlink_to(source)
    if way == "hard link":
        target.hardlink_to(source)
    before = source.read_bytes()
    ran = covote(*[target if word == "INPUT" else word for word in OVER[name]])
    assert ran.status == 2
    assert ran.err == (
        f"covote: the output {target} would overwrite the input {source.name}; choose another place for it\n"
    )
    assert source.read_bytes() == before


@pytest.mark.parametrize(
    ("option", "file"),
    [
        ("--report", "gold.html"),
        ("--save-stats", "gold.json"),
        ("-o", "gold.csv"),
        ("-o", "panel.csv"),
        ("--review", "gold.csv"),
        ("--review", "votes.csv"),
    ],
)
def test_no_output_of_decode_is_written_over_gold_or_panel(covote, folder, option, file):
    Panel.load("panel.toml").save("panel.csv")
    Path("gold.csv").write_text("item,label\ni1,a\n")
    if not Path(file).exists():
        Path(file).hardlink_to("gold.csv")
    before = Path(file).read_bytes()
    ran = covote(
        "decode", "votes.csv", "--panel", "panel.csv", "--gold", "gold.csv", "--method", "em", option, file
    )
    assert ran.status == 2
    assert "would overwrite the input" in ran.err
    assert Path(file).read_bytes() == before


def test_two_files_do_not_go_to_one_place(covote, folder):
    ran = covote("decode", "votes.csv", "--panel", "panel.toml", "-o", "a.csv", "--save-stats", "a.csv")
    assert ran.status == 2
    assert "two files cannot both be written to a.csv" in ran.err


def test_letters_that_stdout_lacks_are_replaced(folder):
    for encoding in ("cp1252", "ascii", "latin-1"):
        ran = run(folder, "design", 7, 3, PYTHONIOENCODING=encoding)
        assert (ran.returncode, ran.stderr) == (0, b"")
        assert ran.stdout.count(b"#") == 21


def test_json_keeps_every_letter_in_any_encoding(folder):
    Panel.from_blocks(["皮膚", "耳"], [["皮膚", "耳"]]).save(folder / "skin.json")
    ran = run(folder, "design", "skin.json", 2, "--json", PYTHONIOENCODING="cp1252")
    assert json.loads(ran.stdout)["classes"] == ["皮膚", "耳"]


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3])
def test_an_interrupt_while_libraries_load_is_one_line(folder, seconds):
    command = [sys.executable, "-m", "covote", "simulate", "panel.toml", "--items", "30000000"]  # takes long
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    # Before it loads numpy, Python itself may still be starting, and then the interrupt is Python's to tell.
    while "numpy" not in Path(f"/proc/{process.pid}/maps").read_text():
        time.sleep(0.01)
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    said = process.communicate()[1].decode()
    assert said in ("covote: interrupted\n", "")
    assert process.returncode in (130, -signal.SIGINT)


def test_an_output_for_its_owner_only_stays_so(covote, folder):
    Path("new.toml").touch(mode=0o600)
    assert covote("design", 7, 3, "-o", "new.toml").status == 0
    assert Path("new.toml").stat().st_mode & 0o777 == 0o600
    assert Panel.load("new.toml").covers()


@pytest.mark.parametrize(
    "text", ["expert,a,b,c\nx,1,1,0\n", '\ufeff"expert","cost","a","b","c"\nx,2,1,1,0\n']
)
def test_design_reads_the_classes_of_a_csv_panel(covote, text):
    Path("who.csv").write_text(text, encoding="utf-8")
    ran = covote("design", "who.csv", 2, "--json")
    assert json.loads(ran.out)["classes"] == ["a", "b", "c"]


def test_a_compiler_is_announced_once_and_on_a_terminal_only(monkeypatch, capsys):
    from covote import cli, compiled

    monkeypatch.setattr(compiled, "announce", None)
    cli._announce()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    cli._announce()
    assert "first run only" in capsys.readouterr().err
    assert compiled.announce is None
