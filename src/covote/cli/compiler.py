"""The compiler, loaded as fast as it can be."""

from __future__ import annotations

import sys

_UNUSED = "scipy.linalg"


def load_compiler() -> None:
    """Load numba without scipy's linear algebra: a seventh of the time that `covote decode` takes to start.

    numba looks for it when its array functions load, in case compiled code multiplies matrices; ours does
    not. It is out of sight only while they load: whoever imports it later gets it as ever.
    """
    if _UNUSED in sys.modules:
        return
    sys.modules[_UNUSED] = None  # type: ignore[assignment]  # Python's way to say that it is not there
    try:
        import numba.np.arraymath  # noqa: F401
    finally:
        del sys.modules[_UNUSED]
