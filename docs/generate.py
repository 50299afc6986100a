"""Write docs/cli.md from the code.

Run `python docs/generate.py` after changing a command; a test compares the result.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from covote.cli.app import EXAMPLES, app

HERE = Path(__file__).parent


def cli_reference() -> str:
    """Return every command with its arguments and options."""
    group = typer.main.get_command(app)
    lines = [
        "# Command line",
        "",
        "Every command answers `--help`. Mistakes end in one line and exit status 2.",
        "",
    ]
    context = typer.Context(group)
    for name, command in _commands(group, context):
        arguments = [p for p in command.params if p.param_type_name == "argument" and not p.hidden]
        options = [p for p in command.params if p.param_type_name == "option"]
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
        for p in options:
            shown = isinstance(p.default, str | int | float | Path) and not isinstance(p.default, bool)
            default = f" (default: {p.default})" if shown else ""
            lines.append(f"| `{', '.join(p.opts)}` | {p.help}{default} |")
        lines += ["", "```sh", *EXAMPLES[name], "```", ""]
    return "\n".join(lines)


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


PAGES = {"cli.md": cli_reference}

if __name__ == "__main__":
    for page, write in PAGES.items():
        (HERE / page).write_text(write(), encoding="utf-8")
