"""Files appear complete or not at all, and are on the disk when a command says that it wrote them."""

import os
import stat
import subprocess
import sys

import pytest

from covote import atomic
from covote.errors import InputError

CALLS = ("fsync", "link", "replace", "rename")


@pytest.fixture
def system(monkeypatch):
    """Return the calls of the system in their order, each with what it was about: a file or a folder."""
    seen = []

    def recorded(name, real):
        def call(*args, **options):
            folder = name == "fsync" and stat.S_ISDIR(os.fstat(args[0]).st_mode)
            seen.append("folder" if folder else "file" if name == "fsync" else "named")
            return real(*args, **options)

        return call

    for name in CALLS:
        monkeypatch.setattr(os, name, recorded(name, getattr(os, name)))
    return seen


@pytest.mark.parametrize("nameless", [True, False])
def test_a_file_is_flushed_before_it_gets_its_name_and_its_folder_behind_it(
    tmp_path, system, monkeypatch, nameless
):
    if not nameless:
        monkeypatch.setattr(atomic, "_can_be_nameless", lambda folder: False)
    for text in ("first", "second"):  # a new file, and one that is replaced
        system.clear()
        atomic.write_text(tmp_path / "labels.csv", text)
        assert (tmp_path / "labels.csv").read_text() == text
        assert (system[0], system[-1]) == ("file", "folder")
        assert set(system[1:-1]) == {"named"}
    assert [path.name for path in tmp_path.iterdir()] == ["labels.csv"]


def test_a_workbook_that_excel_has_open_is_to_be_closed(tmp_path, monkeypatch):
    (tmp_path / "review.xlsx").write_bytes(b"open in Excel")

    def fails(handle):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(atomic.FileError, match=r"review.xlsx: Permission denied; nothing was written, close"):
        atomic.write_text(tmp_path / "review.xlsx", "new")
    assert (tmp_path / "review.xlsx").read_bytes() == b"open in Excel"


def test_a_disk_that_fails_while_it_is_flushed_leaves_the_old_file(tmp_path, monkeypatch):
    atomic.write_text(tmp_path / "labels.csv", "old")

    def fails(handle):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(atomic.FileError, match=r"cannot write .*labels.csv: Input/output error"):
        atomic.write_text(tmp_path / "labels.csv", "new")
    assert (tmp_path / "labels.csv").read_text() == "old"


def test_outputs_that_differ_in_case_only_are_rejected(tmp_path):
    with pytest.raises(InputError, match="two files cannot both be written"):
        atomic.check_apart([tmp_path / "labels.csv", tmp_path / "Labels.csv"], [])
    (tmp_path / "labels.csv").touch()
    (tmp_path / "Labels.csv").touch()
    with pytest.raises(InputError, match="two files cannot both be written"):
        atomic.check_apart([tmp_path / "labels.csv", tmp_path / "Labels.csv"], [])


def test_processes_that_write_to_one_file_leave_a_complete_one_and_nothing_else(tmp_path):
    program = (
        "import sys; from covote.atomic import write_text\n"
        "for _ in range(40): write_text('labels.csv', sys.argv[1] * 100_000)"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, letter], cwd=tmp_path, stderr=subprocess.PIPE)
        for letter in "ab"
    ]
    while any(writer.poll() is None for writer in writers):
        if (tmp_path / "labels.csv").exists():
            assert (tmp_path / "labels.csv").read_text() in ("a" * 100_000, "b" * 100_000)
    assert [writer.communicate()[1] for writer in writers] == [b"", b""]
    assert [path.name for path in tmp_path.iterdir()] == ["labels.csv"]
