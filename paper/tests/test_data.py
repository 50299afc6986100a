"""Data sets: found, checked, read; clear errors where they are not."""

import gzip
import hashlib
import io
import struct
import tarfile

import numpy as np
import pytest

from covote.errors import DataError, InputError
from paper import datasets
from paper.datasets import (
    DataFile,
    DataSource,
    ImageSet,
    default_folder,
    load_images,
    read_batch,
    read_idx,
    read_mosaic,
)

from .made_up import bars


def idx_bytes(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


def test_idx_files_are_read_as_they_were_written(tmp_path):
    array = np.random.default_rng(0).integers(0, 256, (5, 4, 3), dtype=np.uint8)
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(idx_bytes(array)))
    assert np.array_equal(read_idx(path), array)


@pytest.mark.parametrize(
    "content",
    [b"not gzip", gzip.compress(b"\0\0\x08"), gzip.compress(b"\0\0\x0d\x01\0\0\0\x01abcd"),
     gzip.compress(idx_bytes(np.zeros((2, 2), np.uint8))[:-1])],
    ids=["no gzip", "too short", "another type", "a byte missing"],
)  # fmt: skip
def test_a_broken_idx_file_is_named(tmp_path, content):
    path = tmp_path / "broken.gz"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"broken\.gz"):
        read_idx(path)


def test_mosaics_and_batches_hold_the_same_images(tmp_path):
    image = pytest.importorskip("PIL.Image")
    images = np.random.default_rng(1).integers(0, 256, (6, 32, 32, 3), dtype=np.uint8)
    mosaic = images.reshape(2, 3, 32, 32, 3).swapaxes(1, 2).reshape(64, 96, 3)
    image.fromarray(mosaic).save(tmp_path / "m.webp", lossless=True)
    rows = np.concatenate(
        [np.arange(6, dtype=np.uint8)[:, None], images.transpose(0, 3, 1, 2).reshape(6, -1)], axis=1
    )
    rows.tofile(tmp_path / "b.bin")
    read, labels = read_batch(tmp_path / "b.bin")
    assert np.array_equal(read, images)
    assert np.array_equal(read_mosaic(tmp_path / "m.webp", 32), images)
    assert labels.tolist() == [0, 1, 2, 3, 4, 5]


def test_a_file_is_found_in_any_of_its_places_and_checked(tmp_path):
    file = DataFile("a.bin", hashlib.sha256(b"right").hexdigest(), ("first", "second"))
    with pytest.raises(DataError, match=r"a\.bin is missing: expected at .*first.* or .*second.*--data-dir"):
        DataSource(tmp_path).path(file)
    (tmp_path / "second").mkdir()
    (tmp_path / "second/a.bin").write_bytes(b"right")
    assert DataSource(tmp_path).path(file) == tmp_path / "second/a.bin"
    (tmp_path / "second/a.bin").write_bytes(b"wrong")
    with pytest.raises(DataError, match=r"is not the published a\.bin: its sha256 is .* replace it"):
        DataSource(tmp_path).path(file)


def test_nothing_is_downloaded_unless_asked_and_what_is_downloaded_is_checked(tmp_path):
    published = tmp_path / "published"
    published.write_bytes(b"right")
    url = published.as_uri()
    file = DataFile("a.bin", hashlib.sha256(b"right").hexdigest(), ("x",), url)
    with pytest.raises(DataError, match="--download"):
        DataSource(tmp_path).path(file)
    assert DataSource(tmp_path, download=True).path(file).read_bytes() == b"right"
    other = DataFile("b.bin", hashlib.sha256(b"other").hexdigest(), ("x",), url)
    with pytest.raises(DataError, match="is not the published"):
        DataSource(tmp_path, download=True).path(other)
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["a.bin"]


def test_the_archive_of_cifar10_is_unpacked_when_a_download_is_asked_for(tmp_path, monkeypatch):
    rng, files = np.random.default_rng(0), []
    with tarfile.open(tmp_path / "cifar.tar.gz", "w:gz") as archive:
        for n in range(1, 7):
            name = "test_batch.bin" if n == 6 else f"data_batch_{n}.bin"
            rows = rng.integers(0, 256, (10, 3073), dtype=np.uint8)
            rows[:, 0] = np.arange(10)
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            info.size = rows.nbytes
            archive.addfile(info, io.BytesIO(rows.tobytes()))
            files.append(
                DataFile(name, hashlib.sha256(rows.tobytes()).hexdigest(), ("cifar-10-batches-bin",))
            )
    monkeypatch.setattr(datasets, "CIFAR_URL", (tmp_path / "cifar.tar.gz").as_uri())
    monkeypatch.setattr(datasets, "CIFAR_BATCHES", tuple(files))
    data = load_images("cifar10", DataSource(tmp_path / "data", download=True))
    assert data.train_x.shape == (50, 32, 32, 3)
    assert np.array_equal(data.test_y, np.arange(10))
    again = load_images("cifar10", DataSource(tmp_path / "data"))
    assert again.fingerprint == data.fingerprint


def test_missing_sets_and_unknown_names(tmp_path):
    for name in ("mnist", "fashion", "cifar10"):
        with pytest.raises(DataError, match="is missing: expected at"):
            load_images(name, DataSource(tmp_path))
    with pytest.raises(InputError, match="no image set 'emnist'"):
        load_images("emnist", DataSource(tmp_path))


def test_reduced_keeps_that_many_of_each_class_and_the_test_images():
    data = bars()
    less = data.reduced(3, seed=1)
    assert np.bincount(less.train_y).tolist() == [3] * 10
    assert less.test_x is data.test_x
    assert less.fingerprint not in (data.fingerprint, data.reduced(3, seed=2).fingerprint)
    assert less.fingerprint == data.reduced(3, seed=1).fingerprint
    with pytest.raises(InputError, match="20 training images of class '0'"):
        data.reduced(21)


def test_labels_that_do_not_fit_are_refused():
    data = bars()
    with pytest.raises(DataError, match="200 training images, but 199 labels"):
        ImageSet("x", data.classes, data.train_x, data.train_y[1:], data.test_x, data.test_y)
    with pytest.raises(DataError, match="they must be 0 to 8"):
        ImageSet("x", data.classes[:9], data.train_x, data.train_y, data.test_x, data.test_y)


def test_the_default_folder_is_the_persons_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert default_folder() == tmp_path / "covote/data"
