"""covote: panels of partial experts that together know every class."""

import sys

if sys.argv[:1] == ["-m"] and not sys.flags.safe_path:
    # `python -m covote`: as with -P, no file in the working folder is taken for a module, not even by the
    # imports below.
    del sys.path[0]

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from covote.asking import Asker
    from covote.covers import complete, design, select
    from covote.decoding import compare, decode, explain
    from covote.decoding.expert_report import expert_report, pair_agreement
    from covote.errors import CovoteError
    from covote.files import decode_file
    from covote.files.report import write_report
    from covote.labelling import label, label_file
    from covote.labels import Labels
    from covote.learn import PanelClassifier
    from covote.panel import Certificate, Panel
    from covote.simulation import simulate
    from covote.tables import ReadOptions
    from covote.votes import Votes

__version__ = "0.1.0"

__all__ = [
    "Asker",
    "Certificate",
    "CovoteError",
    "Labels",
    "Panel",
    "PanelClassifier",
    "ReadOptions",
    "Votes",
    "__version__",
    "compare",
    "complete",
    "decode",
    "decode_file",
    "design",
    "expert_report",
    "explain",
    "label",
    "label_file",
    "pair_agreement",
    "select",
    "simulate",
    "write_report",
]

_PLACES = {
    "Asker": "asking",
    "Certificate": "panel",
    "CovoteError": "errors",
    "Labels": "labels",
    "Panel": "panel",
    "PanelClassifier": "learn",
    "ReadOptions": "tables",
    "Votes": "votes",
    "compare": "decoding",
    "complete": "covers",
    "decode": "decoding",
    "decode_file": "files",
    "design": "covers",
    "expert_report": "decoding",
    "explain": "decoding",
    "label": "labelling",
    "label_file": "labelling",
    "pair_agreement": "decoding",
    "select": "covers",
    "simulate": "simulation",
    "write_report": "files.report",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first used, so that designing panels does not wait for scikit-learn."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return __all__
