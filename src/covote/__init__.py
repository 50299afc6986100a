"""covote: panels of partial experts that together know every class."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from covote.covers import complete, design, select
from covote.decoding import decode
from covote.errors import CovoteError
from covote.labels import Labels
from covote.panel import Panel
from covote.panel.certificate import Certificate
from covote.simulation import simulate
from covote.votes import Votes

if TYPE_CHECKING:
    from covote.learn import PanelClassifier

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
        from covote.learn import PanelClassifier

        return PanelClassifier
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
