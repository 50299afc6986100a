"""Torch exported programs (``.pt2``, from ``torch.export.save``)."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from covote.errors import ExpertError, FileError
from covote.models.batches import Batch, arrays_for, in_fixed_batches
from covote.models.kind import COMMON, Kind, Option, Setting


class Torch:
    """An exported program with one input, or one per named column.

    The classes of its columns are given next to the model, or in the file as an extra file ``classes.json``.
    """

    def __init__(self, program: Any, classes: Sequence[Any] | None, output: int | str | None) -> None:
        self._module = program.module()
        self.classes = tuple(classes) if classes is not None else None
        self._output = output
        wanted = set(program.graph_signature.user_inputs)
        nodes = [node for node in program.graph.nodes if node.op == "placeholder" and node.name in wanted]
        self._inputs = [(node.name, node.meta["val"]) for node in nodes]
        first = self._inputs[0][1].shape[0] if self._inputs and len(self._inputs[0][1].shape) else None
        self._rows = first if isinstance(first, int) else None

    def __call__(self, batch: Batch) -> Any:
        """Run the program."""
        arrays = arrays_for(batch, [name for name, _ in self._inputs])
        return in_fixed_batches(self._run, arrays, self._rows)

    def _run(self, arrays: list[NDArray[Any]]) -> Any:
        import torch

        with torch.inference_mode():
            # Copies: a program may change its inputs, and torch does not know arrays that are read-only.
            tensors = [
                torch.tensor(array, dtype=example.dtype)
                for array, (_, example) in zip(arrays, self._inputs, strict=True)
            ]
            output = self._module(*tensors)
        if self._output is not None:
            output = output[self._output]
        elif isinstance(output, list | tuple) and len(output) == 1:
            output = output[0]
        if not isinstance(output, torch.Tensor):
            raise ExpertError(
                f"gave a {type(output).__name__}, not one tensor; say which part to use with output = ... (a "
                "number or a name) next to the model"
            )
        return output.float().numpy() if output.is_floating_point() else output.numpy()


def _open(path: Path, setting: Setting, *, output: int | str | None = None) -> Torch:
    """Load an exported program."""
    import torch

    extra = {"classes.json": ""}
    classes: Any = setting.classes
    log = logging.getLogger("torch.export")
    before, log.disabled = log.disabled, True  # it prints tracebacks for a file that cannot be read
    try:
        program = torch.export.load(path, extra_files=extra)
        if classes is None and extra["classes.json"]:
            classes = json.loads(extra["classes.json"])
            if not COMMON["classes"].accepts(classes):
                raise ValueError("its classes.json is not a list of names")
        return Torch(program, classes, output)
    except (Exception, SystemExit) as error:
        raise FileError(
            f"{path} cannot be loaded as a torch exported program: {error}; write it with "
            "torch.export.save(program, path)"
        ) from error
    finally:
        log.disabled = before


TORCH = Kind(
    "torch",
    _open,
    {"output": Option(lambda value: isinstance(value, int | str), "a number or a name")},
    ("pt2",),
    "torch",
    "torch",
    runs_code="loading a torch program runs any code that its author put there (better, save it as ONNX)",
)
