"""What pyproject.toml, CONTRIBUTING.md and the messages say about dependencies is the same."""

import re
import tomllib

import pytest

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]


def name_of(requirement):
    return re.match(r"[\w.-]+", requirement)[0]


def test_all_has_every_extra():
    (everything,) = EXTRAS["all"]
    assert set(everything.removeprefix("covote[").removesuffix("]").split(",")) == set(EXTRAS) - {"all"}


def test_every_required_dependency_is_justified():
    table = (ROOT / "CONTRIBUTING.md").read_text().split("## What covote requires")[1].split("\n## ")[0]
    named = {name for row in re.findall(r"^\| ([^|]+) \|", table, re.M) for name in row.split(", ")}
    assert {name_of(r) for r in PROJECT["project"]["dependencies"]} <= named


@pytest.mark.parametrize("folder", ["src", "docs"])
def test_install_lines_name_extras_that_exist(folder):
    files = [p for p in (ROOT / folder).rglob("*") if p.suffix in (".py", ".md", ".html")]
    named = set(re.findall(r"covote\[(\w+)\]", " ".join(p.read_text() for p in files)))
    assert named
    assert named <= set(EXTRAS)


def test_developers_needs_are_not_offered_to_users():
    assert not {"test", "bench"} & set(EXTRAS)
    assert {"test", "bench"} <= set(PROJECT["dependency-groups"])


def test_the_picture_of_the_house_is_the_import_contract():
    text = (ROOT / "CONTRIBUTING.md").read_text().split("## Where things are")[1].split("```")[1]
    rows = [re.split(r" {3,}", line)[0].split() for line in text.strip().splitlines()]
    contract = PROJECT["tool"]["importlinter"]["contracts"][0]
    layers = [re.findall(r"covote\.(\w+)", layer) for layer in contract["layers"]]
    assert [sorted(row) for row in rows] == [sorted(layer) for layer in layers]


def test_every_page_of_results_is_listed_and_shown():
    pages = {page.stem for page in (ROOT / "benchmarks/results").glob("*.md")} - {"README"}
    listed = (ROOT / "benchmarks/results/README.md").read_text()
    site = " ".join(page.read_text() for page in (ROOT / "docs").glob("results-*.md"))
    assert {name for name in pages if f"]({name}.md)" not in listed} == set()
    assert {name for name in pages if f"{{include}} ../benchmarks/results/{name}.md" not in site} == {
        "studio"
    }
