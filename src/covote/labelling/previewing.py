"""Before language models are paid: their first prompts, and what a run would cost."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from pathlib import Path

from covote.arguments import money
from covote.labelling.data import DataPlace, no_items, open_data
from covote.labelling.preparing import with_id_column
from covote.models import open_expert
from covote.models.batches import selected
from covote.models.chat import Chat, Usage, rows_of
from covote.models.kind import Trust
from covote.panel import Panel

SAMPLE = 100
"""Items whose prompts are measured."""


def preview(data: DataPlace, panel: Panel, models: Path, trust: Trust) -> Iterator[str]:
    """Yield lines about what `covote label` would ask language models, without asking."""
    items = open_data(with_id_column(data))
    if items.items == 0:
        raise no_items(data.path)
    batch = items.read(0, min(SAMPLE, items.items))
    total = 0.0
    for name, knows, model in zip(panel.names, panel.blocks(), panel.models, strict=True):
        expert = open_expert(name, knows, model, models, trust=trust)
        if not isinstance(expert.model, Chat):
            yield f"Expert {name!r}: {items.items:,} questions, not a language model."
            continue
        rows = rows_of(selected(batch, expert.columns))
        costs = list(map(expert.model.estimated, rows))
        used = reduce(Usage.plus, costs)
        share = items.items / len(rows)
        calls = round(used.calls * share)
        total += used.cost * share
        yield (
            f"Expert {name!r}: {calls:,} call{'' if calls == 1 else 's'}, about "
            f"{round(used.tokens_in * share):,} tokens in, cost {money(used.cost * share)}. First prompt:"
        )
        first = next((row for row, cost in zip(rows, costs, strict=True) if cost.calls), rows[0])
        yield expert.model.first_prompt(first)
        yield ""
    yield f"Estimated cost of all: {money(total)}. Nothing was asked."
