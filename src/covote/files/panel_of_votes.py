"""The panel of a file of votes without one: everybody knows everything, or what was ever answered."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from covote.errors import InputError
from covote.files.vote_batches import Source
from covote.panel import Panel
from covote.votes.answered_panel import Answered
from covote.votes.vote_columns import find_columns, missing_column


def open_panel(path: str | os.PathLike[str], **options: Any) -> Panel:
    """Return the panel of a file of votes in which every expert knows every class that anybody answered."""
    return _panel(path, everything=True, **options)


def inferred_panel(path: str | os.PathLike[str], **options: Any) -> Panel:
    """Return the panel in which every expert knows exactly the labels it ever gave.

    An expert that knows a class but never answered it in this file is taken not to know it: with many votes
    this is who answers what, with few it is a guess. Names that are all integers become integers. Options are
    `none`, `item`, `expert`, `label` and `rename`, as for :class:`covote.files.VoteFile`.
    """
    return _panel(path, everything=False, **options)


def _panel(
    path: str | os.PathLike[str],
    *,
    everything: bool,
    none: str = "none of mine",
    item: str | None = None,
    expert: str | None = None,
    label: str | None = None,
    rename: Mapping[Any, Any] | None = None,
) -> Panel:
    source = Source(path)
    try:
        columns = find_columns(source.names, (item, expert, label), "auto", None, source.look)
        if columns.answers is None and None in (columns.item, columns.expert, columns.label):
            raise missing_column(columns, source.names, None)
        answered = Answered(columns, none, {str(old): new for old, new in (rename or {}).items()})
        source.refuse_nested(answered.names)
        for batch in source.batches(answered.names):
            answered.add(batch.columns)
        return answered.panel(everything=everything)
    except InputError as error:
        named = str(error).startswith(str(source.path))
        raise InputError(str(error) if named else f"{source.path}: {error}") from error
