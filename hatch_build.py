"""What a package index shows: addresses of the project, and README.md with absolute links.

The address of the repository is one setting, `repository` in pyproject.toml.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class IndexPages(MetadataHookInterface):
    """Fills in `project.urls` and `project.readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Write the addresses of this version."""
        repository = self.config["repository"].rstrip("/")
        files = f"{repository}/blob/v{metadata['version']}"
        metadata["urls"] = {
            "Homepage": repository,
            "Documentation": f"{files}/docs/index.md",
            "Source": repository,
            "Issues": f"{repository}/issues",
            "Changelog": f"{files}/CHANGELOG.md",
            "Paper": "https://arxiv.org/abs/2005.10848",
        }
        page = Path(self.root, "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {
            "content-type": "text/markdown",
            "text": with_absolute_links(page, files, f"{repository}/raw/v{metadata['version']}"),
        }


def with_absolute_links(page: str, files: str, pictures: str) -> str:
    """Return a page without relative links; pictures are their .png copies, as an index shows no .svg."""
    page = re.sub(r"(!\[[^\]]*\]\()(?!\w+://)([^)]+)\.svg\)", rf"\1{pictures}/\2.png)", page)
    return re.sub(r"(\]\()(?!\w+://|#)([^)]+\))", rf"\1{files}/\2", page)
