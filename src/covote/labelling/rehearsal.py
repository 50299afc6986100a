"""What every worker needs before it can ask a model, loaded once."""

from __future__ import annotations

import importlib
from contextlib import suppress

import numpy as np

from covote.errors import CovoteError
from covote.models.kinds import LIBRARIES, named
from covote.panel import Panel


def rehearse(panel: Panel) -> None:
    """Import the libraries that the models of a panel need, and load compiled loops.

    Processes that are forked from this one find them there. Models they open by themselves: many a model
    starts threads, which a fork would not have. What is missing will be told when a model is opened.
    """
    from covote.models.answer_kernels import best_columns

    best_columns(np.ones((1, 1), dtype=np.float32), 0.0, np.empty(1, dtype=np.int64))
    for model in panel.models:
        with suppress(CovoteError, ImportError):
            library = LIBRARIES.get(named(model).kind)
            if library is not None:
                importlib.import_module(library)
