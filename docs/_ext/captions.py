"""Show the name of a file above its content: blocks that begin with a language and a file's name."""

from __future__ import annotations

import re
from typing import Any

_BLOCK = re.compile(r"^```(\w+) ([\w.-]+)$", re.MULTILINE)


def add_captions(app: Any, page: str, source: list[str]) -> None:
    """Turn such a block into one with a caption."""
    source[0] = _BLOCK.sub(r"```{code-block} \1\n:caption: \2\n", source[0])


def setup(app: Any) -> dict[str, bool]:
    """Register the step, before the page is parsed."""
    app.connect("source-read", add_captions)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
