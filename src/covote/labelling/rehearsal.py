"""What every worker needs before it can ask a model, loaded once."""

from __future__ import annotations

import importlib
from contextlib import suppress

from covote.errors import CovoteError
from covote.models.entries import entry
from covote.panel import Panel


def rehearse(panel: Panel) -> None:
    """Import the libraries that the models of a panel need.

    Processes that are forked from this one find them there. Models they open by themselves: many a model
    starts threads, which a fork would not have. What is missing will be told when a model is opened.
    """
    for model in panel.models:
        with suppress(CovoteError, ImportError):
            importlib.import_module(entry(model).kind.library or "covote.models")
