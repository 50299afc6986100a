"""What a stranger installs: the wheel, with what it requires and nothing else."""

import importlib.metadata as metadata
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.pages import PAGES, ROOT, files, run_commands


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def programs(wheel, tmp_path_factory):
    """Return the folder of programs of an environment with the wheel and what it requires.

    Nothing is downloaded. Required packages are links to those of the environment that runs the tests; what
    the wheel does not require, directly or indirectly, cannot be imported.
    """
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    where = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    )
    packages = Path(where.strip())
    with zipfile.ZipFile(wheel) as archive:
        (about,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        requires = re.findall(r"^Requires-Dist: (.*)$", archive.read(about).decode(), re.MULTILINE)
    for distribution in closure(requires):
        for name in {
            path.parts[0] for path in distribution.files if path.parts[0] not in ("..", "__pycache__")
        }:
            place = packages / name
            if not place.exists():
                place.symlink_to(distribution.locate_file(name))
    install = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
    ]
    subprocess.run([*install, "--disable-pip-version-check", wheel], check=True)
    return environment / "bin"


def closure(requires):
    """Return the installed distributions that these requirements need, those that they need, and so on."""
    found, waiting = {}, [(text, "") for text in requires]
    while waiting:
        text, extra = waiting.pop()
        one = Requirement(text)
        if one.marker is not None and not one.marker.evaluate({"extra": extra}):
            continue
        for wanted in ("", *one.extras):
            if (one.name, wanted) not in found:
                found[one.name, wanted] = metadata.distribution(one.name)
                waiting += [(more, wanted) for more in found[one.name, wanted].requires or ()]
    return found.values()


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


def test_python_of_the_first_page_runs(run):
    for name, text in files(ROOT / "README.md").items():
        Path(name).write_text(text, encoding="utf-8")
    examples = f"import doctest; print(doctest.testfile({str(ROOT / 'README.md')!r}, module_relative=False))"
    assert re.search(r"TestResults\(failed=0, attempted=[1-9]", run("python", "-c", examples))


def test_covote_is_that_of_the_wheel_and_extras_are_not_there(run):
    where = run("python", "-c", "import covote; print(covote.__file__)")
    assert "site-packages" in where
    missing = run("covote", "studio")
    assert missing.startswith("covote: the studio needs ")
    assert missing.endswith("pip install 'covote[studio]'\n")


def test_pages_are_shown_without_a_clone(run):
    listed = re.findall(r"^  ([\w-]+)  ", run("covote", "docs"), re.MULTILINE)
    assert set(listed) == {page.stem for page in PAGES[1:]} - {"index", "api"}
    assert run("covote", "docs", "status").startswith("# What status and confidence mean\n")


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
        (name, page) for name, page in cited if page not in pages and name != "covote/cli/docs.py"
    } == set()
    assert {
        (name, line.strip())
        for name, text in code.items()
        for line in text.splitlines()
        if re.search(r"""["'][^"']*\bdocs/[\w-]+\.md""", line) and not line.strip().startswith(("#", '"""'))
    } == set()
