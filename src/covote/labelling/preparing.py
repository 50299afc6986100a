"""Before any expert is asked: open the data and the models, and find which kept answers still apply."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.errors import CovoteError, InputError
from covote.labelling.answers_file import AnswersFile
from covote.labelling.batch_questions import changed_data
from covote.labelling.data import (
    Data,
    DataPlace,
    combined_digest,
    content_digest,
    file_digest,
    files_of,
    no_items,
    open_data,
    refuse_missing,
    refuse_repeated,
    stat_digest,
)
from covote.models import ModelExpert, open_expert
from covote.models.entries import entry, redact
from covote.panel import Name, Panel
from covote.tables.column_roles import id_column
from covote.tables.table_file import TableFile

_NO_MATTER = {
    "in_flight",
    "tokens_per_minute",
    "timeout",
    "retries",
    "key_env",
    "input_price",
    "output_price",
}
"""Options of models that do not change their answers."""
Images = Mapping[str, str]
"""A fingerprint of each image by its name, in the order of the items."""


@dataclass(frozen=True)
class OpenedDataset:
    """Data that are open, and the experts to ask about them."""

    place: DataPlace
    data: Data
    ids: Any
    abouts: Sequence[dict[str, Any]]
    """What the answers of each expert depend on."""
    experts: Mapping[int, ModelExpert]
    """The experts that have something left to answer, with their models."""
    unopened: Mapping[int, str]
    """Why experts that are to be asked cannot be opened."""
    stat_digests: Mapping[int, str]
    """What the files of each batch look like, by its first item."""


def prepare(
    data: DataPlace, panel: Panel, models: Path, file: AnswersFile, batch: int, *, refresh: bool, trust: bool
) -> OpenedDataset:
    """Open all that is to be asked, so that mistakes are found before any work; reject stale answers.

    Experts that have answered everything are not opened.
    """
    files = files_of(data.path)
    _refuse_without_model(panel)
    digest = stat_digest(files)
    before = file.fact("data") or {}
    content, images = _content(before, data.path, files, digest)
    data = with_id_column(data)
    source = open_data(data)
    ids = source.ids()
    if source.items == 0:
        raise no_items(data.path)
    if data.id is not None:
        refuse_repeated(ids, data)
    facts = {
        "data": content,
        "columns": None if data.columns is None else list(data.columns),
        "size": None if data.size is None else list(data.size),
    }
    specified = list(zip(panel.names, panel.blocks(), panel.models, strict=True))
    abouts = [{**facts, **_about(*expert, models)} for expert in specified]
    move = _Move(before, images)
    stale, moving = _compare(file, abouts, data.path, refresh, move)
    experts: dict[int, ModelExpert] = {}
    unopened: dict[int, str] = {}
    for i, (name, knows, model) in enumerate(specified):
        if name not in (*stale, *moving) and file.count(name) == source.items:
            continue
        try:
            experts[i] = open_expert(name, knows, model, models, trust=trust)
        except CovoteError as error:
            unopened[i] = str(error)
    with file.transaction():
        for i, (name, knows, _) in enumerate(specified):
            if i in unopened:
                continue
            if name in moving:
                file.move(name, move.source)
            elif name in stale:
                file.forget(name)
            file.add(name, knows, abouts[i])
        file.choose(panel.names)
        if file.fact("items") != [content, data.id]:
            file.write_items(ids.tolist() if isinstance(ids, np.ndarray) else ids.to_pylist())
        about = {"content": content, "stat_digest": digest, "images": images}
        file.write_facts({"data": about, "items": [content, data.id]})
    starts = range(0, source.items, batch)
    stat_digests = {start: stat_digest(source.files(start, start + batch)) for start in starts}
    if stat_digest(files_of(data.path)) != digest:
        raise changed_data(data.path)
    return OpenedDataset(data, source, ids, abouts, experts, unopened, stat_digests)


def with_id_column(place: DataPlace) -> DataPlace:
    """Return where data are, with the column that names the items of a table."""
    if place.path.is_dir() or place.path.suffix.lower() == ".npy":
        return place
    names = TableFile(place.path).names
    place = replace(place, id=id_column(names, place.id))
    refuse_missing(names, place)
    return place


def _refuse_without_model(panel: Panel) -> None:
    without = [name for name, model in zip(panel.names, panel.models, strict=True) if model is None]
    if without:
        raise InputError(
            f"expert {without[0]!r} has no model ({len(without)} of {len(panel)} experts have none); write "
            'model = "..." below its name in the panel file'
        )
    if panel.left.any():
        raise InputError(
            f"expert {panel.names[int(panel.left.argmax())]!r} has left and cannot be asked; remove it, or "
            "its line left, from the panel file"
        )


def _about(name: Name, knows: Sequence[Name], model: Any, models: Path) -> dict[str, Any]:
    """Return what the answers of an expert depend on, apart from the data."""
    try:
        path = entry(model).path(models)
    except InputError:  # said when the expert is opened
        path = None
    options = json.loads(json.dumps(redact(model)))  # as it will come back from the file
    if isinstance(options, dict):
        options = {key: value for key, value in options.items() if key not in _NO_MATTER}
    content = content_digest([path]) if path is not None and path.is_file() else None
    return {"expert": name, "knows": list(knows), "model": options, "content": content}


def join_problems(problems: Sequence[str]) -> str:
    """Return several problems as one message.

    >>> join_problems(["expert 'ann': no file ann.onnx", "expert 'bob': no file bob.onnx"])
    "2 experts cannot be asked: (1) expert 'ann': no file ann.onnx; (2) expert 'bob': no file bob.onnx"
    """
    if len(problems) == 1:
        return problems[0]
    listed = "; ".join(f"({number}) {problem}" for number, problem in enumerate(problems, 1))
    return f"{len(problems)} experts cannot be asked: {listed}"


def _content(before: Mapping[str, Any], path: Path, files: list[Path], digest: str) -> tuple[str, Images]:
    """Return fingerprints of the data, and of the images of a folder; they are read only if they look new."""
    if before.get("stat_digest") == digest:
        return before["content"], before["images"]
    if not path.is_dir():
        return content_digest(files), {}
    contents = [file_digest(file) for file in files]
    names = [file.relative_to(path).as_posix() for file in files]
    return combined_digest(files, contents), {
        name: content.hex() for name, content in zip(names, contents, strict=True)
    }


class _Move:
    """Where each image of a folder was when its answers were kept.

    An image with another name or other content is another item.

    >>> before = {"content": "", "images": {"a": "1", "b": "2", "c": "3"}}
    >>> _Move(before, {"b": "2", "c": "4", "d": "5"}).source.tolist()
    [1, -1, -1]
    """

    def __init__(self, before: Mapping[str, Any], now: Images) -> None:
        was = before.get("images", {})
        self.data = before.get("content") if was and now else None
        place = {image: n for n, image in enumerate(was.items())}
        self.source: NDArray[np.int64] = np.array([place.get(image, -1) for image in now.items()], np.int64)
        self._gone = np.ones(len(was), dtype=bool)
        self._gone[self.source[self.source >= 0]] = False

    def loses(self, file: AnswersFile, expert: Name) -> bool:
        """Whether an answer is about an image that is gone or has changed."""
        return bool((file.asked(expert, len(self._gone)) & self._gone).any())


def _compare(
    file: AnswersFile, abouts: Sequence[dict[str, Any]], data: Path, refresh: bool, move: _Move
) -> tuple[Mapping[Name, str], Sequence[Name]]:
    """Compare what kept answers were about with what is there now.

    Returns the experts whose answers are out of date, with the reason, which is an error unless `refresh`
    says that they are to be asked again, or none of the answers could be used (the reason is empty); and
    those whose answers move with their images.
    """
    stale, moving = {}, []
    for now in abouts:
        name = now["expert"]
        before = file.about(name)
        if before is None or before == now:
            continue
        if not file.has_answers(name):
            stale[name] = ""
            continue
        stays = move.data is not None and before == {**now, "data": move.data}
        if stays:
            moving.append(name)
        if not stays or move.loses(file, name):
            stale[name] = _change(before, now, data)
    lost = [(name, why) for name, why in stale.items() if why]
    if lost and not refresh:
        name, why = lost[0]
        more = f" (and {len(lost) - 1} more experts)" if len(lost) > 1 else ""
        raise InputError(
            f"{file.path} has out-of-date answers from expert {name!r}{more}: {why}. Use --refresh to ask "
            "again only where answers are out of date, or choose another -o"
        )
    return stale, moving


def _change(before: Mapping[str, Any], now: Mapping[str, Any], data: Path) -> str:
    """Return what has changed since an expert answered."""
    changed = next((key for key in now if before.get(key) != now[key]), "expert")
    what = {
        "data": f"the data {data} have changed since",
        "content": "the file of its model has changed since",
        "model": "its model, or an option next to it, has been changed in the panel",
        "knows": "what it knows has been changed in the panel",
    }
    was, now_is = (
        "not given" if value is None else repr(value) for value in (before.get(changed), now[changed])
    )
    return what.get(changed, f"{changed} was {was} and is now {now_is}")
