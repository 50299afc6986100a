"""Run the command line in this process, as `covote ...` would."""

import sys
from dataclasses import dataclass

import pytest

from covote.cli import main


@dataclass
class Ran:
    status: int
    out: str
    err: str


@pytest.fixture
def covote(monkeypatch, capsys, tmp_path):
    """Return a function that runs `covote ARGUMENTS` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONSAFEPATH", "")  # `main` sets it for the processes that it starts

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["covote", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as end:
            status = end.code or 0
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run
