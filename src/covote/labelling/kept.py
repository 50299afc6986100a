"""Answers kept beside the labels, with what they belong to, so that nothing is asked twice."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from covote import atomic
from covote.errors import FileError
from covote.labelling import journal
from covote.panel import Name
from covote.votes import NOT_ASKED


class Kept:
    """The folder with all answers of one run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock: int | None = None

    def make(self) -> None:
        """Make the folder, and keep other runs out of it until it is closed."""
        atomic.make_folder(self.folder, "-o")
        self._lock = atomic.locked(
            self.folder / "lock",
            f"another run is writing to {self.folder}; wait for its end, or choose another -o",
        )

    def close(self) -> None:
        """Let other runs in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def expert_folder(self, name: Name) -> Path:
        """Return the folder of one expert; its name is for people, its end makes it unique."""
        written = json.dumps(name, ensure_ascii=False)
        short = re.sub(r"[^\w.-]+", "_", str(name))[:40].strip("._") or "expert"
        # Long enough that nobody finds two names with the same end.
        end = hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return self.folder / f"{short}-{end}"

    # What the answers belong to

    def read_facts(self, name: str) -> dict[str, Any] | None:
        """Return facts written before, None if there are none."""
        path = self.folder / name
        if not path.exists():
            return None
        try:
            return dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, RecursionError) as error:
            raise FileError(f"{path} cannot be read ({error}); remove the folder {self.folder}") from error

    def write_facts(self, name: str, facts: Mapping[str, Any]) -> None:
        """Write facts, completely or not at all."""
        (self.folder / name).parent.mkdir(exist_ok=True)
        atomic.write_text(self.folder / name, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")

    def forget(self, name: Name) -> None:
        """Remove all answers of an expert."""
        shutil.rmtree(self.expert_folder(name), ignore_errors=True)

    # Answers

    def parts(self, name: Name) -> Parts:
        """Return the answers of an expert that are there now."""
        return Parts(journal.records(self.expert_folder(name)))


class Parts:
    """Which batches an expert has answered, and what it said about them."""

    def __init__(self, records: Iterable[journal.Record]) -> None:
        self._records: dict[tuple[int, int], list[journal.Record]] = {}
        for record in records:
            self._records.setdefault((record.start, record.stop), []).append(record)

    def __len__(self) -> int:
        return len(self._records)

    def whole(self, start: int, stop: int) -> bool:
        """Whether the expert was asked about all items of a batch at once."""
        return any(record.asked == stop - start for record in self._records.get((start, stop), ()))

    def read(self, start: int, stop: int) -> journal.Part:
        """Return what the expert said about a batch."""
        part = journal.Part(np.full(stop - start, NOT_ASKED, dtype=np.int32))
        for record in self._records.get((start, stop), ()):
            part = part + journal.read(record)
        return part
