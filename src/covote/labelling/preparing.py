"""Before anybody is asked: open the data and the models, and see which kept answers still belong to them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from covote.errors import CovoteError, FileError, InputError
from covote.files.data import (
    Data,
    DataPlace,
    combined,
    content_of,
    digest,
    files_of,
    glance,
    id_column,
    open_data,
    refuse_missing,
    refuse_repeated,
    staged,
)
from covote.labelling.journal import ENDING, Answered, Kept, Part, encoded
from covote.labelling.questions import Candidate, changed, opened
from covote.models import Answers
from covote.models.entries import entry, shown
from covote.models.kind import Trust
from covote.panel import Name, Panel
from covote.tables.batches import Source
from covote.votes import NOT_ASKED

Images = Mapping[str, str]
"""A fingerprint of each image by its name, in the order of the items."""
_DATA, _EXPERT = "data.json", "about.json"


@dataclass(frozen=True)
class Prepared:
    """Data that are open, and the experts to ask about them."""

    place: DataPlace
    data: Data
    ids: Any
    experts: Sequence[Candidate]
    seen: Mapping[int, str]
    """What the files of each batch look like, by its first item."""


def prepare(
    data: DataPlace, panel: Panel, models: Path, kept: Kept, batch: int, *, refresh: bool, trust: Trust
) -> Prepared:
    """Open everything once, so that mistakes come to light before work is done; refuse stale answers."""
    files = files_of(data.path)
    candidates = _candidates(panel, models, trust)
    for candidate in candidates:
        opened(candidate, models)
    kept.make()
    _recover(kept, panel.names)
    seen = glance(files)
    before = kept.read_facts(_DATA) or {}
    content, images = _content(before, data.path, files, seen)
    table = not data.path.is_dir() and data.path.suffix.lower() != ".npy"
    if table:
        names = Source(data.path).names
        data = replace(data, id=id_column(names, data.id))
        refuse_missing(names, data)
    facts = {
        "data": content,
        "columns": None if data.columns is None else list(data.columns),
        "size": None if data.size is None else list(data.size),
        "batch": batch,
    }
    was = _known_images(before)
    move = Move(was, images, batch, before["data"]) if images and was else None
    _settle(kept, candidates, facts, data.path, refresh, move)
    kept.write_facts(_DATA, {"data": content, "seen": seen, "images": images})
    path = _staged(kept, data, content) if table else data.path
    place = replace(data, path=path.resolve(), version=content)
    source = open_data(place)
    ids = source.ids()
    if source.items == 0:
        raise InputError(f"{data.path} has no items: there is nothing to label")
    if place.id is not None:
        refuse_repeated(ids, replace(place, path=data.path))
    starts = range(0, source.items, batch)
    looks = {start: glance(source.files(start, start + batch)) for start in starts}
    if glance(files_of(data.path)) != seen:
        raise changed(data.path)
    return Prepared(place, source, ids, candidates, looks)


def _candidates(panel: Panel, models: Path, trust: Trust) -> list[Candidate]:
    without = [name for name, model in zip(panel.names, panel.models, strict=True) if model is None]
    if without:
        raise InputError(
            f"expert {without[0]!r} has no model ({len(without)} of {len(panel)} experts have none); write "
            'model = "..." below its name in the panel file'
        )
    found = []
    for name, knows, model in zip(panel.names, panel.blocks(), panel.models, strict=True):
        try:
            entry(model).refuse_untrusted(trust)
            path = entry(model).path(models)
        except CovoteError as error:
            raise type(error)(f"expert {name!r}: {error}") from error
        content = digest([path]) if path is not None and path.is_file() else None
        facts = [name, list(knows), model, content, str(models.resolve())]
        found.append(Candidate(name, tuple(knows), model, _hash(facts), content, trust))
    return found


def _content(before: Mapping[str, Any], path: Path, files: list[Path], seen: str) -> tuple[str, Images]:
    """Return fingerprints of the data, and of the images of a folder; they are read only if they look new."""
    images = _known_images(before)
    if before.get("seen") == seen and images is not None:
        return before["data"], images
    if not path.is_dir():
        return digest(files), {}
    contents = [content_of(file) for file in files]
    names = [file.relative_to(path).as_posix() for file in files]
    return combined(files, contents), {
        name: content.hex() for name, content in zip(names, contents, strict=True)
    }


def _known_images(before: Mapping[str, Any]) -> Images | None:
    """Return the fingerprints of images that were written down with those of the data, if they are whole."""
    images = before.get("images", {})
    texts = [before.get("data"), *images.values()] if isinstance(images, dict) else [None]
    return images if all(isinstance(text, str) for text in texts) else None


def _staged(kept: Kept, data: DataPlace, content: str) -> Path:
    """Return a table that can be read from any row on; text is turned into Parquet once."""
    target = kept.folder / f"data-{content[:16]}{'' if data.id is None else '-' + _hash(data.id)[:8]}.parquet"
    return target if target.exists() else staged(data.path, target, data.id)


def _settle(
    kept: Kept,
    candidates: Sequence[Candidate],
    facts: Mapping[str, Any],
    data: Path,
    refresh: bool,
    move: Move | None,
) -> None:
    """Compare what kept answers were given for with what is there now; write it down for new ones.

    Answers about images that are still there stay; none is thrown away unless `refresh` says so.
    """
    moving, stale = [], []
    for candidate in candidates:
        where = f"{kept.expert_folder(candidate.name).name}/{_EXPERT}"
        now = {**facts, **_facts(candidate)}
        before = kept.read_facts(where)
        if before is None or before == now:
            continue
        if not len(kept.parts(candidate.name)):
            kept.forget(candidate.name)  # it was never heard, so nothing is lost
            continue
        changed = next((key for key in now if before.get(key) != now[key]), "expert")
        stays = move is not None and before == {**now, "data": move.data}
        if move is not None and stays:
            moving.append((candidate.name, now))
        if move is None or not stays or move.loses(kept.parts(candidate.name)):
            stale.append((candidate, _words(changed, candidate, before, now, data)))
    if stale and not refresh:
        more = f" (and {len(stale) - 1} more experts)" if len(stale) > 1 else ""
        raise InputError(
            f"{kept.folder} keeps answers of expert {stale[0][0].name!r}{more} that no longer fit: "
            f"{stale[0][1]}. --refresh asks again who must be asked again, and keeps all other answers; or "
            "choose another -o"
        )
    for name, now in moving:
        _carry(kept, name, cast(Move, move), now)
    for candidate, _ in stale:
        if candidate.name not in dict(moving):
            kept.forget(candidate.name)
    for candidate in candidates:
        where = f"{kept.expert_folder(candidate.name).name}/{_EXPERT}"
        if kept.read_facts(where) is None:
            kept.write_facts(where, {**facts, **_facts(candidate)})


def _facts(candidate: Candidate) -> dict[str, Any]:
    model = json.loads(json.dumps(shown(candidate.model)))  # as it will come back from the file
    return {
        "expert": candidate.name,
        "knows": list(candidate.knows),
        "model": model,
        "content": candidate.content,
    }


def _words(
    changed: str, candidate: Candidate, before: Mapping[str, Any], now: Mapping[str, Any], data: Path
) -> str:
    what = {
        "data": f"the data {data} have changed since",
        "content": f"its model {entry(candidate.model).place} has changed since",
        "model": "its model, or an option beside it, has been changed in the panel",
        "knows": "what it knows has been changed in the panel",
    }
    was, now_is = (
        "not given" if value is None else repr(value) for value in (before.get(changed), now[changed])
    )
    return what.get(changed, f"{changed} was {was} and is now {now_is}")


def _hash(facts: Any) -> str:
    return hashlib.sha256(json.dumps(facts, ensure_ascii=False, default=str).encode()).hexdigest()


# A folder of images in which some have changed: the answers about all the others stay


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


def _carry(kept: Kept, name: Name, move: Move, facts: Mapping[str, Any]) -> None:
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
    kept.write_facts(f"{new.name}/{_EXPERT}", facts)  # at last: it says that the folder is complete
    folder.rename(old)
    new.rename(folder)
    shutil.rmtree(old)


def _recover(kept: Kept, names: Sequence[Name]) -> None:
    """Finish or undo what a run that was killed had begun to carry over."""
    for name in names:
        folder = kept.expert_folder(name)
        new, old = _beside(folder)
        if not folder.exists() and (new / _EXPERT).exists():
            new.rename(folder)
        shutil.rmtree(new, ignore_errors=True)
        shutil.rmtree(old, ignore_errors=True)


def _beside(folder: Path) -> tuple[Path, Path]:
    """Return the folders of an expert's new and old answers while they are being carried over."""
    return folder.with_name(f"{folder.name}.new"), folder.with_name(f"{folder.name}.old")
