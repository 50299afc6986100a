"""The store of trained experts: their votes and probabilities, a Parquet file each.

Every expert is stored as soon as it is complete, so an interrupted run resumes where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.errors import FileError
from covote.panel import Panel
from covote.progress import Progress
from covote.votes import Votes
from paper.datasets import ImageSet
from paper.trainers import Subset, TrainedExpert, Trainer, file_name

SPLITS = ("train", "test")


@dataclass(frozen=True, eq=False)
class StoredExpert:
    """An expert's answers, read from its file: votes and probabilities by split."""

    subset: Subset
    votes: dict[str, NDArray[np.integer[Any]]]
    probabilities: dict[str, NDArray[np.float16]]
    seconds: float
    curve: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Experts:
    """The stored experts of one image set and trainer, and the truth about the images."""

    data: ImageSet
    trainer: Trainer
    by_subset: dict[Subset, StoredExpert]

    def truth(self, split: str) -> NDArray[np.int64]:
        """Return the true class of every image of a split that the experts were asked about."""
        if split == "test":
            return self.data.test_y
        return self.data.train_y[: self.train_rows]

    @property
    def train_rows(self) -> int:
        """How many training images the experts were asked about, from the first one on."""
        return min(len(expert.votes["train"]) for expert in self.by_subset.values())

    def has(self, subsets: Iterable[Subset]) -> bool:
        """Whether all of these experts are stored."""
        return all(subset in self.by_subset for subset in subsets)

    def panel(self, subsets: Sequence[Subset]) -> Panel:
        """Return the panel of these experts; every class of the image set is in it, known or not."""
        knows = np.zeros((len(subsets), len(self.data.classes)), dtype=bool)
        for row, subset in zip(knows, subsets, strict=True):
            row[list(subset)] = True
        return Panel(len(self.data.classes), knows, names=[file_name(subset) for subset in subsets])

    def votes(self, subsets: Sequence[Subset], split: str, *, soft: bool) -> Votes:
        """Return the votes of these experts, with their probabilities if `soft`."""
        experts = [self.by_subset[subset] for subset in subsets]
        rows = len(self.truth(split))
        columns = np.stack([expert.votes[split][:rows] for expert in experts], axis=1)
        given = None
        if soft:
            given = np.concatenate([expert.probabilities[split][:rows] for expert in experts], axis=1)
            given = given.astype(np.float32)
        return Votes.from_dense(columns, self.panel(subsets), probabilities=given)

    @property
    def seconds(self) -> float:
        """CPU time that training these experts took, now or in an earlier run."""
        return sum(expert.seconds for expert in self.by_subset.values())

    @property
    def about(self) -> dict[str, Any]:
        """What a section says of its experts."""
        return {
            "models": self.trainer.name,
            "surrogate": self.trainer.surrogate,
            "seconds": self.seconds,
        }


@dataclass(frozen=True)
class Store:
    """A folder of trained experts: their answers, and what is needed to resume a training.

    Stored experts are used; missing ones are trained and added. Several runs may share a folder.
    """

    folder: Path
    _read: dict[Path, StoredExpert] = field(default_factory=dict, repr=False, compare=False)

    def stored(self, data: ImageSet, trainer: Trainer, subsets: Iterable[Subset]) -> list[Subset]:
        """Return the subsets whose experts are stored."""
        place = self.place(data, trainer)
        return [subset for subset in dict.fromkeys(subsets) if _file(place, subset).is_file()]

    def experts(
        self, data: ImageSet, trainer: Trainer, subsets: Iterable[Subset], progress: Progress
    ) -> Experts:
        """Return experts for these subsets; those that are not stored are trained."""
        wanted = list(dict.fromkeys(subsets))
        place = self.place(data, trainer)
        there = set(self.stored(data, trainer, wanted))
        missing = [subset for subset in wanted if subset not in there]
        if missing:
            _write_about(place, data, trainer)
            for trained in trainer.train(data, missing, progress, place):
                write_expert(_file(place, trained.subset), trained)
        return Experts(data, trainer, {subset: self._expert(_file(place, subset), data) for subset in wanted})

    def _expert(self, path: Path, data: ImageSet) -> StoredExpert:
        """Return an expert's answers; its file is read once."""
        if path not in self._read:
            self._read[path] = read_expert(path, data)
        return self._read[path]

    def place(self, data: ImageSet, trainer: Trainer) -> Path:
        """Return the folder for votes of this trainer on these images."""
        recipe = f"{trainer.name}\n{trainer.recipe}\n{data.fingerprint}"
        mark = hashlib.sha256(recipe.encode()).hexdigest()[:10]
        words = re.sub(r"[^a-z0-9]+", "-", trainer.name.lower()).strip("-")[:40]
        return self.folder / f"{data.name}-{words}-{mark}"


def _file(place: Path, subset: Subset) -> Path:
    return place / f"{file_name(subset)}.parquet"


def _write_about(place: Path, data: ImageSet, trainer: Trainer) -> None:
    """Describe in words what a folder of votes holds."""
    atomic.make_folder(place, "--output")
    about = {
        "images": data.name,
        "classes": data.classes,
        "trainer": trainer.name,
        "surrogate": trainer.surrogate,
        "recipe": trainer.recipe,
        "data": data.fingerprint,
        "rows": "training images (all, or the first), then all test images, in the order of the data set",
    }
    atomic.write_text(place / "about.json", json.dumps(about, indent=1, ensure_ascii=False) + "\n")


def write_expert(path: Path, trained: TrainedExpert) -> None:
    """Write an expert's votes and probabilities, completely or not at all."""
    import pyarrow as pa
    from pyarrow import parquet

    given = np.concatenate([trained.train, trained.test]).astype(np.float16)
    known = np.array(trained.subset, dtype=np.int8)
    # The vote is the best of the exact probabilities: rounding to 16 bits may make two of them equal.
    best = np.concatenate([trained.train.argmax(axis=1), trained.test.argmax(axis=1)])
    columns: dict[str, Any] = {"vote": known[best]}
    columns |= {f"p{k}": np.ascontiguousarray(given[:, n]) for n, k in enumerate(trained.subset)}
    about = {
        "seconds": str(trained.seconds),
        "train": str(len(trained.train)),
        "curve": json.dumps(trained.curve),
    }
    table = pa.table(columns).replace_schema_metadata(about)
    with atomic.replacing(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd")


def read_expert(path: Path, data: ImageSet) -> StoredExpert:
    """Read an expert's file back."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        table = parquet.read_table(path)
        about = table.schema.metadata
        subset = tuple(int(name[1:]) for name in table.column_names if name != "vote")
        first, seconds = int(about[b"train"]), float(about[b"seconds"])
        curve = tuple((float(a), float(b)) for a, b in json.loads(about.get(b"curve", b"[]")))
        votes = table["vote"].to_numpy()
        given = np.stack([table[f"p{k}"].to_numpy() for k in subset], axis=1)
    except (pa.ArrowException, KeyError, TypeError, ValueError, OSError) as error:
        raise FileError(f"{path} is not a file of votes ({error}); remove it and run again") from error
    if first > len(data.train_y) or len(votes) != first + len(data.test_y):
        raise FileError(
            f"{path} has votes on {first} training and {len(votes) - first} test images, where there are "
            f"{len(data.train_y)} and {len(data.test_y)}; remove it and run again"
        )
    return StoredExpert(
        subset,
        {"train": votes[:first], "test": votes[first:]},
        {"train": given[:first], "test": given[first:]},
        seconds,
        curve,
    )
