"""Choose which expert to ask next, and when to stop."""

from covote.asking.answers import ItemAnswers
from covote.asking.asker import Asker
from covote.asking.choosing import Rule, TieOrder, choose
from covote.asking.counting import Elimination, Repair, Vote
from covote.asking.posterior import Posterior
from covote.asking.questions import Question, Questions
from covote.asking.rules import RULES

__all__ = [
    "RULES",
    "Asker",
    "Elimination",
    "ItemAnswers",
    "Posterior",
    "Question",
    "Questions",
    "Repair",
    "Rule",
    "TieOrder",
    "Vote",
    "choose",
]
