"""The map of the paper names what exists."""

import pkgutil
import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]
PAGES = [FOLDER / "README.md", FOLDER / "statements.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_and_files_that_pages_name_are_there(page):
    text = page.read_text(encoding="utf-8")
    targets = {target for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in target}
    assert {target for target in targets if not (page.parent / target).exists()} == set()
    named = re.findall(r"\b((?:src|tests|benchmarks|examples|paper)/[\w/]+\.\w+)", text)
    assert [name for name in named if not (FOLDER.parent / name).exists()] == []


def map_of_the_paper():
    """Return the rows of the map, each as a list of its cells."""
    page = (FOLDER / "statements.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in rows]


def test_functions_that_the_map_of_the_paper_names_exist():
    names = {name for row in map_of_the_paper() for name in re.findall(r"`(covote(?:\.\w+)+)`", str(row))}
    assert len(names) > 20
    for name in names:
        pkgutil.resolve_name(name)  # imports modules on the way


def test_the_map_of_the_paper_has_a_row_for_every_numbered_item():
    counts = {"Definition": 3, "Theorem": 5, "Lemma": 4, "Corollary": 1, "Figure": 3}
    numbered = {f"{kind} {n + 1}" for kind, count in counts.items() for n in range(count)}
    numbered |= {f"Equation ({n + 1})" for n in range(10)}
    numbered |= {f"Table {n}" for n in ("I", "II", "III", "IV", "V")}
    rows = {row[0].removeprefix("| "): row for row in map_of_the_paper()}
    assert numbered - set(rows) == set()
    # A statement has a function, a test and a page; a table or a figure has the command that makes it.
    for item in numbered:
        assert re.search("`(covote|panel|python -m paper)", rows[item][2]), item
        if item.split()[0] not in ("Table", "Figure"):
            assert re.match("(paper/)?tests/", rows[item][3]), item
            assert ".md)" in rows[item][4], item
