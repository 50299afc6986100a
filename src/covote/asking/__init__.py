"""Whom to ask next, and when to stop."""

from covote.asking.asker import RULES, Asker, Question, Questions, Unreachable
from covote.asking.chooser import Choices, Chooser
from covote.asking.elimination import Elimination
from covote.asking.posterior import Posterior
from covote.asking.repair import Repair
from covote.asking.vote import Vote

__all__ = [
    "RULES",
    "Asker",
    "Choices",
    "Chooser",
    "Elimination",
    "Posterior",
    "Question",
    "Questions",
    "Repair",
    "Unreachable",
    "Vote",
]
