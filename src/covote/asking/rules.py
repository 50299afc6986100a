"""Every rule by name: whom to ask next, and when to stop."""

from __future__ import annotations

from typing import Any

from covote.asking.choosing import Rule
from covote.asking.counting import Elimination, Repair, Vote
from covote.asking.posterior import Posterior
from covote.errors import InputError

RULES: dict[str, Any] = {
    "elimination": Elimination,
    "repair": Repair,
    "vote": Vote,
    "posterior": Posterior,
}
"""A new rule is one new class and one line here."""


def rule_of(rule: str | Rule) -> Rule:
    """Return a rule by its name; "posterior" is made from answers, so it has none without them."""
    if not isinstance(rule, str):
        return rule
    if rule not in RULES:
        raise InputError(f"rule {rule!r} is unknown; use one of {', '.join(RULES)}")
    if rule == "posterior":
        raise InputError(
            "the rule 'posterior' is learned from items whose class is known; give "
            "Posterior.learned(votes, truth)"
        )
    made: Rule = RULES[rule]()
    return made
