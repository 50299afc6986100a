"""Toloka: the assignments of a pool as TSV, one row for each answer.

crowd-kit's frames (task, worker, label) are plain tables and need no module.
Format: https://toloka.ai/docs/guide/result-of-eval (2024).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from covote.tables.formats.rows import Rows

_INPUT, _OUTPUT, _ASSIGNMENT = "INPUT:", "OUTPUT:", "ASSIGNMENT:"


def fits(names: Mapping[str, Any]) -> bool:
    """Whether these are the columns of assignments."""
    return f"{_ASSIGNMENT}worker_id" in names and any(name.startswith(_OUTPUT) for name in names)


def read(records: Iterable[Mapping[str, Any]], rows: Rows) -> None:
    """Add the assignments that were not rejected or skipped.

    The task's id names the item, or the input field where there is only one.
    """
    for row in records:
        status = row.get(f"{_ASSIGNMENT}status") or "APPROVED"
        if status not in ("APPROVED", "SUBMITTED", "ACCEPTED"):
            rows.drop(f"{status.lower()} assignment")
            continue
        shown = {name.removeprefix(_INPUT): value for name, value in row.items() if name.startswith(_INPUT)}
        said = {name.removeprefix(_OUTPUT): value for name, value in row.items() if name.startswith(_OUTPUT)}
        task = row.get(f"{_ASSIGNMENT}task_id")
        if task is None:
            (task,) = shown.values()
        rows.add(task, row[f"{_ASSIGNMENT}worker_id"], said, more=shown)
