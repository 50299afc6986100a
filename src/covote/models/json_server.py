"""Your own servers: one request in plain JSON, for servers that follow no standard protocol.

``POST {"items": [{"age": 50}, ...], "classes": ["skin", "eye"]}`` is answered by ``{"labels": ["eye", ...]}``
or by ``{"probabilities": [[0.9, 0.1], ...]}``, one entry per item, in the order of the classes.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import numpy as np

from covote.errors import ExpertError, InputError
from covote.models.batches import Batch, chunks
from covote.models.chat import rows_of
from covote.models.connections import REQUESTS, Connections, RequestGroup, without_password
from covote.models.kind import SECONDS, Kind, Setting, whole
from covote.panel import Name


class JsonServer:
    """A model behind ``json:http://host/path``, which is sent what its expert knows."""

    classes: tuple[Any, ...] = ()

    def __init__(
        self, url: str, knows: tuple[Name, ...], *, batch: int = 256, timeout: float = 60.0, retries: int = 3
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InputError(
                f'cannot parse model "json:{without_password(url)}"; write it as json:http://host/path'
            )
        self._path = parts.path + (f"?{parts.query}" if parts.query else "") or "/"
        self._connections = Connections(url, timeout=timeout, retries=retries)
        self._knows, self._batch = list(knows), batch

    def __call__(self, batch: Batch) -> Any:
        """Ask the server, in several requests if the batch is large."""
        group = REQUESTS.get(None) or RequestGroup()
        found: list[Any] = []
        kinds = set()
        for piece in chunks(batch, self._batch):
            items = [{name: _plain(value) for name, value in row.items()} for row in rows_of(piece)]
            response = self._connections.json(
                group, "POST", self._path, {"items": items, "classes": self._knows}
            )
            kind = next(
                (k for k in ("probabilities", "labels") if isinstance(response, dict) and k in response), None
            )
            rows = response[kind] if kind else None
            if not isinstance(rows, list) or len(rows) != len(items):
                raise ExpertError(
                    f'must answer {{"labels": [...]}} or {{"probabilities": [...]}} with {len(items)} entries'
                )
            kinds.add(kind)
            found += rows
        if len(kinds) > 1:
            raise ExpertError("answered with labels in one request and probabilities in another")
        return found if "labels" in kinds else np.asarray(found, dtype=np.float64)


def _plain(value: Any) -> Any:
    """Return a value of a column as JSON has it; missing numbers are null."""
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _open(place: str, setting: Setting, **options: Any) -> JsonServer:
    return JsonServer(place.removeprefix("json:"), setting.knows, **options)


JSON = Kind("json", _open, {"batch": whole(1), "timeout": SECONDS, "retries": whole(0)}, remote=True)
