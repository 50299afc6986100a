"""ONNX files, run by onnxruntime."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from covote.errors import ExpertError, FileError, InputError
from covote.models.batches import Batch, arrays_for, in_fixed_batches
from covote.models.kind import COMMON, SECONDS, TEXT, TEXTS, Kind, Setting, whole

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

TIMEOUT = 600.0
"""Seconds that a model may take for a batch unless the panel gives it others."""


class Input(NamedTuple):
    """What a model takes: onnxruntime makes these anew whenever it is asked."""

    name: str
    type: str
    shape: tuple[Any, ...]


class Onnx:
    """An ONNX model.

    Of several outputs the one named `output` is used; without it, probabilities whose classes are known, else
    labels. The classes of probabilities are given next to the model, or in the file's metadata under
    ``classes`` (a JSON list), or by the output itself (scikit-learn's ZipMap).
    """

    def __init__(
        self, session: Any, output: str | None, classes: Sequence[Any] | None, timeout: float = TIMEOUT
    ) -> None:
        self._session, self._timeout = session, timeout
        self._inputs = [Input(node.name, node.type, tuple(node.shape or ())) for node in session.get_inputs()]
        if classes is None:
            classes = _classes_in(session.get_modelmeta().custom_metadata_map.get("classes"))
        self.classes = tuple(classes) if classes is not None else None
        self._wanted = [_choose_output(session.get_outputs(), output, classes is not None)]
        first = self._inputs[0].shape[0] if self._inputs and self._inputs[0].shape else None
        self._rows = first if isinstance(first, int) and first > 0 else None

    def __call__(self, batch: Batch) -> Any:
        """Run the model."""
        return in_fixed_batches(self._run, self._arrays(batch), self._rows)

    def _run(self, arrays: list[NDArray[Any]]) -> Any:
        from onnxruntime import RunOptions

        options = RunOptions()
        # A model may loop without end: onnxruntime looks at this flag before every step.
        clock = Timer(self._timeout, setattr, (options, "terminate", True))
        clock.daemon = True
        clock.start()
        try:
            fed = {node.name: array for node, array in zip(self._inputs, arrays, strict=True)}
            return self._session.run(self._wanted, fed, options)[0]
        except Exception as error:
            if not options.terminate:
                raise
            raise ExpertError(
                f"did not answer within {self._timeout:g} s; write timeout = ... next to the model to give "
                "it longer, or batch = ... to ask about fewer items at a time"
            ) from error
        finally:
            clock.cancel()

    def _arrays(self, batch: Batch) -> list[NDArray[Any]]:
        arrays = arrays_for(batch, [node.name for node in self._inputs])
        return [_fit_input(array, node) for array, node in zip(arrays, self._inputs, strict=True)]


def _fit_input(array: NDArray[Any], node: Input) -> NDArray[Any]:
    """Return an array of the type and the rank that an input has."""
    kind = _TYPES.get(node.type)
    if kind is None:
        raise ExpertError(f"has an input {node.name!r} of type {node.type}, which is not supported")
    rank = len(node.shape) if node.shape else array.ndim
    if array.ndim == 1 and rank == 2:
        array = array.reshape(-1, 1)
    return np.ascontiguousarray(array, dtype=kind)


def _choose_output(outputs: Sequence[Any], wanted: str | None, named: bool) -> str:
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


def _classes_in(text: str | None) -> list[Any] | None:
    if not text:
        return None
    try:
        classes = json.loads(text)
    except (ValueError, RecursionError):
        classes = None
    if not COMMON["classes"].accepts(classes):
        raise InputError(
            f"the metadata entry classes is {text[:60]!r}, not a JSON list of names; write classes = [...] "
            "next to the model"
        )
    return list(classes)


def _open(
    path: Path,
    setting: Setting,
    *,
    output: str | None = None,
    threads: int = 0,
    providers: Sequence[str] = ("CPUExecutionProvider",),
    timeout: float = TIMEOUT,
) -> Onnx:
    """Load an ONNX file; `threads` and `providers` are onnxruntime's (0 threads: as many as cores)."""
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # errors are raised; printing them as well helps no one
    try:
        session = onnxruntime.InferenceSession(str(path), options, providers=list(providers))
        return Onnx(session, output, setting.classes, timeout)
    except InputError:
        raise
    except Exception as error:  # names in the file need not be text
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(f"{path} cannot be read as an ONNX file: {reason}") from error


ONNX = Kind(
    "onnx",
    _open,
    {"output": TEXT, "threads": whole(0), "providers": TEXTS, "timeout": SECONDS},
    ("onnx",),
    "onnxruntime",
    "onnx",
)
