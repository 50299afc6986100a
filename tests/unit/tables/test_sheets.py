"""Spreadsheets that are written."""

import gc

import pytest

from covote.errors import InputError
from covote.tables.sheets import write_sheet


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
def test_a_character_that_a_sheet_cannot_hold_is_one_error_and_nothing_else(tmp_path, capfd):
    with pytest.raises(InputError, match="characters that a spreadsheet cannot hold"):
        write_sheet(tmp_path / "labels.xlsx", [["item"], ["a\x0bb"]])
    gc.collect()
    assert capfd.readouterr().err == ""
    assert not (tmp_path / "labels.xlsx").exists()
