"""Plain English: patterns that once made the pages read as translated do not come back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SOURCES = [*sorted((ROOT / "src").rglob("*.py")), *sorted((ROOT / "src").rglob("*.html"))]
PATTERNS = {
    "next to, compared with, besides": r"\bbeside\b",
    "by default": r"\bunless given\b",
    "is not a, are not": r"(?<!here )\b(?:is|are) no (?!longer\b|more\b|one\b|better\b|such\b)[a-z]+",
    "this many": r"(?<!not )\bso many\b",
    "your own": r"\bone's own\b",
}


@pytest.mark.parametrize("instead", PATTERNS)
def test_pages_and_sources_use_plain_words(instead):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in [*PAGES, *SOURCES]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(PATTERNS[instead], line)
    ]
    assert found == [], f"write {instead!r}"
