"""covote: panels of partial experts that together know every class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .certificate import Certificate
from .decode import decode
from .design import complete, design, select
from .errors import CovoteError
from .labels import Labels
from .panel import Panel
from .simulate import simulate
from .votes import Votes

if TYPE_CHECKING:
    from .learn import PanelClassifier

__version__ = "0.1.0"

__all__ = [
    "Certificate",
    "CovoteError",
    "Labels",
    "Panel",
    "PanelClassifier",
    "Votes",
    "__version__",
    "complete",
    "decode",
    "design",
    "select",
    "simulate",
]


def __getattr__(name: str) -> Any:
    """Load what needs scikit-learn when it is first asked for."""
    if name == "PanelClassifier":
        from .learn import PanelClassifier

        return PanelClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
