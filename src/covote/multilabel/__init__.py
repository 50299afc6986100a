"""Items with several labels: answers, labels, and what a panel supports (theory: section 8)."""

from covote.multilabel.deciding import LabelSets, decode
from covote.multilabel.report_files import SetsOutcome, decode_file
from covote.multilabel.reports import Reports
from covote.multilabel.support import Support, supports

__all__ = [
    "LabelSets",
    "Reports",
    "SetsOutcome",
    "Support",
    "decode",
    "decode_file",
    "supports",
]
