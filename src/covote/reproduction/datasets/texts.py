"""banking77 and clinc150: short questions, many intents."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from covote.errors import InputError
from covote.reproduction.datasets.data_files import DataFile, Source
from covote.reproduction.datasets.published import BANKING77, CLINC150

TEXT_SETS: dict[str, DataFile] = {"banking77": BANKING77, "clinc150": CLINC150}


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


def load_text(name: str, source: Source) -> TextSet:
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
