"""Choose which expert to ask next, and when to stop."""

from covote.asking.answers import Answers
from covote.asking.asker import RULES, Asker, Unreachable
from covote.asking.choosing import Offer, Turns, choose
from covote.asking.counting import Elimination, Repair, Vote
from covote.asking.posterior import Posterior
from covote.asking.questions import Question, Questions

__all__ = [
    "RULES",
    "Answers",
    "Asker",
    "Elimination",
    "Offer",
    "Posterior",
    "Question",
    "Questions",
    "Repair",
    "Turns",
    "Unreachable",
    "Vote",
    "choose",
]
