"""Whom to ask next, and when to stop."""

from covote.asking.asker import RULES, Asker, Question, Questions, Unreachable
from covote.asking.chooser import Choices, Chooser
from covote.asking.counting import Elimination, Repair, Vote
from covote.asking.posterior import Posterior

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
