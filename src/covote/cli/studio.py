"""`covote studio`: people and models label together, in a browser. The program is covote-studio."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from covote.errors import MissingDependencyError


def _missing(
    arguments: Annotated[list[str] | None, typer.Argument(metavar="", hidden=True)] = None,
) -> None:
    """Label with people: a web application for your team.

    People and models label items, each asked only about classes they know.

    `pip install covote-studio` installs it.
    """
    raise MissingDependencyError("the studio is not installed; install it with: pip install covote-studio")


is_installed = find_spec("covote_studio") is not None
studio: Any = import_module("covote_studio.command").studio if is_installed else _missing
SETTINGS = (
    {}
    if is_installed
    else {"context_settings": {"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}}
)
"""What is not installed has no options, so any are accepted and the message is about the installation."""
