"""What a package index shows about the studio: the hook and the setting of the library, one folder up."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class IndexPages(MetadataHookInterface):
    """Fills in `project.urls` and `project.readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Write the addresses of this version. In an archive of sources they are written already."""
        runpy.run_path(str(Path(self.root).parent / "hatch_build.py"))["describe"](metadata, Path(self.root))
