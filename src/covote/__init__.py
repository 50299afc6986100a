"""covote: panels of partial experts that together know every class."""

from __future__ import annotations

from .certificate import Certificate
from .decode import decode
from .design import complete, design, select
from .errors import CovoteError
from .labels import Labels
from .panel import Panel
from .simulate import simulate
from .votes import Votes

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "CovoteError",
    "Labels",
    "Panel",
    "Votes",
    "__version__",
    "complete",
    "decode",
    "design",
    "select",
    "simulate",
]
