"""The answers in a form of Amazon's crowd HTML elements, for Mechanical Turk and Ground Truth.

Format: https://docs.aws.amazon.com/sagemaker/latest/dg/sms-ui-template-reference.html.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BUTTONS = "buttons"
"""The question that buttons answer which are elements of their own."""


def answers(form: Any) -> dict[str, Any]:
    """Return the answer to each question of a form, which may be wrapped in a list of one.

    >>> answers([{"animal": {"label": "cat"}, "light": {"good": True, "poor": False}}])
    {'animal': 'cat', 'light': ['good']}
    >>> answers({"cat": {"on": False}, "dog": {"on": True}})
    {'buttons': ['dog']}
    """
    if isinstance(form, list):
        (form,) = form
    found: dict[str, Any] = {}
    for name, said in form.items():
        if not isinstance(said, Mapping):
            found[name] = said
        elif "labels" in said or "label" in said:
            found[name] = said["labels"] if "labels" in said else said["label"]
        elif said and all(isinstance(ticked, bool) for ticked in said.values()):
            chosen = [option for option, ticked in said.items() if ticked]
            if len(said) > 1:
                found[name] = chosen
            else:
                found.setdefault(BUTTONS, []).extend(name if option == "on" else option for option in chosen)
        else:
            found[name] = said
    return found
