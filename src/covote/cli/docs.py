"""`covote docs`: the documentation in the terminal, without network access."""

from __future__ import annotations

import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from covote.arguments import did_you_mean
from covote.cli import output
from covote.errors import FileError, InputError

_DIRECTIVE = re.compile(r"^```\{[\w-]+\}.*?^```\n", re.MULTILINE | re.DOTALL)

_FILE = re.compile(r"^```(\w+) ([\w.-]+)$", re.MULTILINE)  # a block with the name of a file


def docs(
    page: Annotated[
        str | None, typer.Argument(help="Page to show, by its name in the list (default: list them).")
    ] = None,
) -> None:
    """Show a page of the documentation."""
    chapters = read_chapters()
    if page is None:
        for chapter, pages in chapters.items():
            output.say(chapter)
            for name in pages:
                output.say(f"  {name:18}  {_title(name)}")
        output.say("\nNext: covote docs tutorial")
        return
    name = page.removeprefix("docs/").removesuffix(".md")
    known = [one for pages in chapters.values() for one in pages]
    if name not in known:
        near = did_you_mean(name, known)
        raise InputError(f"no page {page!r}{near}; covote docs lists all of them")
    text = _FILE.sub(r"`\2`:\n\n```\1", _DIRECTIVE.sub("", _read(name)))
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text, hyperlinks=False))
    else:
        output.say(text.rstrip())


def read_chapters() -> dict[str, list[str]]:
    """Return the pages of each chapter, as the index of the site lists them.

    The Python reference is left out: the site makes it from docstrings, which `help` shows.
    """
    blocks = re.findall(r"^```\{toctree\}\n(.*?)^```", _read("index"), re.MULTILINE | re.DOTALL)
    found = {}
    for block in blocks:
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        caption = next(line.removeprefix(":caption: ") for line in lines if line.startswith(":caption: "))
        found[caption] = [
            line for line in lines if not line.startswith(":") and "/" not in line and line != "api"
        ]
    return found


def _title(name: str) -> str:
    return _read(name).partition("\n")[0].removeprefix("# ")


def _read(name: str) -> str:
    """Return a page: from the package, or from the folder `docs` of a clone."""
    clone = Path(__file__).parents[3] / "docs"
    for folder in (files("covote") / "docs", clone):
        page = folder / f"{name}.md"
        if page.is_file():
            return page.read_text(encoding="utf-8")
    raise FileError(f"the documentation is not installed ({name}.md was not found); reinstall covote")
