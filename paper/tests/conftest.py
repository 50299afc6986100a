"""Run the experiments in this process, as `python -m paper ...` would."""

from typing import NamedTuple

import pytest

from paper.__main__ import main


class Ran(NamedTuple):
    status: int
    out: str
    err: str


@pytest.fixture
def paper(monkeypatch, capsys, tmp_path):
    """Return a function that runs `python -m paper ARGUMENTS` in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code or 0
        return Ran(status, *capsys.readouterr())

    return run
