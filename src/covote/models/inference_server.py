"""Servers that speak the Open Inference Protocol, version 2, over HTTP: KServe, Triton, MLServer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np
from numpy.typing import NDArray

from covote.errors import ExpertError, InputError
from covote.models.batches import Batch, arrays_for, chunks, size
from covote.models.connections import REQUESTS, Connections, RequestGroup, without_password
from covote.models.kind import SECONDS, TEXT, Kind, Setting, whole

_TYPES = {
    **{f"FP{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"INT{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "BOOL": "bool",
    "BYTES": "object",
}
_NAMES = {numpy: name for name, numpy in _TYPES.items()}


class Server:
    """One model on an inference server.

    Parameters
    ----------
    url
        Where the model is: ``http://host:port/v2/models/NAME``, optionally ``/versions/VERSION`` behind it.
    classes
        What the columns of its probabilities are.
    batch
        The most items in one request.
    in_flight
        How many batches a run sends at a time.
    timeout
        Seconds that a request may take, to the last byte of the answer.
    retries
        How often to ask again after a time-out, a lost connection or a passing failure (429, 5xx).
    input, output
        Which tensors to use, if the server does not say or if there are several.
    """

    def __init__(
        self,
        url: str,
        classes: Sequence[Any] | None = None,
        *,
        batch: int = 256,
        in_flight: int = 4,
        timeout: float = 60.0,
        retries: int = 3,
        input: str | None = None,
        output: str | None = None,
    ) -> None:
        parts = _address(url)
        self.classes = tuple(classes) if classes is not None else None
        self._path = parts.path.rstrip("/")
        self._connections = Connections(url, timeout=timeout, retries=retries)
        self._batch, self.in_flight = batch, in_flight
        self._input, self._output = input, output
        self._inputs: list[dict[str, Any]] | None = None

    def __call__(self, batch: Batch) -> Any:
        """Ask the server, in several requests if the batch is large."""
        group = REQUESTS.get(None) or RequestGroup()
        if self._inputs is None:
            inputs = _nodes(self._connections.json(group, "GET", self._path), "inputs")
            self._inputs = [node for node in inputs if self._input in (None, node.get("name"))]
        return np.concatenate([self._ask_piece(group, piece) for piece in chunks(batch, self._batch)])

    def _ask_piece(self, group: RequestGroup, batch: Batch) -> NDArray[Any]:
        body = {"inputs": self._tensors(batch)}
        response = self._connections.json(group, "POST", f"{self._path}/infer", body)
        outputs = _nodes(response, "outputs")
        if not outputs:
            raise ExpertError("answered without outputs; is it a model that speaks the protocol's version 2?")
        found = _array(self._choose_output(outputs))
        if found.ndim == 0 or len(found) != size(batch):
            # Counted here: what one request has too many could make up for what another has too few.
            raise ExpertError(f"gave answers of shape {found.shape} to a request with {size(batch)} items")
        return found

    def _tensors(self, batch: Batch) -> list[dict[str, Any]]:
        assert self._inputs is not None
        nodes = self._inputs or [{"name": self._input or "input-0"}]
        arrays = arrays_for(batch, [str(node["name"]) for node in nodes])
        return [_tensor(array, node) for array, node in zip(arrays, nodes, strict=True)]

    def _choose_output(self, outputs: list[dict[str, Any]]) -> dict[str, Any]:
        names = [str(node.get("name")) for node in outputs]
        if self._output is not None:
            if self._output not in names:
                raise ExpertError(f"has no output {self._output!r}; it has: {', '.join(names)}")
            return outputs[names.index(self._output)]
        soft = [node for node in outputs if str(node.get("datatype")).startswith("FP")]
        labels = [node for node in outputs if node not in soft]
        for choice in (soft if self.classes else [], labels, soft):
            if len(choice) == 1:
                return choice[0]
        raise ExpertError(
            f'has several outputs; say which one to use with output = "..." ({", ".join(names)})'
        )


def _address(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.hostname and parts.port != 0 and parts.path.startswith("/v2/models/"):
            return parts
    except ValueError:  # a port that is not a number, brackets around nothing
        pass
    shown = without_password(url)
    raise InputError(
        f'model "{shown}" is not understood; the address of a model on an inference server looks like '
        f'http://localhost:8080/v2/models/NAME; for a language model write "chat:{shown}", for a server of '
        f'your own "json:{shown}"'
    )


def _nodes(response: Any, kind: str) -> list[dict[str, Any]]:
    """Return the inputs or outputs that an answer describes."""
    found = (response.get(kind) if isinstance(response, dict) else response) or []
    if not isinstance(found, list) or not all(isinstance(node, dict) and "name" in node for node in found):
        raise ExpertError(f"answered with {kind} that are not a list of tensors, as the protocol has them")
    return found


def _tensor(array: NDArray[Any], node: Mapping[str, Any]) -> dict[str, Any]:
    kind = node.get("datatype") or _NAMES.get("object" if array.dtype.kind in "OUS" else array.dtype.name)
    if not isinstance(kind, str) or kind not in _TYPES:
        raise ExpertError(f"wants {kind} for the input {node['name']!r}, which is not supported")
    if array.ndim == 1 and len(node.get("shape") or ()) == 2:
        array = array.reshape(-1, 1)
    if kind == "BYTES":
        values = [str(value) for value in array.ravel().tolist()]
    else:
        try:
            array = array.astype(_TYPES[kind], copy=False)
        except (TypeError, ValueError) as error:
            raise ExpertError(f"wants numbers ({kind}) for the input {node['name']!r}: {error}") from error
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ExpertError(
                "cannot be sent values that are missing or infinite; fill them in the data first"
            )
        values = array.ravel().tolist()
    return {"name": node["name"], "shape": list(array.shape), "datatype": kind, "data": values}


def _array(node: Mapping[str, Any]) -> NDArray[Any]:
    kind = _TYPES.get(str(node.get("datatype")))
    try:
        if kind is None:
            raise ValueError(f"data type {node.get('datatype')!r}")
        return np.array(node["data"], dtype=kind).reshape(node["shape"])
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ExpertError(f"answered with an output that cannot be read ({error})") from error


def _open(url: str, setting: Setting, **options: Any) -> Server:
    return Server(url, setting.classes, **options)


_OPTIONS = {
    "batch": whole(1),
    "in_flight": whole(1),
    "timeout": SECONDS,
    "retries": whole(0),
    "input": TEXT,
    "output": TEXT,
}
HTTP = Kind("http", _open, _OPTIONS, remote=True)
HTTPS = Kind("https", _open, _OPTIONS, remote=True)
