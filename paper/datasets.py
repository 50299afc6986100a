"""The datasets of the experiments: their published files, how to fetch them, and what they contain."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.errors import DataError, InputError, MissingDependencyError

Images = NDArray[np.uint8]
_PATIENCE = 60.0  # seconds without a response before a download fails


@dataclass(frozen=True)
class DataFile:
    """A published file.

    Attributes
    ----------
    name
        Its name as published.
    sha256
        What its content must hash to.
    folders
        Where to look for it below the data folder, the preferred place first.
    url
        Where to download it; empty if that is not possible.
    """

    name: str
    sha256: str
    folders: tuple[str, ...]
    url: str = ""


@dataclass(frozen=True)
class DataSource:
    """The folder with the datasets, and whether missing files may be downloaded."""

    folder: Path
    download: bool = False

    def path(self, file: DataFile) -> Path:
        """Return the path of a file after checking its content; raise DataError if it is missing."""
        for folder in file.folders:
            place = self.folder / folder / file.name
            if place.is_file():
                _check(place, file)
                return place
        place = self.folder / file.folders[0] / file.name
        if self.download and file.url:
            _fetch(file, place)
            return place
        raise DataError(_missing(file, self.folder))

    def has(self, file: DataFile) -> bool:
        """Whether the file exists; its content is not checked."""
        return any((self.folder / folder / file.name).is_file() for folder in file.folders)

    def paths(self, files: Sequence[DataFile]) -> list[Path]:
        """Return the paths of several files, each checked."""
        return [self.path(file) for file in files]


def default_folder() -> Path:
    """Return the folder for datasets in the user's cache."""
    if sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "covote" / "data"


def _missing(file: DataFile, folder: Path) -> str:
    places = " or ".join(str(folder / place / file.name) for place in file.folders)
    remedy = "pass --data-dir with the folder that has it"
    if file.url:
        remedy += f", get it from {file.url}, or let --download do it"
    return f"{file.name} is missing: expected at {places}; {remedy}"


def _check(place: Path, file: DataFile) -> None:
    try:
        with place.open("rb") as opened:
            found = hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {place}: {error.strerror}") from error
    if found != file.sha256:
        again = "remove it and run again with --download" if file.url else "replace it by the published file"
        raise DataError(
            f"{place} is not the published {file.name}: its sha256 is {found[:16]}..., "
            f"it should be {file.sha256[:16]}...; {again}"
        )


