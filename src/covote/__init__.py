"""covote: panels of partial experts that together know every class."""

from __future__ import annotations

from .certificate import Certificate
from .errors import CovoteError
from .panel import Panel

__version__ = "0.1.0"

__all__ = ["Certificate", "CovoteError", "Panel", "__version__"]
