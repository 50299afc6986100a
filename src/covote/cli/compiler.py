"""The compiler, loaded as fast as it can be."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import typer

import covote

_UNUSED = "scipy.linalg"


def load_compiler() -> None:
    """Load numba without scipy's linear algebra: a tenth of the time that `covote decode` takes to start.

    numba looks for it when its array functions load, in case compiled code multiplies matrices; ours does
    not. It is out of sight only while they load: whoever imports it later gets it as ever.
    """
    if sys.stderr.isatty() and _first_time(Path(covote.__file__).parent / "files"):
        typer.echo("Compiling for this machine: only the first run takes some ten seconds longer.", err=True)
    if _UNUSED in sys.modules:
        return
    sys.modules[_UNUSED] = None  # type: ignore[assignment]  # Python's way to say that it is not there
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[_UNUSED]


def _first_time(folder: Path) -> bool:
    """Whether no compiled loops are kept beside a package, where they would be if there were any."""
    if "NUMBA_CACHE_DIR" in os.environ or not os.access(folder, os.W_OK):
        return False
    return not any(folder.glob("__pycache__/*.nbi"))
