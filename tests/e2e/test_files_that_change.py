"""Data, models and outputs that others touch while `covote label` runs, and between two runs."""

import json
import os
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from covote.errors import FileError
from covote.labelling.answers_file import AnswersFile
from covote.labelling.data import DataPlace, open_data

CLASSES = ["ant", "bee", "cat"]
BLOCKS = {"a": ["ant", "bee"], "b": ["bee", "cat"], "c": ["ant", "cat"]}
MODULE = """
from pathlib import Path

HERE = Path(__file__).parent
CLASSES = ["ant", "bee", "cat"]

def expert(name, known):
    def answer(batch):
        x = batch["x"] if isinstance(batch, dict) else batch.reshape(len(batch), -1)[:, 0]
        with open(HERE / f"{name}.log", "a") as log:
            log.write(f"{len(x)}\\n")
        trick = HERE / "trick.py"
        if trick.exists():
            exec(trick.read_text(), {"HERE": HERE, "name": name})
        said = [CLASSES[int(k) % 3] for k in x]
        return [label if label in known else known[0] for label in said]
    return answer

a, b, c = expert("a", ["ant", "bee"]), expert("b", ["bee", "cat"]), expert("c", ["ant", "cat"])
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    module = f"changing_{abs(hash(str(tmp_path)))}"
    (tmp_path / f"{module}.py").write_text(MODULE)
    monkeypatch.setattr(sys, "path", list(sys.path))
    experts = [{"name": n, "knows": k, "model": f"python:{module}:{n}"} for n, k in BLOCKS.items()]
    (tmp_path / "panel.json").write_text(json.dumps({"classes": CLASSES, "experts": experts}))
    return tmp_path


def write(folder, kind, shift=0):
    """Write forty items; `shift` turns every class into the next one."""
    x = (np.arange(40) + shift) % 3
    if kind == "npy":
        np.save(folder / "data.npy", np.column_stack([x, np.arange(40)]))
    elif kind == "parquet":
        pq.write_table(
            pa.table({"item": np.arange(40), "x": x}),
            folder / "data.parquet",
            row_group_size=4,
            use_dictionary=False,
            compression="none",
        )
    elif kind == "csv":
        rows = "".join(f"{n},{k}\n" for n, k in enumerate(x))
        (folder / "data.csv").write_text(f"item,x\n{rows}")
    else:
        from PIL import Image

        (folder / "data").mkdir(exist_ok=True)
        for n, k in enumerate(x):
            Image.new("RGB", (2, 2), (int(k), 0, 0)).save(folder / "data" / f"{n:02d}.bmp")
    return "data" if kind == "images" else f"data.{kind}"


def label(covote, data, *more):
    return covote(
        "label", data, "--panel", "panel.json", "-o", "labels.parquet", "--batch", 4, "--trust", *more
    )


def labels():
    return pq.read_table("labels.parquet").column("label").to_pylist()


def truth(shift=0):
    return [CLASSES[(n + shift) % 3] for n in range(40)]


def asked(folder, name):
    log = folder / f"{name}.log"
    return sum(map(int, log.read_text().split())) if log.exists() else 0


TRICK = """
import os, shutil
if name == "b" and not (HERE / "done").exists():
    (HERE / "done").touch()
    for path in sorted((HERE / "next").rglob("*")):
        if path.is_file():
            {how}
