"""HTML pages from the templates of a package."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def render(
    package: str, template: str, filters: Mapping[str, Callable[..., Any]], contents: Mapping[str, Any]
) -> str:
    """Fill a template in the folder `templates` of a package; what is not marked as safe is escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=select_autoescape(default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    return environment.get_template(template).render(contents)
