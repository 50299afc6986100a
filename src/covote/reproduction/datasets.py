"""The data sets of the experiments as arrays: images, short texts, what published networks answered."""

from __future__ import annotations

import gzip
import hashlib
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.errors import DataError, InputError, MissingDependencyError
from covote.reproduction.data_files import (
    BANKING77,
    CIFAR_BATCHES,
    CIFAR_MOSAICS,
    CIFAR_URL,
    CLINC150,
    FASHION,
    IMAGENET,
    MNIST,
    DataFile,
    DataSource,
    fetch,
)

Images = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class ImageSet:
    """Images for training and for testing, with the index of each one's class.

    Attributes
    ----------
    train_x, test_x
        Pixels, (images x rows x columns) or (images x rows x columns x colours).
    train_y, test_y
        Indices into `classes`.
    """

    name: str
    classes: tuple[str, ...]
    train_x: Images
    train_y: NDArray[np.int64]
    test_x: Images
    test_y: NDArray[np.int64]

    def __post_init__(self) -> None:
        for images, truth, what in (
            (self.train_x, self.train_y, "training"),
            (self.test_x, self.test_y, "test"),
        ):
            if len(images) != len(truth):
                raise DataError(f"{self.name}: {len(images)} {what} images, but {len(truth)} labels")
            if len(truth) and not 0 <= truth.min() <= truth.max() < len(self.classes):
                raise DataError(
                    f"{self.name}: {what} labels run from {truth.min()} to {truth.max()}; "
                    f"they must be 0 to {len(self.classes) - 1}"
                )

    @cached_property
    def fingerprint(self) -> str:
        """A hash of every pixel and label: votes of other data are never mistaken for these."""
        digest = hashlib.sha256("\0".join(self.classes).encode())
        for array in (self.train_x, self.train_y, self.test_x, self.test_y):
            digest.update(str((array.shape, array.dtype.str)).encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def reduced(self, per_class: int, seed: int = 0) -> ImageSet:
        """Return the set with `per_class` random training images of each class, in their order."""
        rng = np.random.default_rng(seed)
        rows = []
        for k in range(len(self.classes)):
            of_class = np.flatnonzero(self.train_y == k)
            if len(of_class) < per_class:
                raise InputError(
                    f"{self.name} has {len(of_class)} training images of class {self.classes[k]!r}; "
                    f"{per_class} were asked for"
                )
            rows.append(rng.permutation(of_class)[:per_class])
        chosen = np.sort(np.concatenate(rows))
        train_x, train_y = self.train_x[chosen], self.train_y[chosen]
        return ImageSet(self.name, self.classes, train_x, train_y, self.test_x, self.test_y)


def load_images(name: str, source: DataSource) -> ImageSet:
    """Read an image set by name: mnist, fashion or cifar10."""
    if name not in IMAGE_SETS:
        raise InputError(f"no image set {name!r}; choose one of {', '.join(IMAGE_SETS)}")
    return IMAGE_SETS[name](source)


def _mnist(source: DataSource) -> ImageSet:
    return _idx_set("mnist", tuple("0123456789"), MNIST, source)


def _fashion(source: DataSource) -> ImageSet:
    names = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")
    return _idx_set("fashion", names, FASHION, source)


def _idx_set(
    name: str, classes: tuple[str, ...], files: tuple[DataFile, ...], source: DataSource
) -> ImageSet:
    train_x, train_y, test_x, test_y = (read_idx(path) for path in source.paths(files))
    return ImageSet(name, classes, train_x, train_y.astype(np.int64), test_x, test_y.astype(np.int64))


def read_idx(path: Path) -> Images:
    """Read a gzipped IDX file of bytes: two zeros, the type 8, the number of axes, their lengths, bytes."""
    try:
        raw = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} is not a readable gzip file: {error}") from error
    if len(raw) < 4 or raw[:3] != b"\0\0\x08" or len(raw) < 4 + 4 * raw[3]:
        raise DataError(f"{path} is not an IDX file of bytes; it begins with {raw[:4].hex()!r}")
    shape = tuple(int(n) for n in np.frombuffer(raw, ">u4", count=raw[3], offset=4))
    values = np.frombuffer(raw, np.uint8, offset=4 + 4 * raw[3])
    if values.size != np.prod(shape):
        raise DataError(f"{path} says its shape is {shape}, but it has {values.size} values")
    return values.reshape(shape)


def _cifar10(source: DataSource) -> ImageSet:
    names = "airplane automobile bird cat deer dog frog horse ship truck"
    if all(source.has(file) for file in CIFAR_MOSAICS):
        arrays = _from_mosaics(source)
    else:
        if source.download and not all(source.has(file) for file in CIFAR_BATCHES):
            _unpack_batches(source.folder)
        arrays = _from_batches(source)
    return ImageSet("cifar10", tuple(names.split()), *arrays)


Arrays = tuple[Images, NDArray[np.int64], Images, NDArray[np.int64]]


def _from_mosaics(source: DataSource) -> Arrays:
    *mosaics, train_labels, test_labels = source.paths(CIFAR_MOSAICS)
    parts = [read_mosaic(path, 32) for path in mosaics]
    train_y, test_y = (
        np.load(path, allow_pickle=False).astype(np.int64) for path in (train_labels, test_labels)
    )
    return np.concatenate(parts[:-1]), train_y, parts[-1], test_y


