"""Answers on disk: complete records survive whatever happens to the process that writes."""

import contextlib
import os

import numpy as np
import pytest

from covote.errors import FileError
from covote.labelling import journal
from covote.labelling.journal import Kept
from covote.models import Answers


def answers(size, soft=False, note=""):
    label = np.arange(size) % 5 - 3  # every code but "not asked"
    label[label == -1] = 4
    chances = np.arange(size * 2, dtype=np.float32).reshape(size, 2) / (2 * size) if soft else None
    return Answers(label, chances, note)


@pytest.mark.parametrize("soft", [False, True])
@pytest.mark.parametrize("note", ["", "answered 'Zoë'"])
def test_what_is_read_is_what_was_written(tmp_path, soft, note):
    said = answers(7, soft, note)
    journal.append(tmp_path, "run", journal.encoded(10, 17, None, said))
    (record,) = journal.records(tmp_path)
    assert (record.start, record.stop, record.asked) == (10, 17, 7)
    part = journal.read(record)
    assert part.label.tolist() == said.label.tolist()
    assert part.note == note
    assert part.asked.all()
    if soft:
        np.testing.assert_array_equal(part.probability, said.probability)
    else:
        assert part.probability is None


def test_a_record_that_was_cut_off_anywhere_is_as_if_it_were_not_there(tmp_path):
    whole = [journal.encoded(n * 3, n * 3 + 3, None, answers(3, True)) for n in range(3)]
    file = tmp_path / f"x{journal.ENDING}"
    for cut in range(len(whole[2])):
        file.write_bytes(whole[0] + whole[1] + whole[2][:cut])
        assert [record.start for record in journal.records(tmp_path)] == [0, 3]
    file.write_bytes(b"".join(whole))
    assert [record.start for record in journal.records(tmp_path)] == [0, 3, 6]


def test_damage_is_noticed(tmp_path):
    file = tmp_path / f"x{journal.ENDING}"
    content = bytearray(journal.encoded(0, 3, None, answers(3)))
    content[-1] ^= 1
    file.write_bytes(content)
    (record,) = journal.records(tmp_path)
    with pytest.raises(FileError, match="damaged"):
        journal.read(record)


def test_answers_to_some_items_add_up_and_the_first_answer_counts(tmp_path):
    kept = Kept(tmp_path / "labels.votes")
    kept.make()
    folder = kept.expert_folder("ann/bob")
    folder.mkdir()
    assert folder.parent == kept.folder
    for rows, label in (([1, 1, 0, 0], 0), ([0, 1, 1, 0], 1)):
        mask = np.array(rows, dtype=bool)
        said = Answers(np.full(2, label), np.full((2, 2), (label + 1) / 4, np.float32))
        journal.append(folder, f"run-{label}", journal.encoded(4, 8, mask, said))
    parts = kept.parts("ann/bob")
    assert not parts.whole(4, 8)
    part = parts.read(4, 8)
    assert part.label.tolist() == [0, 0, 1, -1]
    assert part.probability[:, 0].tolist() == [0.25, 0.25, 0.5, 0]
    assert parts.read(0, 4).label.tolist() == [-1] * 4


def test_a_damaged_head_ends_a_file_and_never_misleads(tmp_path):
    for start in (0, 3, 6):
        journal.append(tmp_path, "run", journal.encoded(start, start + 3, None, answers(3)))
    [path] = tmp_path.glob("*.answers")
    whole = path.read_bytes()
    size = len(whole) // 3
    for place in range(size, 2 * size):
        for bit in (0x01, 0x80):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ bit]) + whole[place + 1 :])
            found = []
            with contextlib.suppress(FileError):  # a damaged body
                found = [(r.start, journal.read(r).label.tolist()) for r in journal.records(tmp_path)]
            assert found in ([], [(0, answers(3).label.tolist())])


def test_a_process_keeps_no_file_open(tmp_path):
    before = len(os.listdir("/proc/self/fd"))
    for n in range(40):
        (tmp_path / str(n)).mkdir()
        journal.append(tmp_path / str(n), "run", journal.encoded(0, 3, None, answers(3)))
    assert len(os.listdir("/proc/self/fd")) <= before
    journal.append(tmp_path / "0", "run", journal.encoded(3, 6, None, answers(3)))
    assert [record.start for record in journal.records(tmp_path / "0")] == [0, 3]


def test_a_disk_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(FileError, match=r"cannot keep answers in .*nowhere"):
        journal.append(tmp_path / "nowhere", "run", b"")


def test_experts_whose_names_look_alike_have_folders_of_their_own():
    kept = Kept.__new__(Kept)
    kept.folder = __import__("pathlib").Path("x")
    names = [7, "7", "a/b", "a_b", "A_b", "é", "..", "x" * 300]
    folders = {kept.expert_folder(name).name for name in names}
    assert len(folders) == len(names)
    assert all("/" not in name and len(name.encode()) < 100 and not name.startswith(".") for name in folders)
