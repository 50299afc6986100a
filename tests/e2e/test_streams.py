"""Streams, folders and limits as shells give them: no traceback, whatever stdout is."""

import os
import subprocess
import sys

import pytest

PANEL = 'classes = ["a", "b", "c"]\n' + "".join(
    f'[[experts]]\nname = "{name}"\nknows = ["{one}", "{two}"]\n'
    for name, one, two in (("ann", "a", "b"), ("bob", "b", "c"), ("cyd", "a", "c"))
)
VOTES = "item,expert,label\n" + "".join(
    f"{n},{name},{label}\n" for n in range(5) for name, label in (("ann", "a"), ("bob", "b"), ("cyd", "a"))
)
DECODE = f"{sys.executable} -m covote decode"


@pytest.fixture
def shell(tmp_path):
    """Return a function that runs a line of bash in a folder with votes and a panel."""
    (tmp_path / "panel.toml").write_text(PANEL)
    (tmp_path / "votes.csv").write_text(VOTES)

    def run(line, **environment):
        ran = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env={**os.environ, **environment}, capture_output=True,
            text=True, timeout=120, check=False,
        )  # fmt: skip
        assert "Traceback" not in ran.stderr, ran.stderr
        return ran

    return run


@pytest.mark.parametrize("where", ["-o labels.csv", "-o -", "--json"])
def test_a_full_stdout_is_told_in_one_line(shell, where):
    ran = shell(f"{DECODE} votes.csv --panel panel.toml {where} > /dev/full")
    assert (ran.returncode, ran.stderr) == (
        2, "covote: cannot print the result: No space left on device\n"
    )  # fmt: skip


def test_closed_streams_do_no_harm(shell, tmp_path):
    ran = shell(f"{DECODE} votes.csv --panel panel.toml -o labels.csv >&- 2>&-")
    assert ran.returncode == 0
    assert (tmp_path / "labels.csv").read_text().count("\n") == 6


def test_a_reader_that_has_had_enough_is_no_error(shell):
    ran = shell(f"set -o pipefail; {DECODE} votes.csv --panel panel.toml -o - | head -1")
    assert (ran.stdout, ran.stderr) == ("item,label,confidence,runner_up,status\n", "")


def test_labels_go_into_a_fifo(shell, tmp_path):
    line = f"mkfifo out.csv; cat out.csv > got.csv & {DECODE} votes.csv --panel panel.toml -o out.csv; wait"
    assert shell(line).returncode == 0
    assert (tmp_path / "got.csv").read_text().count("\n") == 6


def test_votes_from_a_fifo_are_rejected_with_the_remedy(shell):
    ran = shell(f"{DECODE} <(cat votes.csv) --panel panel.toml")
    assert ran.returncode == 2
    assert "is not a regular file; write its content to a file first" in ran.stderr
    assert shell(f"cat votes.csv | {DECODE} - --panel panel.toml").returncode == 0


def test_a_terminal_of_one_column(shell):
    assert shell(f"{DECODE} votes.csv --panel panel.toml", COLUMNS="1").returncode == 0
    assert shell(f"{DECODE} --help", COLUMNS="1").returncode == 0


def test_a_folder_that_was_removed(shell, tmp_path):
    ran = shell(f"mkdir gone; cd gone; rmdir ../gone; {DECODE} votes.csv --panel panel.toml -o labels.csv")
    assert ran.returncode == 2
    assert len(ran.stderr.splitlines()) == 1
    whole = f"{DECODE} {tmp_path}/votes.csv --panel {tmp_path}/panel.toml -o {tmp_path}/labels.csv"
    assert shell(f"mkdir gone; cd gone; rmdir ../gone; {whole}").returncode == 0


def test_too_little_address_space_is_told_before_anything_breaks(shell):
    ran = shell(f"ulimit -v 500000; {DECODE} votes.csv --panel panel.toml")
    assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1)
    assert "raise ulimit -v" in ran.stderr


def test_statistics_may_go_back_to_where_they_came_from(shell, tmp_path):
    line = f"{DECODE} votes.csv --panel panel.toml --method em --save-stats s.json"
    assert shell(line).returncode == 0
    first = (tmp_path / "s.json").read_text()
    assert shell(f"{line} --load-stats s.json").returncode == 0
    assert (tmp_path / "s.json").read_text() != first
    assert shell(f"ln s.json t.json; {line} --load-stats t.json").returncode == 0
