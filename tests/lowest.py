"""Print the lowest allowed version of every dependency, as constraints for pip: `make lowest`."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
ONLY_LATEST = {"torch"}
"""Older builds of torch for Linux come with several GB of CUDA."""


def lowest():
    """Return the lower bounds of all distributions of this repository as exact versions."""
    bounds = {}
    for file in [ROOT / "pyproject.toml", *ROOT.glob("*/pyproject.toml")]:
        project = tomllib.loads(file.read_text())["project"]
        extras = project.get("optional-dependencies", {}).values()
        for requirement in [*project["dependencies"], *(r for extra in extras for r in extra)]:
            bound = re.match(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", requirement)
            if bound and bound[1] not in ONLY_LATEST:
                bounds[bound[1]] = bound[2]
    return [f"{name}=={version}" for name, version in sorted(bounds.items())]


if __name__ == "__main__":
    print("\n".join(lowest()))
