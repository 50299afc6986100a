"""Typeset formulas as MathML, which browsers draw themselves: no script, no font, no request."""

from __future__ import annotations

from typing import Any

from docutils.nodes import SkipNode
from latex2mathml import converter


def convert(formula: str, display: str = "inline") -> str:
    r"""Return a formula as MathML. The converter does not know \arg."""
    return converter.convert(formula.replace(r"\arg\max", r"\text{arg max}"), display=display)


def inline(writer: Any, node: Any) -> None:
    """Write a formula inside a sentence."""
    writer.body.append(convert(node.astext()))
    raise SkipNode


def display(writer: Any, node: Any) -> None:
    """Write a formula in a paragraph of its own, with its number if it has a label."""
    place = f' id="equation-{node["label"]}"' if node.get("label") else ""
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    writer.body.append(f'<div class="math"{place}>{number}{convert(node.astext(), display="block")}</div>')
    raise SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer with Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
