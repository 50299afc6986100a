"""`covote docs`: the documentation in the terminal, without network access."""

from __future__ import annotations

import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from covote.arguments import did_you_mean
from covote.cli import terminal
from covote.errors import FileError, InputError

_DIRECTIVE = re.compile(r"^```\{[\w-]+\}.*?^```\n", re.MULTILINE | re.DOTALL)

_FILE = re.compile(r"^```(\w+) ([\w.-]+)$", re.MULTILINE)  # a block with the name of a file


def docs(
    page: Annotated[
        str | None,
        typer.Argument(
            help="Page to show, by its name in the list, or a word to search for (default: the list)."
        ),
    ] = None,
) -> None:
    """Show a page of the documentation, or search for a word."""
    chapters = read_chapters()
    if page is None:
        for chapter, pages in chapters.items():
            terminal.say(chapter)
            for name in pages:
                terminal.say(f"  {name:18}  {_title(name)}")
        terminal.say("\nNext: covote docs tutorial")
        return
    name = page.removeprefix("docs/").removesuffix(".md")
    known = [page_name for pages in chapters.values() for page_name in pages]
    if name not in known:
        found = find_pages(page, known)
        if not found:
            near = did_you_mean(name, known)
            raise InputError(
                f"no page is called {page!r} or has this text{near}; covote docs lists all pages"
            )
        terminal.say(f"Pages and sections with {page!r}:")
        for page_name, sections in found:
            terminal.say(f"  {page_name:18}  {'; '.join(sections[:3])}")
        terminal.say(f"\nNext: covote docs {found[0][0]}")
        return
    text = _FILE.sub(r"`\2`:\n\n```\1", _DIRECTIVE.sub("", _read(name)))
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text, hyperlinks=False))
    else:
        terminal.say(text.rstrip())


def find_pages(word: str, pages: list[str]) -> list[tuple[str, list[str]]]:
    """Return the pages that have a word, with the sections that have it, the most frequent first."""
    found = []
    for name in pages:
        frequency: dict[str, int] = {}
        section, example = "", False
        for line in _read(name).splitlines():
            example ^= line.startswith("```")  # a comment in an example is not a heading
            heading = None if example else re.match(r"#+ (.*)", line)
            section = heading[1].replace("`", "") if heading else section
            count = line.lower().count(word.lower()) + (3 if heading and word.lower() in line.lower() else 0)
            if count:
                frequency[section] = frequency.get(section, 0) + count
        if frequency:
            found.append(
                (sum(frequency.values()), name, sorted(frequency, key=lambda section: -frequency[section]))
            )
    return [(name, sections) for _, name, sections in sorted(found, key=lambda entry: -entry[0])]


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
