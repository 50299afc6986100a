"""Answers kept beside the labels: one file for each expert and batch, so that nothing is asked twice."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote import atomic
from covote.errors import FileError, InputError
from covote.experts import Answers
from covote.panel import Name
from covote.votes import NOT_ASKED

_PART = re.compile(r"(\d{12})-(\d{12})(\.some)?\.npy")


@dataclass(frozen=True)
class Part:
    """What an expert said about the items start:stop; ``NOT_ASKED`` (-1) where it was not asked."""

    label: NDArray[Any]
    probability: NDArray[np.float32] | None
    note: str

    @property
    def asked(self) -> NDArray[np.bool_]:
        """Which items it was asked about."""
        known: NDArray[np.bool_] = self.label != NOT_ASKED
        return known

    def with_answers(self, rows: NDArray[np.bool_], answers: Answers) -> Part:
        """Return the part with answers to some more items."""
        label = self.label.copy()
        label[rows] = answers.label
        soft = None
        if answers.probability is not None and (self.probability is not None or not self.asked.any()):
            soft = np.zeros((len(label), answers.probability.shape[1]), dtype=np.float32)
            if self.probability is not None:
                soft[:] = self.probability
            soft[rows] = answers.probability
        return Part(label, soft, self.note or answers.note)

    @classmethod
    def empty(cls, size: int, known: int) -> Part:
        """Return a part about which nobody was asked yet."""
        kind = np.int8 if known <= 127 else np.int32
        return cls(np.full(size, NOT_ASKED, dtype=kind), None, "")


class Kept:
    """The folder with all answers of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def make(self) -> None:
        """Make the folder."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(
                f"cannot make the folder {self.folder} for the answers: {error.strerror}; choose another -o"
            ) from error

    def expert_folder(self, name: Name) -> Path:
        """Return the folder of one expert; its name is for people, its end makes it unique."""
        written = json.dumps(name, ensure_ascii=False)
        short = re.sub(r"[^\w.-]+", "_", str(name))[:40].strip("._") or "expert"
        return self.folder / f"{short}-{hashlib.sha256(written.encode()).hexdigest()[:8]}"

    # What the answers belong to

    def read_facts(self, name: str) -> dict[str, Any] | None:
        """Return facts written before, None if there are none."""
        path = self.folder / name
        if not path.exists():
            return None
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise FileError(f"{path} cannot be read ({error}); remove the folder {self.folder}") from error

    def write_facts(self, name: str, facts: Mapping[str, Any]) -> None:
        """Write facts, completely or not at all."""
        (self.folder / name).parent.mkdir(exist_ok=True)
        atomic.write_text(self.folder / name, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")

    def forget(self, name: Name) -> None:
        """Remove all answers of an expert."""
        shutil.rmtree(self.expert_folder(name), ignore_errors=True)

    # Parts

    def parts(self, name: Name) -> dict[tuple[int, int], bool]:
        """Return which (start, stop) there are answers to, and whether to all of their items."""
        folder, found = self.expert_folder(name), dict[tuple[int, int], bool]()
        if folder.is_dir():
            for entry in folder.iterdir():
                match = _PART.fullmatch(entry.name)
                if match:
                    where = int(match[1]), int(match[2])
                    found[where] = found.get(where, False) or match[3] is None
        return found

    def read(self, name: Name, start: int, stop: int, known: int) -> Part:
        """Return the answers of an expert to a batch; an empty part if it was not asked."""
        for ending in ("", ".some"):
            path = self._path(name, start, stop, ending)
            if path.exists():
                return _load(path)
        return Part.empty(stop - start, known)

    def write(self, name: Name, start: int, stop: int, part: Part) -> None:
        """Keep the answers to a batch; the file is there completely or not at all."""
        whole = bool(part.asked.all())
        with atomic.replacing(
            self._path(name, start, stop, "" if whole else ".some"), nameless=True
        ) as beside:
            _save(beside, part)
        if whole:
            self._path(name, start, stop, ".some").unlink(missing_ok=True)

    def _path(self, name: Name, start: int, stop: int, ending: str) -> Path:
        return self.expert_folder(name) / f"{start:012d}-{stop:012d}{ending}.npy"


def _save(path: Path, part: Part) -> None:
    """Write a part: labels, probabilities (no columns if there are none), note."""
    soft = part.probability
    with path.open("wb") as file:
        np.save(file, part.label, allow_pickle=False)
        np.save(
            file, np.zeros((len(part.label), 0), np.float32) if soft is None else soft, allow_pickle=False
        )
        if part.note:
            np.save(file, np.array(part.note), allow_pickle=False)


def _load(path: Path) -> Part:
    try:
        with path.open("rb") as file:
            label = np.load(file, allow_pickle=False)
            soft = np.load(file, allow_pickle=False)
            note = str(np.load(file, allow_pickle=False)) if file.peek(1) else ""
    except (OSError, ValueError, EOFError) as error:
        raise InputError(
            f"{path} cannot be read ({error}); remove it, and its batch is asked again"
        ) from error
    return Part(label, soft if soft.shape[1] else None, note)
