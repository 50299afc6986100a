"""Before language models are paid: their first prompts, and what a run would cost."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import NamedTuple

from covote.files.stored_probabilities import table_of
from covote.labelling.data import DataPlace, no_items, open_data
from covote.labelling.preparing import with_id_column
from covote.models import open_expert
from covote.models.batches import select
from covote.models.chat import Chat, Usage, rows_of
from covote.panel import Name, Panel

SAMPLE = 100
"""Items whose prompts are measured."""


class UsageEstimate(NamedTuple):
    """What a run would ask: a prompt, and (expert, calls, tokens in, tokens out, cost) for every expert.

    Experts that are no language models have questions instead of calls, and no tokens.
    """

    expert: Name | None
    prompt: str
    rows: list[tuple[Name, Usage, bool]]
    total: Usage


def preview(data: DataPlace, panel: Panel, models: Path, trust: bool) -> UsageEstimate:
    """Return what `covote label` would ask, without asking."""
    items = open_data(with_id_column(data))
    if items.items == 0:
        raise no_items(data.path)
    batch = items.read(0, min(SAMPLE, items.items))
    shown, prompt, rows, total = None, "", [], Usage()
    for name, knows, model in zip(panel.names, panel.blocks(), panel.models, strict=True):
        if table_of(model) is not None:
            continue
        expert = open_expert(name, knows, model, models, trust=trust)
        if not isinstance(expert.model, Chat):
            rows.append((name, Usage(items.items), False))
            continue
        sample = rows_of(select(batch, expert.columns))
        used = reduce(Usage.plus, map(expert.model.estimated, sample))
        share = items.items / len(sample)
        calls, tokens_in, tokens_out, cost = (number * share for number in used)
        whole = Usage(round(calls), round(tokens_in), round(tokens_out), cost)
        rows.append((name, whole, True))
        total = total.plus(whole)
        if shown is None:
            shown, prompt = name, expert.model.options.question(sample[0])
    return UsageEstimate(shown, prompt, rows, total)
