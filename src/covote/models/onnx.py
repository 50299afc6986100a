"""ONNX files, run by onnxruntime."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.errors import ExpertError, FileError, InputError, MissingDependencyError
from covote.models.batches import in_fixed_batches, matrix, selected
from covote.models.onnx_words import Words
from covote.models.protocol import Batch, Coded

_TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(int16)": np.int16,
    "tensor(int8)": np.int8,
    "tensor(uint8)": np.uint8,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


class Input(NamedTuple):
    """What a model takes: onnxruntime makes these anew whenever it is asked."""

    name: str
    type: str
    shape: tuple[Any, ...]


class Onnx:
    """An ONNX model.

    Of several outputs the one named `output` is used; without it, probabilities whose classes are known, else
    labels. The classes of probabilities are given beside the model, or in the file's metadata under
    ``classes`` (a JSON list), or by the output itself (scikit-learn's ZipMap). Of labels that are text, those
    in `words` are looked up by onnxruntime.
    """

    def __init__(
        self, session: Any, output: str | None, classes: Sequence[Any] | None, words: Sequence[str] = ()
    ) -> None:
        self._session = session
        self._inputs = [Input(node.name, node.type, tuple(node.shape or ())) for node in session.get_inputs()]
        self._names = [node.name for node in self._inputs]
        if classes is None:
            written = session.get_modelmeta().custom_metadata_map.get("classes")
            classes = json.loads(written) if written else None
        self.classes = tuple(classes) if classes is not None else None
        outputs = session.get_outputs()
        self._wanted = [_chosen(outputs, output, classes is not None)]
        text = any(node.name in self._wanted and node.type == "tensor(string)" for node in outputs)
        # Only numbers can be bound to an input.
        bindable = all(node.type != "tensor(string)" for node in self._inputs)
        self._words = Words(words) if text and words and bindable else None
        first = self._inputs[0].shape[0] if self._inputs and self._inputs[0].shape else None
        self._rows = first if isinstance(first, int) and first > 0 else None

    def __call__(self, batch: Batch) -> Any:
        """Run the model."""
        arrays = self._arrays(batch)
        if self._rows is not None:
            return in_fixed_batches(self._run, arrays, self._rows)
        return self._run(arrays) if self._words is None else self._coded(arrays, self._words)

    def _coded(self, arrays: list[NDArray[Any]], words: Words) -> Coded | NDArray[Any]:
        """Run the model, and leave its labels where they are."""
        bound = self._session.io_binding()
        for name, array in zip(self._names, arrays, strict=True):
            bound.bind_cpu_input(name, array)
        bound.bind_output(self._wanted[0])
        self._session.run_with_iobinding(bound)
        return words.coded(bound.get_outputs()[0])

    def _run(self, arrays: list[NDArray[Any]]) -> Any:
        return self._session.run(self._wanted, dict(zip(self._names, arrays, strict=True)))[0]

    def _arrays(self, batch: Batch) -> list[NDArray[Any]]:
        if len(self._inputs) == 1:
            return [_as(matrix(batch), self._inputs[0])]
        if not isinstance(batch, Mapping):
            names = ", ".join(self._names)
            raise ExpertError(
                f"takes several inputs ({names}), but the data have no columns with these names"
            )
        columns = selected(batch, self._names)
        assert isinstance(columns, Mapping)
        return [_as(columns[node.name], node) for node in self._inputs]


def _as(array: NDArray[Any], node: Input) -> NDArray[Any]:
    """Return an array of the type and the rank that an input has."""
    kind = _TYPES.get(node.type)
    if kind is None:
        raise ExpertError(f"has an input {node.name!r} of type {node.type}, which is not supported")
    rank = len(node.shape) if node.shape else array.ndim
    if array.ndim == 1 and rank == 2:
        array = array.reshape(-1, 1)
    return np.ascontiguousarray(array, dtype=kind)


def _chosen(outputs: Sequence[Any], wanted: str | None, named: bool) -> str:
    names = [node.name for node in outputs]
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"the model has no output {wanted!r}; it has: {', '.join(names)}")
        return wanted
    mappings = [node.name for node in outputs if node.type.startswith("seq(map")]
    matrices = [node.name for node in outputs if node.type in ("tensor(float)", "tensor(double)")]
    labels = [node.name for node in outputs if node.type in ("tensor(string)", "tensor(int64)")]
    for choice in (mappings, matrices if named else [], labels, matrices):
        if len(choice) == 1:
            return str(choice[0])
    raise InputError(
        f'the model has several outputs; say which one to use with output = "..." ({", ".join(names)})'
    )


def open_onnx(
    path: Path,
    classes: Sequence[Any] | None,
    words: Sequence[str] = (),
    *,
    output: str | None = None,
    threads: int = 0,
    providers: Sequence[str] = ("CPUExecutionProvider",),
) -> Onnx:
    """Load an ONNX file; `threads` and `providers` are onnxruntime's (0 threads: as many as cores).

    `words` are the labels that it is expected to give.
    """
    try:
        import onnxruntime
    except ImportError as error:
        raise MissingDependencyError(
            "ONNX files need onnxruntime; install it with: pip install 'covote[onnx]'"
        ) from error
    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors; warnings about the graph help nobody here
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=list(providers))
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(f"{path} cannot be read as an ONNX file: {reason}") from error
    return Onnx(session, output, classes, words)