def read_mosaic(path: Path, side: int) -> Images:
    """Cut a lossless picture into the square images of which it is made, row by row."""
    try:
        from PIL import Image
    except ImportError as error:
        raise MissingDependencyError(
            f"reading {path.name} needs Pillow: pip install 'covote[images]'"
        ) from error
    with Image.open(path) as picture:
        pixels = np.asarray(picture.convert("RGB"))
    rows, columns = pixels.shape[0] // side, pixels.shape[1] // side
    if pixels.shape[:2] != (rows * side, columns * side):
        raise DataError(f"{path} has {pixels.shape[:2]} pixels, which is no grid of {side} x {side} images")
    cut = pixels.reshape(rows, side, columns, side, 3).swapaxes(1, 2)
    return np.ascontiguousarray(cut.reshape(-1, side, side, 3))


def _from_batches(source: DataSource) -> Arrays:
    parts = [read_batch(path) for path in source.paths(CIFAR_BATCHES)]
    train_x = np.concatenate([images for images, _ in parts[:-1]])
    train_y = np.concatenate([labels for _, labels in parts[:-1]])
    return train_x, train_y, *parts[-1]


def read_batch(path: Path) -> tuple[Images, NDArray[np.int64]]:
    """Read a file of cifar-10-batches-bin: one byte for the class, then 3 x 32 x 32 bytes, per image."""
    raw = np.fromfile(path, np.uint8)
    if raw.size % 3073:
        raise DataError(f"{path} has {raw.size} bytes, which is no whole number of CIFAR-10 images")
    rows = raw.reshape(-1, 3073)
    images = np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    return images, rows[:, 0].astype(np.int64)


def _unpack_batches(folder: Path) -> None:
    """Download the archive of CIFAR-10 and take its six batches out; each is checked when it is read."""
    place = folder / CIFAR_BATCHES[0].folders[0]
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".cifar-", dir=folder) as beside:
        archive = Path(beside) / "cifar-10-binary.tar.gz"
        fetch(CIFAR_URL, archive)
        with tarfile.open(archive) as opened:
            for file in CIFAR_BATCHES:
                member = opened.extractfile(f"cifar-10-batches-bin/{file.name}")
                if member is None:
                    raise DataError(f"{CIFAR_URL} has no {file.name}; fetch it by other means")
                with atomic.replacing(place / file.name) as target:
                    target.write_bytes(member.read())


IMAGE_SETS: dict[str, Callable[[DataSource], ImageSet]] = {
    "mnist": _mnist,
    "fashion": _fashion,
    "cifar10": _cifar10,
}
"""How each image set is read."""
TITLES = {"mnist": "MNIST", "fashion": "Fashion-MNIST", "cifar10": "CIFAR-10"}
"""What people call each image set."""


# Texts

TEXT_SETS: dict[str, DataFile] = {"banking77": BANKING77, "clinc150": CLINC150}
"""Short questions, many intents."""


@dataclass(frozen=True, eq=False)
class TextSet:
    """Texts for training and for testing; `domains` is the index of each class's domain, if known."""

    name: str
    classes: tuple[str, ...]
    train_x: list[str]
    train_y: NDArray[np.int64]
    test_x: list[str]
    test_y: NDArray[np.int64]
    domains: NDArray[np.int64] | None = None

    @cached_property
    def fingerprint(self) -> str:
        """A hash of every text and label: votes of other data are never mistaken for these."""
        digest = hashlib.sha256("\0".join((*self.classes, *self.train_x, *self.test_x)).encode())
        for truth in (self.train_y, self.test_y):
            digest.update(np.ascontiguousarray(truth).data)
        return digest.hexdigest()


def load_text(name: str, source: DataSource) -> TextSet:
    """Read a text set by name: banking77 (77 intents) or clinc150 (150 intents in 10 domains).

    Questions outside every intent (`oos`) and the validation split are left out.
    """
    if name not in TEXT_SETS:
        raise InputError(f"no text set {name!r}; choose one of {', '.join(TEXT_SETS)}")
    from pyarrow import parquet

    rows = parquet.read_table(source.path(TEXT_SETS[name])).to_pylist()
    rows = [row for row in rows if row["intent"] != "oos" and row["split"] in ("train", "test")]
    classes = tuple(sorted({row["intent"] for row in rows}))
    index = {intent: k for k, intent in enumerate(classes)}
    parts: list[tuple[list[str], NDArray[np.int64]]] = []
    for split in ("train", "test"):
        mine = [row for row in rows if row["split"] == split]
        truth = np.array([index[row["intent"]] for row in mine], dtype=np.int64)
        parts.append(([row["text"] for row in mine], truth))
    domain_of = {row["intent"]: row["domain"] for row in rows if "domain" in row}
    domains = None
    if domain_of:
        names = sorted(set(domain_of.values()))
        domains = np.array([names.index(domain_of[intent]) for intent in classes], dtype=np.int64)
    return TextSet(name, classes, *parts[0], *parts[1], domains)


# Predictions


@dataclass(frozen=True, eq=False)
class Predictions:
    """What published networks answered about the 50,000 validation images of ImageNet.

    `best` has the five best classes of every network for every image, best first (images x networks x 5).
    """

    networks: tuple[str, ...]
    best: NDArray[np.uint16]
    truth: NDArray[np.int64]
    classes: int = 1000


def load_predictions(source: DataSource) -> Predictions:
    """Read the stored predictions."""
    with np.load(source.path(IMAGENET), allow_pickle=False) as stored:
        networks = tuple(str(name) for name in stored["models"])
        return Predictions(networks, stored["top5"], stored["truth"].astype(np.int64))
