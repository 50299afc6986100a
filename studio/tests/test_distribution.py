"""What `pip install covote-studio` gives, and what the studio uses of covote."""

import ast
import os
import re
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from importlib import import_module
from pathlib import Path

import pytest

import covote
from tests.wheels import build, check_index_page, install

STUDIO = Path(__file__).parents[1]
PROJECT = tomllib.loads((STUDIO / "pyproject.toml").read_text())["project"]
PAGES = [STUDIO / "README.md", *sorted((STUDIO / "docs").glob("*.md"))]


def test_it_has_the_version_of_covote_and_requires_exactly_that():
    assert PROJECT["version"] == covote.__version__
    ours = [one for one in PROJECT["dependencies"] if re.match(r"covote\b", one)]
    assert [one.partition("==")[2] for one in ours] == [covote.__version__]


def test_the_library_alone_does_not_require_what_only_the_studio_needs():
    library = tomllib.loads((STUDIO.parent / "pyproject.toml").read_text())["project"]
    extras = " ".join(one for extra in library["optional-dependencies"].values() for one in extra)
    assert not re.search(
        "fastapi|sqlalchemy|uvicorn|argon2|alembic", " ".join(library["dependencies"]) + extras
    )


def is_public(module, name):
    """Whether covote or one of its packages lists a name; of modules, those that list theirs are public."""
    if module == "covote.errors":
        return True
    if module == "covote":
        return name in covote.__all__ or hasattr(import_module(f"covote.{name}"), "__all__")
    return module.count(".") == 1 and name in import_module(module).__all__


def test_the_studio_uses_public_names_of_covote_only():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (STUDIO / "src").rglob("*.py")]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    imported = {
        (node.module, name.name)
        for node in nodes
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "covote"
        for name in node.names
    }
    assert len(imported) > 20
    assert sorted(one for one in imported if not is_public(*one)) == []
    whole = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    assert not [name for name in whole if name.split(".")[0] == "covote"]
    of_atomic = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "atomic"
    }
    assert of_atomic <= set(import_module("covote.atomic").__all__)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(STUDIO, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory):
    library = build(STUDIO.parent, tmp_path_factory.mktemp("library"))
    return install([library, wheel], tmp_path_factory.mktemp("environment"))


def test_a_package_index_shows_the_readme_with_addresses_that_exist(wheel):
    check_index_page(wheel)


def test_both_wheels_serve_the_example_in_an_empty_environment(programs, tmp_path):
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [programs / "covote", "studio", "example", "--demo", "--port", "0"]
    server = subprocess.Popen(
        command, cwd=tmp_path, env={**alone, "PYTHONUNBUFFERED": "1"}, stdout=subprocess.PIPE, text=True
    )
    try:
        link = re.compile(r"once, within a day: (http\S+)")
        address = next(found[1] for line in server.stdout if (found := link.search(line)))
        assert "Continue" in opened(address)
    finally:
        server.terminate()
        server.communicate(timeout=60)


def opened(address):
    """Return a page of a server that begins to listen at some time within two minutes."""
    deadline = time.monotonic() + 120
    while True:
        try:
            with urllib.request.urlopen(address, timeout=120) as answer:
                return answer.read().decode()
        except urllib.error.URLError:
            assert time.monotonic() < deadline, address
            time.sleep(0.05)


def test_its_options_are_in_the_help(programs):
    shown = subprocess.check_output([programs / "covote", "studio", "--help"], text=True)
    assert "--demo" in shown
    assert "--public-url" in shown


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_the_pages_are_a_site(tmp_path):
    docs = STUDIO.parent / "docs"
    built = subprocess.run(
        [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-c", docs,
         STUDIO / "docs", tmp_path],
        capture_output=True, text=True,
    )  # fmt: skip
    assert (built.returncode, built.stderr) == (0, "")