"""
OVER = "(HERE / path.relative_to(HERE / 'next')).write_bytes(path.read_bytes())"
RENAMED = "os.replace(path, HERE / path.relative_to(HERE / 'next'))"


@pytest.mark.parametrize("how", [OVER, RENAMED])
@pytest.mark.parametrize("kind", ["npy", "parquet", "csv", "images"])
def test_data_that_are_rewritten_during_the_run_give_no_mixed_labels(covote, folder, kind, how):
    (folder / "next").mkdir()
    write(folder / "next", kind, shift=1)
    data = write(folder, kind)
    (folder / "trick.py").write_text(TRICK.format(how=how))
    ran = label(covote, data)
    assert ran.status == 2, ran.out
    assert "was changed while it was being labelled" in ran.err
    assert not Path("labels.parquet").exists()
    ran = label(covote, data)
    assert ran.status == 2
    assert "have changed since" in ran.err
    ran = label(covote, data, "--refresh")
    assert ran.status == 0, ran.err
    assert labels() == truth(1)


@pytest.mark.parametrize("kind", ["npy", "parquet", "csv", "images"])
def test_data_of_the_same_size_and_time_are_not_taken_for_the_old_ones(covote, folder, kind):
    data = write(folder, kind)
    assert label(covote, data).status == 0
    files = [folder / data] if kind != "images" else sorted((folder / data).iterdir())
    before = {path: path.stat() for path in files}
    write(folder, kind, shift=1)
    for path, stat in before.items():
        assert path.stat().st_size == stat.st_size
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    ran = label(covote, data)
    assert ran.status == 2
    assert "have changed since" in ran.err
    assert label(covote, data, "--refresh").status == 0
    assert labels() == truth(1)


def test_an_array_that_is_cut_while_it_is_read_ends_in_a_line(covote, folder):
    data = write(folder, "npy")
    (folder / "trick.py").write_text("import os\nos.truncate(HERE / 'data.npy', 200)")
    ran = label(covote, data)
    assert ran.status == 2
    assert "data.npy" in ran.err
    opened = open_data(DataPlace(folder / write(folder, "npy")))
    os.truncate(folder / "data.npy", 200)
    with pytest.raises(FileError, match="shorter"):
        opened.read(30, 40)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.float32, ">i4", "U3", np.dtype([("a", "i2"), ("b", "f8")])])
@pytest.mark.parametrize("shape", [(7,), (7, 3), (7, 2, 3), (7, 4, 1, 2)])
def test_arrays_come_as_they_were_saved(tmp_path, shape, kind, order):
    values = np.arange(np.prod(shape)).reshape(shape)
    array = np.asarray(values.astype(kind), order=order)
    np.save(tmp_path / "data.npy", array)
    data = open_data(DataPlace(tmp_path / "data.npy"))
    assert data.items == 7
    np.testing.assert_array_equal(data.read(2, 6), array[2:6])
    assert data.read(2, 6).dtype == array.dtype


def test_two_runs_do_not_write_to_one_place(covote, folder):
    data = write(folder, "npy")
    assert label(covote, data).status == 0
    before = [asked(folder, name) for name in BLOCKS]
    with closing(AnswersFile(folder / "labels.answers.sqlite")):
        ran = label(covote, data, "--refresh")
    assert ran.status == 2
    assert "another run is writing to labels.answers.sqlite" in ran.err
    assert [asked(folder, name) for name in BLOCKS] == before
    assert label(covote, data).status == 0


def test_trust_is_said_per_run(covote, folder):
    data = write(folder, "npy")
    again = ("label", data, "--panel", "panel.json", "-o", "labels.parquet", "--batch", 4)
    assert label(covote, data).status == 0
    assert covote(*again).status == 0  # nothing is left to ask, so no code runs
    os.remove("labels.answers.sqlite")
    ran = covote(*again)
    assert (ran.status, "say so with --trust" in ran.err) == (2, True)


def test_a_link_to_a_panel_runs_the_code_next_to_the_panel(covote, folder, tmp_path_factory):
    data = write(folder, "npy")
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "panel.json").symlink_to(folder / "panel.json")
    for path in folder.glob("changing_*.py"):
        (elsewhere / path.name).write_text("raise RuntimeError('code that no one allowed')\n")
    ran = label(covote, data, "--panel", elsewhere / "panel.json", "-o", "other.parquet")
    assert ran.status == 0, ran.err


def test_what_a_kill_left_in_the_moment_of_renaming_goes_with_the_next_write(tmp_path):
    from covote import atomic

    atomic.write_text(tmp_path / "x.txt", "one")
    nobody = next(n for n in range(2**22, 1, -1) if not Path(f"/proc/{n}").exists())
    (tmp_path / f".x.txt.{nobody}.5").write_text("half")
    (tmp_path / f".x.txt.{os.getpid()}.77").write_text("of a process that is there")
    atomic.write_text(tmp_path / "x.txt", "two")
    assert sorted(path.name for path in tmp_path.iterdir()) == [f".x.txt.{os.getpid()}.77", "x.txt"]
    assert (tmp_path / "x.txt").read_text() == "two"


@pytest.mark.parametrize("moment", [0, 1, 2**31 + 5, 4_000_000_000])
def test_a_clock_that_jumped_asks_nobody_again(covote, folder, moment):
    data = folder / write(folder, "csv")
    os.utime(data, (moment, moment))
    assert label(covote, data.name).status == 0
    first, before = labels(), {name: asked(folder, name) for name in "abc"}
    for kept in (Path("labels.parquet"), Path("labels.answers.sqlite")):
        os.utime(kept, (0, 0))  # older than the data
    assert label(covote, data.name).status == 0
    assert labels() == first == truth()
    assert {name: asked(folder, name) for name in "abc"} == before == dict.fromkeys("abc", 40)


@pytest.mark.parametrize("how", ["removed", "repaired"])
def test_answers_stay_when_a_broken_image_is_removed_or_repaired(covote, folder, how):
    data = folder / write(folder, "images")
    whole = (data / "21.bmp").read_bytes()
    (data / "21.bmp").write_bytes(b"no image")
    ran = label(covote, "data")
    assert ran.status == 2
    assert "21.bmp cannot be read as an image" in ran.err
    before = {name: asked(folder, name) for name in "abc"}
    assert sum(before.values()) > 0
    if how == "removed":
        (data / "21.bmp").unlink()
    else:
        (data / "21.bmp").write_bytes(whole)
    ran = label(covote, "data")
    assert ran.status == 0, ran.err
    left = [name for n, name in enumerate(truth()) if how == "repaired" or n != 21]
    assert labels() == left
    assert {name: asked(folder, name) for name in "abc"} == dict.fromkeys("abc", len(left))


def test_only_images_that_have_changed_are_asked_about_again(covote, folder):
    from PIL import Image

    data = folder / write(folder, "images")
    assert label(covote, "data").status == 0
    Image.new("RGB", (2, 2), (1, 0, 0)).save(data / "09.bmp")
    Image.new("RGB", (2, 2), (2, 0, 0)).save(data / "05-more.bmp")
    ran = label(covote, "data")
    assert ran.status == 2  # an answer would be thrown away
    assert "have changed since" in ran.err
    before = {name: asked(folder, name) for name in "abc"}
    ran = label(covote, "data", "--refresh")
    assert ran.status == 0, ran.err
    assert labels() == [*truth()[:6], "cat", *truth()[6:9], "bee", *truth()[10:]]
    assert {name: asked(folder, name) - before[name] for name in "abc"} == dict.fromkeys("abc", 2)


@pytest.mark.parametrize("moment", ["move", "add", "choose"])
def test_a_kill_while_answers_are_carried_over_loses_none(covote, folder, moment, monkeypatch):
    data = folder / write(folder, "images")
    (data / "00.bmp").rename(data / "99.bmp")
    assert label(covote, "data").status == 0
    before = {name: asked(folder, name) for name in "abc"}
    Path(data / "more.bmp").write_bytes((data / "99.bmp").read_bytes())
    killed = []

    def kill(*_):
        killed.append(moment)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(AnswersFile, moment, kill)
        label(covote, "data")
    assert killed
    ran = label(covote, "data")
    assert ran.status == 0, ran.err
    assert {name: asked(folder, name) - before[name] for name in "abc"} == dict.fromkeys("abc", 1)
