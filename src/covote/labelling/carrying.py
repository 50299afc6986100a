"""Answers about a folder of images in which some have changed: those about all the others stay."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import FileError
from covote.labelling.journal import ENDING, Answered, Kept, Part, encoded
from covote.models import Answers
from covote.panel import Name
from covote.votes import NOT_ASKED

Images = Mapping[str, str]
"""A fingerprint of each image by its name, in the order of the items."""
_NEW, _OLD = ".new", ".old"  # an expert's folder while its answers are being carried over


class Move:
    """The way from the items of a folder as it was to those of the folder as it is.

    An image with another name or other content is another item. `data` is the fingerprint of what was there.

    >>> Move({"a": "1", "b": "2", "c": "3"}, {"b": "2", "c": "4", "d": "5"}, 2, "").source.tolist()
    [1, -1, -1]
    """

    def __init__(self, before: Images, now: Images, batch: int, data: str) -> None:
        self.data = data
        place = {image: n for n, image in enumerate(before.items())}
        self.source: NDArray[np.int64] = np.array([place.get(image, -1) for image in now.items()], np.int64)
        self._items, self._batch = len(before), batch

    def loses(self, there: Answered) -> bool:
        """Whether an answer is about an image that is not there any more, or not as it was."""
        gone = np.ones(self._items, dtype=bool)
        gone[self.source[self.source >= 0]] = False
        starts = np.unique(np.flatnonzero(gone) // self._batch * self._batch)
        return any(
            (there.read(start, stop).asked & gone[start:stop]).any() for start, stop in self._spans(starts)
        )

    def records(self, there: Answered) -> Iterator[bytes]:
        """Yield the answers that stay, as records about the items as they are."""
        read = lru_cache(maxsize=4)(there.read)
        for start in range(0, len(self.source), self._batch):
            source = self.source[start : start + self._batch]
            part = Part(np.full(len(source), NOT_ASKED, dtype=np.int32))
            begins = np.where(source >= 0, source // self._batch * self._batch, -1)
            for low, high in self._spans(np.unique(begins[begins >= 0])):
                part = part + _placed(read(low, high), source - low, begins == low)
            rows = part.asked
            if rows.any():
                soft = None if part.probability is None else part.probability[rows]
                answers = Answers(part.label[rows].astype(np.int64), soft, part.note)
                yield encoded(start, start + len(source), rows, answers)

    def _spans(self, starts: NDArray[np.int64]) -> list[tuple[int, int]]:
        return [(start, min(start + self._batch, self._items)) for start in starts.tolist()]


def _placed(part: Part, source: NDArray[np.int64], here: NDArray[np.bool_]) -> Part:
    """Return the answers of a part at the rows `here`, which ask for its rows `source`."""
    rows = np.where(here, source, 0)
    soft = None if part.probability is None else part.probability[rows]
    return Part(np.where(here, part.label[rows], NOT_ASKED).astype(np.int32), soft, part.note)


def carry(kept: Kept, name: Name, move: Move, about: str, facts: Mapping[str, Any]) -> None:
    """Carry an expert's answers over; killed at any moment, it has the old ones or the new ones."""
    folder = kept.expert_folder(name)
    new, old = _beside(folder)
    new.mkdir()
    try:
        with (new / f"carried{ENDING}").open("wb") as file:
            for record in move.records(kept.parts(name)):
                file.write(record)
    except OSError as error:
        raise FileError(f"cannot keep answers in {new}: {error.strerror}; make room there") from error
    kept.write_facts(f"{new.name}/{about}", facts)  # at last: it says that the folder is complete
    folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old)


def recover(kept: Kept, names: Sequence[Name], about: str) -> None:
    """Finish or undo what a run that was killed had begun to carry over."""
    for name in names:
        folder = kept.expert_folder(name)
        new, old = _beside(folder)
        if not folder.exists() and (new / about).exists():
            new.rename(folder)
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _beside(folder: Path) -> tuple[Path, Path]:
    return folder.with_name(folder.name + _NEW), folder.with_name(folder.name + _OLD)
