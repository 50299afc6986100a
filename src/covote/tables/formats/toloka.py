"""Toloka: the assignments of a pool as TSV, one row for each answer.

crowd-kit's frames (task, worker, label) are plain tables and need no module.
Format: https://toloka.ai/docs/guide/result-of-eval (2024).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from covote.tables.formats.exported_answers import ExportedAnswers

_INPUT, _OUTPUT, _ASSIGNMENT = "INPUT:", "OUTPUT:", "ASSIGNMENT:"
_VALID = ("APPROVED", "SUBMITTED", "ACCEPTED")


def fits(names: Mapping[str, Any]) -> bool:
    """Whether these are the columns of assignments."""
    return f"{_ASSIGNMENT}worker_id" in names and any(name.startswith(_OUTPUT) for name in names)


def read(records: Iterable[Mapping[str, Any]], rows: ExportedAnswers) -> None:
    """Add the assignments that were not rejected or skipped; empty rows stand between pages of tasks.

    The task's id names the item. Toloka leaves it out unless it is asked for; then what was shown does.
    """
    for row in records:
        if not any(row.values()):
            continue
        status = row.get(f"{_ASSIGNMENT}status") or _VALID[0]
        if status not in _VALID:
            rows.drop(f"{status.lower()} assignment")
            continue
        shown, said = (
            {name.removeprefix(kind): value for name, value in row.items() if name.startswith(kind)}
            for kind in (_INPUT, _OUTPUT)
        )
        task = row.get(f"{_ASSIGNMENT}task_id") or " | ".join(filter(None, shown.values()))
        rows.add(task, row[f"{_ASSIGNMENT}worker_id"], said, more=shown)
