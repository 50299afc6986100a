"""Write docs/cli.md from the code, and the tables of figures from benchmarks/results/facts.toml.

Run `python docs/generate.py` after changing a command or a figure; a test compares the result.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from covote.cli.app import EXAMPLES, app

HERE = Path(__file__).parent
ROOT = HERE.parent
FIGURES = re.compile(r"(<!-- figures -->\n).*?(?=<!-- end of figures -->)", re.DOTALL)

READING = "How the answers are read"  # the heading of these options in --help
SEVERAL = 3  # an option that this many commands have is described once

FIRST = """\
## Exit status

| status | meaning |
|---|---|
| 0 | success |
| 1 | `check`: pairs of classes are uncovered; `multilabel check`: no way of answering is supported |
| 2 | a mistake in the command or a file; nothing was written. `check`: something is wrong with the answers |
| 3 | `label`: an expert gave no usable answer, or failed three times in a row; the labels were written |
| 130 | interrupted with Ctrl-C |

## Environment variables

| variable | meaning |
|---|---|
| `XDG_CACHE_HOME` | where compiled loops and datasets are kept, in `covote` (default: `~/.cache`) |
| `NUMBA_CACHE_DIR` | another place for compiled loops, if no one else can write to it |
| `COLUMNS`, `NO_COLOR` | width and colours of what is printed |
| a name of your own | the key of a language model, named by `key_env` in the panel |

## Shell completion

`covote --install-completion` sets up completion for bash, zsh, fish or PowerShell, from the next shell on.
"""


def cli_reference() -> str:
    """Return every command with its arguments and options."""
    group = typer.main.get_command(app)
    context = typer.Context(group)
    # covote-studio documents its own options
    commands = {name: command for name, command in _commands(group, context) if name != "studio"}
    options = {
        name: [p for p in command.params if p.param_type_name == "option" and not p.hidden]
        for name, command in commands.items()
    }
    reading = {_row(p): p for p in options["decode"] if p.rich_help_panel == READING}
    counts = Counter(_row(p) for found in options.values() for p in found)
    shared = {_row(p): p for found in options.values() for p in found if counts[_row(p)] >= SEVERAL}
    lines = [
        "# Command line",
        "",
        "Every command answers `--help`. A mistake ends in a one-line message and exit status 2.",
        "",
        *FIRST.splitlines(),
        "",
        "## Reading options",
        "",
        "Every command that reads a table of answers has these:",
        "",
        "| option | meaning |",
        "|---|---|",
        *reading,
        "",
        "## Options of several commands",
        "",
        "| option | meaning |",
        "|---|---|",
        *(row for row in shared if row not in reading),
        "",
    ]
    for name, command in commands.items():
        arguments = [p for p in command.params if p.param_type_name == "argument" and not p.hidden]
        usage = " ".join(["covote", name, *(_metavar(p) for p in arguments)])
        lines += [
            f"## `covote {name}`",
            "",
            f"    {usage} [OPTIONS]",
            "",
            inspect.cleandoc(command.help or ""),
            "",
        ]
        lines += ["| argument or option | meaning |", "|---|---|"]
        lines += [f"| `{_metavar(p)}` | {p.help} |" for p in arguments]
        lines += [row for row in map(_row, options[name]) if row not in reading and row not in shared]
        also = [f"`{p.opts[0]}`" for p in options[name] if _row(p) in shared and _row(p) not in reading]
        if also:
            lines.append(f"| {', '.join(also)} | as in [several commands](#options-of-several-commands) |")
        read = [f"`{p.opts[0]}`" for p in options[name] if _row(p) in reading]
        if read:
            names = "all" if len(read) == len(reading) else ", ".join(read)
            lines.append(f"| {names} | of the [reading options](#reading-options) |")
        lines += ["", "```sh", *EXAMPLES[name], "```", ""]
    return "\n".join(lines)


def _row(option: Any) -> str:
    shown = isinstance(option.default, str | int | float | Path) and not isinstance(option.default, bool)
    default = f" (default: {option.default})" if shown else ""
    choices = f" {option.metavar}" if str(option.metavar).startswith("[") else ""
    names = f"{', '.join(option.opts)}{choices}".replace("|", "\\|")
    return f"| `{names}` | {option.help}{default} |"


def _commands(group: Any, context: typer.Context) -> Iterator[tuple[str, Any]]:
    """Yield all commands with their names; those of a topic have its name in front."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from ((f"{name} {inner}", one) for inner, one in _commands(command, context))
        else:
            yield name, command


def _metavar(argument: Any) -> str:
    name = argument.name.removesuffix("_file").upper()
    return name if argument.required else f"[{name}]"


def results() -> str:
    """Return docs/results.md with all figures, one table for each group."""
    tables: dict[str, list[str]] = {}
    for fact in facts():
        command = f"`{fact['command']}`" if fact["command"] else "[tutorial](hospitals.md)"
        row = [who_answered(fact) + fact["what"][0].upper() + fact["what"][1:], fact["value"], command]
        tables.setdefault(fact["group"], []).append(f"| {' | '.join(row)} |")
    head = ["| what | measured | command |", "|---|---|---|"]
    return with_figures(
        HERE / "results.md",
        [line for group in tables for line in (f"## {group}", "", *head, *tables[group], "")],
    )


def who_answered(fact: dict[str, Any]) -> str:
    """Return the condition of a figure: who answered, whether everyone did, with probabilities or not."""
    if not fact["who"]:
        return ""
    answers = {
        "all": "every expert answers every item",
        "some": "some answer each item",
        "asked": "asked one by one",
    }
    said = [f"**{fact['who']}**", answers.get(fact["answers"], ""), fact["probabilities"]]
    return ", ".join(part for part in said if part) + ". "


def readme() -> str:
    """Return README.md with its figures."""
    rows = [
        f"| {fact['who']} | {fact['what']} | {fact['value']} | {_source(fact['page'])} |"
        for fact in sorted(facts(), key=lambda fact: fact["who"] == "simulated")
        if fact.get("readme")
    ]
    head = ["| who answered | what | measured | source |", "|---|---|---|---|"]
    return with_figures(ROOT / "README.md", [*head, *rows])


def facts() -> list[dict[str, Any]]:
    """Return the figures that covote is judged by."""
    with open(ROOT / "benchmarks" / "results" / "facts.toml", "rb") as file:
        found: list[dict[str, Any]] = tomllib.load(file)["facts"]
    return found


def with_figures(page: Path, lines: list[str]) -> str:
    """Return a page with these lines in the place of its figures."""
    return FIGURES.sub(lambda match: match[1] + "\n".join([*lines, ""]), page.read_text(encoding="utf-8"))


def _source(page: str) -> str:
    """Return the link to a page of results, from README.md."""
    path = (ROOT / "benchmarks" / "results" / f"{page}.md").resolve().relative_to(ROOT.resolve())
    return f"[{path.stem}]({path.as_posix()})"


PAGES = {"cli.md": cli_reference, "results.md": results, "../README.md": readme}

if __name__ == "__main__":
    for page, write in PAGES.items():
        (HERE / page).write_text(write(), encoding="utf-8")
