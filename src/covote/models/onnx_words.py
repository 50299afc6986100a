"""Labels that an ONNX model gives as text, looked up before they become Python's.

To make a string of every label, only to look it up and to throw it away, takes longer than a small model
needs. onnxruntime can look them up itself: in a second model, made here, of the one operator LabelEncoder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covote.models.protocol import Coded

_STRING, _INT64 = 8, 7  # types of tensors in ONNX files
_INTS, _STRINGS, _INT = 7, 8, 2  # types of attributes
_UNKNOWN = -1


class Words:
    """What a model can be expected to say, as a model that returns positions of labels."""

    def __init__(self, names: Sequence[str]) -> None:
        import onnxruntime

        self._names = tuple(dict.fromkeys(names))
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(
            _label_encoder(self._names), options, providers=["CPUExecutionProvider"]
        )

    def coded(self, labels: Any) -> Coded | NDArray[Any]:
        """Return the positions of labels (an onnxruntime.OrtValue); the labels if one of them has none."""
        bound = self._session.io_binding()
        bound.bind_ortvalue_input("label", labels)
        bound.bind_output("position")
        self._session.run_with_iobinding(bound)
        position: NDArray[np.int64] = bound.get_outputs()[0].numpy()
        if position.ndim == 1 and len(position) and position[position.argmin()] != _UNKNOWN:
            return Coded(position, self._names)
        text: NDArray[Any] = labels.numpy()
        return text


def _label_encoder(names: Sequence[str]) -> bytes:
    """Return an ONNX file (protocol buffers; the numbers of fields are those of onnx.proto)."""
    attributes = [
        {1: "keys_strings", 9: names, 20: _STRINGS},
        {1: "values_int64s", 8: range(len(names)), 20: _INTS},
        {1: "default_int64", 3: _UNKNOWN, 20: _INT},
    ]
    node = {1: "label", 2: "position", 4: "LabelEncoder", 5: attributes, 7: "ai.onnx.ml"}
    graph = {1: node, 2: "words", 11: _tensor("label", _STRING), 12: _tensor("position", _INT64)}
    operators = [{1: "", 2: 17}, {1: "ai.onnx.ml", 2: 3}]
    return b"".join(_fields({1: 8, 7: graph, 8: operators}))


def _tensor(name: str, kind: int) -> dict[int, Any]:
    return {1: name, 2: {1: {1: kind}}}


def _fields(message: dict[int, Any]) -> Iterator[bytes]:
    """Yield the fields of a message: whole numbers, texts, messages, or several of a kind."""
    for number, content in message.items():
        for value in content if isinstance(content, list | tuple | range) else [content]:
            if isinstance(value, int):
                yield _varint(number << 3) + _varint(value)
            else:
                data = value.encode() if isinstance(value, str) else b"".join(_fields(value))
                yield _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Return a whole number in groups of seven bits, the last ones first; negative ones have 64 bits."""
    value &= (1 << 64) - 1
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    groups.append(value)
    return bytes(groups)
