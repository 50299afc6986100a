"""Whether the votes of a file fit into memory."""

from __future__ import annotations

import os
from pathlib import Path

from covote.errors import TooLargeError

_SURE = 1 << 22  # bytes that the first votes take before the size of all is estimated
_DECODING = 2.0
"""How much more memory the votes of a file take until they are labelled than while they are read."""


def free_memory() -> int | None:
    """Return how many bytes this process can still take; None where the system does not say."""
    found = []
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found += [1024 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    except OSError:
        if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
            found.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    try:  # of a container
        group = Path("/sys/fs/cgroup")
        found.append(int((group / "memory.max").read_text()) - int((group / "memory.current").read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        pass
    return min(found, default=None)


def refuse_too_large(path: Path, taken: int, share: float, free: int | None) -> None:
    """Reject a file if its votes will not fit into memory, given what a share of them has taken.

    `free` are the bytes that were free before.
    """
    needed = int(_DECODING * taken / share)
    if free is None or taken < _SURE or needed <= free:
        return
    raise TooLargeError(
        f"{path} ({_gigabytes(path.stat().st_size)}) needs about {_gigabytes(needed)} of memory, and "
        f"{_gigabytes(free)} are free; label it in parts, from Parquet files: covote decode "
        f"'{path.with_suffix('')}/*.parquet' --panel ... -o labels --engine dask (pip install "
        "'covote[dask]'), or use a machine with more memory"
    )


def _gigabytes(size: int) -> str:
    """Return a size for a message.

    >>> _gigabytes(12_300_000_000), _gigabytes(90_000_000)
    ('12.3 GB', '0.09 GB')
    """
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e9:.2g} GB"
