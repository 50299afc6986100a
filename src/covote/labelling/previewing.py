"""Before language models are paid: their first prompts, and what a run would cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path

from covote.arguments import money
from covote.files.data import DataPlace, id_column, open_data
from covote.models import open_expert
from covote.models.batches import selected
from covote.models.chat import Chat, Usage, rows_of
from covote.models.kind import Trust
from covote.panel import Panel
from covote.tables.batches import Source

_SAMPLE = 100  # items whose prompts are measured


def preview(
    data: Path, panel: Panel, models: Path, id: str | None, columns: Sequence[str] | None, trust: Trust
) -> Iterator[str]:
    """Yield lines about what `covote label` would ask language models, without asking."""
    place = DataPlace(data, id, None if columns is None else tuple(columns))
    if not data.is_dir() and data.suffix.lower() != ".npy":
        place = replace(place, id=id_column(Source(data).names, id))
    items = open_data(place)
    batch = items.read(0, min(_SAMPLE, items.items))
    total = 0.0
    for name, knows, model in zip(panel.names, panel.blocks(), panel.models, strict=True):
        expert = open_expert(name, knows, model, models, trust=trust)
        if not isinstance(expert.model, Chat):
            yield f"Expert {name!r}: {items.items:,} questions, not a language model."
            continue
        rows = rows_of(selected(batch, expert.columns))
        used = reduce(Usage.plus, map(expert.model.estimated, rows))
        tokens, cost = (round(used.tokens_in / len(rows) * items.items), used.cost / len(rows) * items.items)
        total += cost
        yield (
            f"Expert {name!r}: {items.items:,} calls, about {tokens:,} tokens in, cost {money(cost)}. "
            "First prompt:"
        )
        yield expert.model.first_prompt(rows[0])
        yield ""
    yield f"Estimated cost of all: {money(total)}. Nothing was asked."
