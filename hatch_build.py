"""What a package index shows: addresses of the project, and README.md with absolute links.

The address of the repository is one setting, `repository` in pyproject.toml, also for the studio.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from posixpath import normpath
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

TOP = Path(__file__).resolve().parent


class IndexPages(MetadataHookInterface):
    """Fills in `project.urls` and `project.readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Write the addresses of this version."""
        describe(metadata, Path(self.root))


def describe(metadata: dict[str, Any], root: Path) -> None:
    """Write addresses and README of the distribution in a folder of the repository."""
    settings = tomllib.loads((TOP / "pyproject.toml").read_text(encoding="utf-8"))
    repository = settings["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"].rstrip("/")
    folder = root.resolve().relative_to(TOP).as_posix()
    files = f"{repository}/blob/v{metadata['version']}"
    metadata["urls"] = {
        "Homepage": repository,
        "Documentation": f"{files}/{normpath(f'{folder}/docs/index.md')}",
        "Source": repository,
        "Issues": f"{repository}/issues",
        "Changelog": f"{files}/CHANGELOG.md",
        "Paper": "https://arxiv.org/abs/2005.10848",
    }
    page = (root / "README.md").read_text(encoding="utf-8")
    pictures = f"{repository}/raw/v{metadata['version']}"
    metadata["readme"] = {
        "content-type": "text/markdown",
        "text": with_absolute_links(page, folder, files, pictures),
    }


def with_absolute_links(page: str, folder: str, files: str, pictures: str) -> str:
    """Return a page without relative links; pictures are their .png copies, as an index shows no .svg."""

    def absolute(link: re.Match[str]) -> str:
        target = normpath(f"{folder}/{link[3]}")
        place = f"{pictures}/{re.sub('svg$', 'png', target)}" if link[1] else f"{files}/{target}"
        return f"{link[1]}{link[2]}({place})"

    return re.sub(r"(!?)(\[[^\]]*\])\((?!\w+://|#)([^)]+)\)", absolute, page)
