"""The documentation is a site that needs no network."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", DOCS, folder],
        capture_output=True,
        text=True,
    )
    assert (built.returncode, built.stderr) == (0, "")
    return folder


def test_pages_load_nothing_from_other_hosts(site):
    loaded = [
        (page.name, address)
        for page in site.rglob("*.html")
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", page.read_text(encoding="utf-8"))
        for address in re.findall(r'(?:src|href)="((?:https?:)?//[^"]*)"', tag)
    ]
    assert loaded == []


def test_formulas_are_typeset(site):
    assert "<math" in (site / "bounds.html").read_text(encoding="utf-8")


def test_the_search_index_is_a_script_that_a_browser_loads_from_a_folder(site):
    assert "authority" in (site / "searchindex.js").read_text(encoding="utf-8")


def test_every_page_is_in_exactly_one_chapter():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = [
        line for block in re.findall(r"```{toctree}\n(.*?)```", index, re.DOTALL) for line in block.split()
    ]
    pages = {page.stem for page in DOCS.glob("*.md")} - {"index"}
    assert {page: listed.count(page) for page in pages} == dict.fromkeys(pages, 1)


def chapters():
    """Return the pages of each chapter of the side bar."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```{toctree}\n:hidden:\n:caption: ([^\n]*)\n\n(.*?)```", index, re.DOTALL)
    return {caption: pages.split() for caption, pages in blocks}


@pytest.mark.parametrize("chapter", ["Start", "Experts", "Labels", "Models", "Understand"])
def test_a_page_that_people_read_from_start_to_end_is_short(chapter):
    for page in chapters()[chapter]:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        words = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL).split()
        assert len(words) <= 1000, (page, len(words))
        assert text.startswith("# "), page


def test_a_word_that_is_no_page_leads_to_the_pages_and_sections_that_have_it(covote):
    found = covote("docs", "--", "--odds")
    assert found.status == 0
    rows = re.findall(r"^  ([\w-]+) +(\S.*)$", found.out, re.MULTILINE)
    assert dict(rows)["cli"].startswith("covote decode")
    have = {page.stem for page in DOCS.glob("*.md") if "--odds" in page.read_text(encoding="utf-8")}
    assert have == {page for page, _ in rows}
    assert "covote docs tutorial" not in found.out
    unknown = covote("docs", "zebra")
    assert unknown.status == 2
    assert "no page is called 'zebra' or has this text" in unknown.err
