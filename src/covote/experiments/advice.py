"""Which size R and which decoder to choose: what the measured sections say, in words."""

from __future__ import annotations

from collections.abc import Iterable

from .result import Section


def advice(sections: Iterable[Section]) -> tuple[str, ...]:
    """Return sentences for the top of the page, from the sections that there are."""
    by_name = {section.name: section for section in sections}
    said: list[str] = []
    for name in by_name:
        said += by_name[name].findings[:1]
    return tuple(said) or ("Nothing was run.",)
