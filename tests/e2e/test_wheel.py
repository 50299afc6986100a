"""What a stranger installs: the wheel, with what it requires and nothing else."""

import re
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.pages import PAGES, ROOT, files, run_commands
from tests.wheels import build, check_index_page, install


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(ROOT, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory):
    return install([wheel], tmp_path_factory.mktemp("environment"))


@pytest.fixture
def run(programs, monkeypatch, tmp_path):
    """Return a function that runs a program of that environment in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("PYTHONPATH", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)

    def run_program(name, *arguments):
        ran = subprocess.run([programs / name, *arguments], capture_output=True, text=True)
        assert "Traceback" not in ran.stderr, ran.stderr
        return ran.stdout + ran.stderr

    return run_program


def test_commands_of_the_first_page_print_what_it_shows(run):
    assert run_commands(ROOT / "README.md", lambda *arguments: run("covote", *arguments)) >= 3


def test_python_of_the_first_page_runs_next_to_pandas(wheel, tmp_path_factory, run):
    python = install([wheel], tmp_path_factory.mktemp("pandas"), also=["pandas"]) / "python"
    for name, text in files(ROOT / "README.md").items():
        Path(name).write_text(text, encoding="utf-8")
    examples = f"import doctest; print(doctest.testfile({str(ROOT / 'README.md')!r}, module_relative=False))"
    assert re.search(r"TestResults\(failed=0, attempted=[1-9]", run(python, "-c", examples))


def test_covote_is_that_of_the_wheel_and_extras_are_not_there(run):
    where = run("python", "-c", "import covote; print(covote.__file__)")
    assert "site-packages" in where
    for arguments in ((), ("my-project", "--demo", "--port", "0")):
        assert run("covote", "studio", *arguments) == (
            "covote: the studio is not installed; install it with: pip install covote-studio\n"
        )
    assert "pip install covote-studio" in run("covote", "studio", "--help")


def test_pages_are_shown_without_a_clone(run):
    listed = re.findall(r"^  ([\w-]+)  ", run("covote", "docs"), re.MULTILINE)
    assert set(listed) == {page.stem for page in PAGES[1:]} - {"index", "api"}
    assert run("covote", "docs", "trust").startswith("# How far can I trust a label?\n")


def test_messages_name_nothing_that_the_wheel_lacks(wheel):
    """Texts of the program do not send anyone to a file of the repository; `covote docs PAGE` is there."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        code = {name: archive.read(name).decode() for name in names if name.endswith((".py", ".html"))}
    pages = {Path(name).stem for name in names if name.startswith("covote/docs/")}
    cited = {
        (name, page) for name, text in code.items() for page in re.findall(r"covote docs ([a-z][\w-]+)", text)
    }
    assert {
        (name, page)
        for name, page in cited
        if page not in pages and name not in ("covote/cli/docs.py", "covote/cli/app.py")  # words to look for
    } == set()
    assert {
        (name, line.strip())
        for name, text in code.items()
        for line in text.splitlines()
        if re.search(r"""["'][^"']*\bdocs/[\w-]+\.md""", line) and not line.strip().startswith(("#", '"""'))
    } == set()


def test_a_package_index_shows_the_readme_with_addresses_that_exist(wheel):
    check_index_page(wheel)
