"""HTML pages: every template is in one folder and extends one base, with one set of colours."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from covote.colours import DARK, LIGHT
from covote.files.outcome import percent


def render(template: str, contents: Mapping[str, Any]) -> str:
    """Fill a template; what is not marked as safe is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader("covote.files.report", "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(percent=percent, inline=inline)
    return environment.get_template(template).render({"light": LIGHT, "dark": DARK, **contents})


def inline(text: str) -> Any:
    """Turn the `code` and **bold** of a sentence into HTML; everything else is escaped."""
    from markupsafe import Markup, escape

    safe = str(escape(text))
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return Markup(re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", safe))
