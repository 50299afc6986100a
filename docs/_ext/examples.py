"""Give the examples of a docstring their heading, which numpydoc wants and our docstrings leave out."""

from __future__ import annotations

from typing import Any


def add_heading(app: Any, what: str, name: str, obj: object, options: Any, lines: list[str]) -> None:
    """Insert "Examples" in front of the first example that follows a section such as "Parameters"."""
    underlined = next((n for n, line in enumerate(lines) if line and not line.strip("-")), None)
    if underlined is None:
        return
    example = next((n for n in range(underlined, len(lines)) if lines[n].startswith(">>>")), None)
    if example is not None:
        lines[example:example] = ["Examples", "--------"]


def setup(app: Any) -> dict[str, bool]:
    """Register the step, before the one that reads the sections."""
    app.connect("autodoc-process-docstring", add_heading, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