def _fetch(file: DataFile, place: Path) -> None:
    """Download a file next to its destination, check it, and only then rename it."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make the folder {place.parent}: {error.strerror}") from error
    with atomic.replacing(place) as temporary:
        fetch(file.url, temporary)
        _check(temporary, file)


def fetch(url: str, place: Path) -> None:
    """Download a URL into a file."""
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE) as answer, place.open("wb") as sink:
            shutil.copyfileobj(answer, sink)
    except (urllib.error.URLError, TimeoutError) as error:
        reason = getattr(error, "reason", error)
        raise DataError(f"cannot download {url}: {reason}; fetch it by other means") from error


# Published files

_IDX = ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3", "t10k-labels-idx1")


def _idx_files(folders: tuple[str, ...], url: str, hashes: tuple[str, ...]) -> tuple[DataFile, ...]:
    names = [f"{stem}-ubyte.gz" for stem in _IDX]
    return tuple(
        DataFile(name, sha256, folders, url + name) for name, sha256 in zip(names, hashes, strict=True)
    )


MNIST = _idx_files(
    ("mnist", "MNIST/raw"),
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
)

FASHION = _idx_files(
    ("fashion_mnist", "FashionMNIST/raw"),
    "https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
    (
        "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
    ),
)

CIFAR_URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"

CIFAR_BATCHES = tuple(
    DataFile(name, sha256, ("cifar-10-batches-bin", "cifar10/cifar-10-batches-bin"), CIFAR_URL)
    for name, sha256 in (
        ("data_batch_1.bin", "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5"),
        ("data_batch_2.bin", "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed"),
        ("data_batch_3.bin", "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67"),
        ("data_batch_4.bin", "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48"),
        ("data_batch_5.bin", "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add"),
        ("test_batch.bin", "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b"),
    )
)
"""The binary version: bytes as Krizhevsky published them."""

CIFAR_MOSAICS = tuple(
    DataFile(name, sha256, ("cifar10",))
    for name, sha256 in (
        ("train_1.webp", "300ffcf194c8f61c75b8c5953a174409b8330fab73d07248898f6ccada5e7cca"),
        ("train_2.webp", "4515f0ede7ffd142fddb4729acfdf1fb65d12870990ad8b1965ac4a373033807"),
        ("train_3.webp", "7aae7d19f0a73bff547175b943476119a8c8095bc79ac54aab0df64c8d71c719"),
        ("train_4.webp", "e1efb601e48cbadc2a04109457693df681bf3c45a20b535e0f0a94312fff80e5"),
        ("train_5.webp", "c8e9792848a0a5278c0b1a0061ed5a9075aba417cd48cc0fe9ba6f4d3da9cfa4"),
        ("test.webp", "b3c946666f1bd5f3d0836a282e2755dbb4192a4f7382116ee2a4139d456731b7"),
        ("train_labels.npy", "fad921ba16b0efeebb54393d1351545d1fe1a357f6f81324c821e3e11b956c70"),
        ("test_labels.npy", "19004b019bd095265b4ce6637c9ff979c66abcbc8e658a665f791b487cdea5eb"),
    )
)
"""The same images as lossless mosaics of 100 x 100: half the size."""

IMAGENET = DataFile(
    "imagenet_val_top5.npz",
    "2b0fd84117c9669ea4bf937ad2159c68ba0d4d5748e8eb22626335fcf7fb7326",
    ("predictions",),
)


# Images


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
        """A hash of every pixel and label, so that votes on other data are never mistaken for these."""
        digest = hashlib.sha256("\0".join(self.classes).encode())
        for array in (self.train_x, self.train_y, self.test_x, self.test_y):
            digest.update(str((array.shape, array.dtype.str)).encode())
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()

    def reduced(self, per_class: int | None, seed: int = 0) -> ImageSet:
        """Return the set with `per_class` random training images of each class, in their order; None: all."""
        if per_class is None:
            return self
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
    """Cut a lossless picture into its square images, row by row."""
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
        raise DataError(
            f"{path} has {pixels.shape[:2]} pixels, which is not a grid of {side} x {side} images"
        )
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
        raise DataError(f"{path} has {raw.size} bytes, which is not a whole number of CIFAR-10 images")
    rows = raw.reshape(-1, 3073)
    images = np.ascontiguousarray(rows[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1))
    return images, rows[:, 0].astype(np.int64)


def _unpack_batches(folder: Path) -> None:
    """Download the archive of CIFAR-10 and extract its six batches; each is checked when it is read."""
    place = folder / CIFAR_BATCHES[0].folders[0]
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".cifar-", dir=folder) as temporary:
        archive = Path(temporary) / "cifar-10-binary.tar.gz"
        fetch(CIFAR_URL, archive)
        with tarfile.open(archive) as opened:
            for file in CIFAR_BATCHES:
                member = opened.extractfile(f"cifar-10-batches-bin/{file.name}")
                if member is None:
                    raise DataError(f"{CIFAR_URL} has no {file.name}; fetch it by other means")
                with atomic.replacing(place / file.name) as target:
                    target.write_bytes(member.read())


GARMENTS = ("T-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot")
IMAGE_SETS: dict[str, Callable[[DataSource], ImageSet]] = {
    "mnist": partial(_idx_set, "mnist", tuple("0123456789"), MNIST),
    "fashion": partial(_idx_set, "fashion", GARMENTS, FASHION),
    "cifar10": _cifar10,
}
"""How each image set is read."""
TITLES = {"mnist": "MNIST", "fashion": "Fashion-MNIST", "cifar10": "CIFAR-10"}
"""What people call each image set."""


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
