"""Hugging Face datasets on disk, as ``Dataset.save_to_disk`` writes them: Arrow files and their features.

Format: ``dataset_info.json``, ``state.json`` and streams of Arrow (datasets 4); read without that library.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from covote import atomic
from covote.arguments import some_of
from covote.errors import FileError

_INFO, _STATE, _SPLITS = "dataset_info.json", "state.json", "dataset_dict.json"
_DTYPES = {"float": "float32", "double": "float64"}  # types that have another name there


def fits(folder: Path) -> bool:
    """Whether a folder holds a dataset, or several splits of one."""
    return (folder / _STATE).is_file() or (folder / _SPLITS).is_file()


def read(folder: Path) -> pa.Table:
    """Return the rows; whole numbers that stand for classes become the names of the classes."""
    if (folder / _SPLITS).is_file():
        splits = _json(folder / _SPLITS).get("splits", [])
        if len(splits) != 1:
            raise FileError(f"{folder} has {len(splits)} splits; give the folder of one: {some_of(splits)}")
        folder = folder / str(splits[0])
    try:
        files = [folder / str(file["filename"]) for file in _json(folder / _STATE)["_data_files"]]
        if not files:
            raise FileError(f"{folder} has no answers: it has no rows")
        table = pa.concat_tables([_arrow(file) for file in files])
        table = _with_names(table, _json(folder / _INFO)["features"])
        table.validate(full=True)
    except (LookupError, TypeError, ValueError, AttributeError, OSError, pa.ArrowException) as error:
        if isinstance(error, FileError):
            raise
        reason = " ".join(str(error).split()).rstrip(".")
        raise FileError(
            f"{folder} is not a complete Hugging Face dataset: {reason}; save it again with save_to_disk"
        ) from error
    return table


def from_parquet(path: Path, metadata: Mapping[bytes, bytes] | None) -> pa.Table | None:
    """Return the rows of a Parquet file of a dataset with classes; None if it is another file."""
    try:
        features = json.loads((metadata or {})[b"huggingface"])["info"]["features"]
        has_classes = any(kind.get("_type") == "ClassLabel" for kind in features.values())
    except (LookupError, TypeError, ValueError, AttributeError):
        return None
    if not has_classes:
        return None
    import pyarrow.parquet as pq

    try:
        return _with_names(pq.read_table(path), features)
    except (LookupError, TypeError, ValueError, AttributeError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise FileError(
            f"{path} is a Hugging Face dataset whose classes cannot be read: {reason}; save it again"
        ) from error


def _with_names(table: pa.Table, features: Mapping[str, Any]) -> pa.Table:
    """Return a table with the names of classes in place of their numbers."""
    for place, name in enumerate(table.column_names):
        kind = features.get(name, {})
        if isinstance(kind, dict) and kind.get("_type") == "ClassLabel":
            table = table.set_column(place, name, _named(table.column(name), kind["names"]))
    return table


def _json(path: Path) -> Any:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(
            f"{path} cannot be read: {' '.join(str(error).split())}; save the dataset again"
        ) from error
    if not isinstance(found, dict):
        raise FileError(f"{path} is not an object of JSON; save the dataset again")
    return found


def _arrow(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_stream(file).read_all()


def _named(column: pa.ChunkedArray, names: list[Any]) -> pa.ChunkedArray:
    """Return the names of classes; -1 means that there is no label."""
    codes = pc.if_else(pc.equal(column, -1), None, column)
    return pa.chunked_array([pa.array(list(map(str, names)), pa.string())]).take(codes)


def write(folder: Path, table: pa.Table, classes: Mapping[str, Sequence[str]]) -> list[Path]:
    """Write a dataset; columns of names of `classes` become whole numbers that stand for classes."""
    features: dict[str, Any] = {}
    for place, name in enumerate(table.column_names):
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if name in classes:
            column = pc.index_in(column.cast(pa.string()), pa.array(classes[name], pa.string())).cast(
                pa.int64()
            )
            features[name] = {"names": list(classes[name]), "_type": "ClassLabel"}
        else:
            features[name] = {"dtype": _DTYPES.get(str(column.type), str(column.type)), "_type": "Value"}
        table = table.set_column(place, name, column)
    data = "data-00000-of-00001.arrow"
    state: dict[str, Any] = {
        "_data_files": [{"filename": data}], "_fingerprint": "0" * 16, "_format_columns": None,
        "_format_kwargs": {}, "_format_type": None, "_output_all_columns": False, "_split": None,
    }  # fmt: skip
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"cannot make the folder {folder}: {error.strerror}; choose another") from error
    with atomic.replacing(folder / data) as temporary, pa.ipc.new_stream(temporary, table.schema) as stream:
        stream.write_table(table)
    atomic.write_text(folder / _INFO, json.dumps({"features": features}, indent=1))
    atomic.write_text(folder / _STATE, json.dumps(state, indent=1))
    return [folder / data, folder / _INFO, folder / _STATE]
