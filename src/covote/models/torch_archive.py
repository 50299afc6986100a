"""What is inside a torch exported program, looked at before torch loads it.

``torch.export.load`` falls back to full unpickling, evaluates the expressions of shapes, and loads compiled
code. An ordinary program needs none of that: weights are raw bytes, shapes are sums and products of symbols.
"""

from __future__ import annotations

import ast
import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from covote.errors import FileError

_HARMLESS = re.compile(
    r"data/weights/(weight_\d+|\w+_config\.json)|data/constants/(tensor_\d+|\w+_config\.json)|models/\w+\.json"
    r"|data/sample_inputs/\w+\.pt|extra/.*|archive_format|archive_version|byteorder|version|\.data/\w+"
    r"|\.format_version|\.storage_alignment"
)
_CALLS = {
    "Symbol", "Integer", "Rational", "Float", "Add", "Mul", "Pow", "Mod", "Max", "Min", "FloorDiv", "CeilDiv",
    "CleanDiv", "PythonMod", "ModularIndexing", "Where", "IntTrueDiv", "ToFloat", "CeilToInt", "FloorToInt",
    "TruncToInt", "Identity",
}  # fmt: skip


def danger(path: Path) -> str | None:
    """Say what in an exported program could run code when it is loaded; None if nothing could."""
    import torch

    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise FileError(
            f"{path} is no torch exported program ({error}); write it with torch.export.save(program, path)"
        ) from error
    with archive:
        for entry in archive.namelist():
            inside = entry.partition("/")[2]
            if not _HARMLESS.fullmatch(inside):
                return f"a file {inside!r}"
            if inside.endswith("_config.json"):
                settings = json.loads(archive.read(entry)).get("config", {})
                if any(meta.get("use_pickle") for meta in settings.values()):
                    return "pickled objects"
            elif inside.startswith("models/"):
                for text in expressions(json.loads(archive.read(entry))):
                    if not _arithmetic(text):
                        return f"an expression that is no shape ({text[:60]!r})"
            elif inside.endswith(".pt"):
                try:
                    torch.load(io.BytesIO(archive.read(entry)), weights_only=True)
                except Exception:
                    return "sample inputs that are no tensors"
    return None


def expressions(model: Any) -> Iterator[str]:
    """Yield every expression of a serialized graph."""
    if isinstance(model, dict):
        for key, value in model.items():
            if key == "expr_str":
                yield str(value)
            else:
                yield from expressions(value)
    elif isinstance(model, list):
        for value in model:
            yield from expressions(value)


def _arithmetic(text: str) -> bool:
    """Whether an expression is only symbols, numbers, arithmetic and calls of harmless functions.

    >>> _arithmetic("Mul(Integer(2), Symbol('s0', integer=True))"), _arithmetic("open('x').read()")
    (True, False)
    """
    try:
        nodes = list(ast.walk(ast.parse(text, mode="eval")))
    except (SyntaxError, ValueError):
        return False
    allowed = (ast.Expression, ast.Constant, ast.Name, ast.Load, ast.BinOp, ast.UnaryOp, ast.operator,
               ast.unaryop, ast.keyword, ast.Compare, ast.cmpop)  # fmt: skip
    for node in nodes:
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in _CALLS:
                return False
            # The words of a symbol would be evaluated again if they were an expression.
            words = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            if any(isinstance(word, str) and not word.isidentifier() for word in words):
                return False
        elif not isinstance(node, allowed):
            return False
    return True
