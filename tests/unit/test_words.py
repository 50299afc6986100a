"""Plain English: patterns that once made the pages read as translated do not come back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "studio").glob("**/*.md")),
]
SOURCES = [
    one
    for top in ("src", "studio/src")
    for end in ("py", "html")
    for one in sorted((ROOT / top).rglob(f"*.{end}"))
]
PATTERNS = {
    "next to, compared with, besides": r"\bbeside\b",
    "by default": r"\bunless given\b",
    "is not a, are not": r"(?<!here )\b(?:is|are) no (?!longer\b|more\b|one\b|better\b|such\b)[a-z]+",
    "this many": r"(?<!not )\bso many\b",
    "your own": r"\bone's own\b",
    "be wrong, make a mistake": r"(?<!\.)\b(?:err|errs|erred|erring)\b",
    "no one, someone, everyone; or an expert": r"(?<![\"'\w.])\b(?:no|some|every|any)body\b(?![\"'\w])",
}
ALLOWED = 10
"""How many lines of the sources may have a pattern: names in the code, for the most part."""


@pytest.mark.parametrize("instead", PATTERNS)
def test_pages_and_sources_use_plain_words(instead):
    assert lines_with(PATTERNS[instead], PAGES) == [], f"write {instead!r}"
    found = lines_with(PATTERNS[instead], SOURCES)
    assert len(found) < ALLOWED, (f"write {instead!r}", found)


def lines_with(pattern, paths):
    return [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.search(pattern, line, re.IGNORECASE)
    ]
