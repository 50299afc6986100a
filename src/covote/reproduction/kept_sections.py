"""Finished sections, kept beside the votes: a page shows those of earlier runs too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from covote import atomic
from covote.errors import FileError
from covote.reproduction.pictures import svg
from covote.reproduction.result import Cell, Grid, Picture, Section


def keep(folder: Path, section: Section, made_by: str) -> Section:
    """Write a section to a file of its own, pictures included; return it as it will be read back.

    `made_by` says what made it (version, seed); sections made otherwise are not shown beside it.
    """
    atomic.make_folder(folder, "--out")
    pictures = tuple(Picture(p.name, svg(p.figure), p.caption) for p in section.pictures)
    data = {
        "made_by": made_by,
        **{name: getattr(section, name) for name in _PLAIN},
        "grids": [
            {
                "title": grid.title,
                "columns": grid.columns,
                "note": grid.note,
                "digits": grid.digits,
                "rows": [[name, [vars(cell) for cell in cells]] for name, cells in grid.rows],
            }
            for grid in section.grids
        ],
        "pictures": [vars(picture) for picture in pictures],
    }
    atomic.write_text(folder / f"{section.name}.json", json.dumps(data, ensure_ascii=False))
    return _section(data)


def kept(folder: Path, name: str, made_by: str) -> Section | None:
    """Read a section back; None if there is none, or if it was made otherwise."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        return _section(data) if data["made_by"] == made_by else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"{path} is not a finished section ({error}); remove it and run again") from error


_PLAIN = ("name", "title", "findings", "differences", "models", "surrogate", "seconds", "left_out")


def _section(data: dict[str, Any]) -> Section:
    grids = tuple(
        Grid(
            grid["title"],
            tuple(grid["columns"]),
            tuple((name, tuple(Cell(**cell) for cell in cells)) for name, cells in grid["rows"]),
            grid["note"],
            grid["digits"],
        )
        for grid in data["grids"]
    )
    plain: dict[str, Any] = {
        name: tuple(data[name]) if name in ("findings", "differences") else data[name] for name in _PLAIN
    }
    return Section(grids=grids, pictures=tuple(Picture(**p) for p in data["pictures"]), **plain)
