"""Wheels, and environments in which there is nothing else."""

import email
import importlib.metadata as metadata
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

from packaging.requirements import Requirement
from readme_renderer import markdown

ROOT = Path(__file__).parents[1]


def build(project, folder):
    """Build the wheel of the project in a folder, and return its place."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    before = set(folder.glob("*.whl"))
    subprocess.run(command, cwd=project, check=True, capture_output=True)
    (built,) = set(folder.glob("*.whl")) - before
    return built


def install(wheels, environment, also=()):
    """Return the folder of programs of a new environment with some wheels and what they require.

    Nothing is downloaded. Required packages are links to those of the environment that runs the tests; what
    the wheels do not require, directly or indirectly, cannot be imported, except for packages in `also`.
    """
    venv.create(environment, symlinks=True)
    python = environment / "bin" / "python"
    where = subprocess.check_output(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], text=True
    )
    packages = Path(where.strip())
    ours = {wheel.name.partition("-")[0].replace("_", "-") for wheel in wheels}
    for distribution in closure([*also, *(one for wheel in wheels for one in requirements(wheel))]):
        if distribution.name in ours:
            continue
        for name in {
            path.parts[0] for path in distribution.files if path.parts[0] not in ("..", "__pycache__")
        }:
            place = packages / name
            if not place.exists():
                place.symlink_to(distribution.locate_file(name))
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index", "--no-deps"]
    alone = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([*pip, "--disable-pip-version-check", *wheels], check=True, env=alone)
    return environment / "bin"


def requirements(wheel):
    """Return what a wheel says that it requires."""
    return metadata_of(wheel).get_all("Requires-Dist")


def metadata_of(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (about,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return email.message_from_string(archive.read(about).decode())


def check_index_page(wheel):
    """Check that what a package index shows has a picture, and links only to files that exist."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    repository = settings["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
    shown = metadata_of(wheel)
    urls = dict(one.split(", ") for one in shown.get_all("Project-URL"))
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= set(urls)

    html = markdown.render(shown.get_payload())
    links = re.findall(r'(?:href|src)="(?!#)([^"]*)"', html)  # newer versions link headings to themselves
    pictures = re.findall(r'src="([^"]*)"', html)
    assert pictures
    assert [one for one in pictures if not re.search(r"/raw/.*\.png$", one)] == []
    assert [link for link in links if not link.startswith("https://")] == []
    for link in [*links, *urls.values()]:
        file = re.fullmatch(re.escape(repository) + r"/(?:blob|raw)/v[\d.]+/(.*)", link)
        assert file or not link.startswith(f"{repository}/") or link == f"{repository}/issues", link
        assert not file or (ROOT / file[1]).is_file(), link


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
