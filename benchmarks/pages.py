"""The pages of results: prose by hand, tables by the benchmarks."""

from __future__ import annotations

import re
from pathlib import Path

TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def replace_table(page: Path, lines: list[str], number: int = 0) -> None:
    """Put a new table into the place of the first one of a page, or of another one by its number."""
    text = page.read_text(encoding="utf-8")
    old = list(TABLE.finditer(text))[number]
    page.write_text(text[: old.start()] + "\n".join([*lines, ""]) + text[old.end() :], encoding="utf-8")
    print(f"wrote the table of {page}; see whether the sentences around it still hold")
