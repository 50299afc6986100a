"""The published data files: their hashes, where they are looked for, and how they are fetched if asked."""

from __future__ import annotations

import hashlib
import os
import sys
import urllib.error
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from covote import atomic
from covote.errors import DataError

_CHUNK = 1 << 20
_PATIENCE = 60.0  # seconds without an answer before a download is given up


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
        Where it is looked for below the data folder, the preferred place first.
    url
        Where it can be fetched; empty if it cannot.
    """

    name: str
    sha256: str
    folders: tuple[str, ...]
    url: str = ""


@dataclass(frozen=True)
class DataSource:
    """The folder with the data sets, and whether what is missing may be downloaded."""

    folder: Path
    download: bool = False

    def path(self, file: DataFile) -> Path:
        """Return the place of a file after checking its content; raise DataError if it is not there."""
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
        """Whether the file is there; its content is not looked at."""
        return any((self.folder / folder / file.name).is_file() for folder in file.folders)

    def paths(self, files: Sequence[DataFile]) -> list[Path]:
        """Return the places of several files, each checked."""
        return [self.path(file) for file in files]


def default_folder() -> Path:
    """Return the folder for data sets in this person's cache."""
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
    """Download a file beside its place, check it, and only then give it its name."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"cannot make the folder {place.parent}: {error.strerror}") from error
    with atomic.replacing(place) as beside:
        fetch(file.url, beside)
        _check(beside, file)


def fetch(url: str, place: Path) -> None:
    """Copy what is at a URL into a file."""
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE) as answer, place.open("wb") as sink:
            while part := answer.read(_CHUNK):
                sink.write(part)
    except (urllib.error.URLError, TimeoutError) as error:
        reason = getattr(error, "reason", error)
        raise DataError(f"cannot download {url}: {reason}; fetch it by other means") from error


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

BANKING77 = DataFile(
    "banking77.parquet", "dd9b28dbd7f865589baf20812bd02324be420632a7266a2b2ee2abc71d028ce5", ("text",)
)
CLINC150 = DataFile(
    "clinc150.parquet", "a94118e3c58b0a017981c0a277d7c94181f841a153b3521c8e396f4901d94c25", ("text",)
)
IMAGENET = DataFile(
    "imagenet_val_top5.npz",
    "2b0fd84117c9669ea4bf937ad2159c68ba0d4d5748e8eb22626335fcf7fb7326",
    ("predictions",),
)
