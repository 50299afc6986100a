"""Write docs/cli.md and docs/api.md from the code.

Run `python docs/generate.py` after changing a command or a public docstring; a test compares the result.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import typer

import covote
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


def api_reference() -> str:
    """Return every public name with its signature and docstring."""
    lines = ["# Python interface", "", "The public names of `covote`, from their docstrings.", ""]
    for name in covote.__all__:
        thing = getattr(covote, name)
        if not callable(thing):
            continue
        lines += [f"## `{name}`", ""]
        is_error = inspect.isclass(thing) and issubclass(thing, Exception)
        if not is_error and "_" not in {key[0] for key in inspect.signature(thing).parameters}:
            lines += [f"```python\n{name}{_signature(thing)}\n```", ""]
        lines += ["```text", inspect.getdoc(thing) or "", "```", ""]
        if inspect.isclass(thing) and not is_error:
            lines += [f"- **`{key}`**: {_first_line(member)}" for key, member in _members(thing)]
            lines.append("")
    return "\n".join(lines)


def _members(thing: type) -> list[tuple[str, object]]:
    documented = (
        property,
        classmethod,
        type(_members),
        cached_property,
    )
    return [(k, v) for k, v in vars(thing).items() if not k.startswith("_") and isinstance(v, documented)]


def _signature(thing: object) -> str:
    return str(inspect.signature(thing)).replace("'", "")


def _first_line(member: object) -> str:
    return (inspect.getdoc(member) or "").splitlines()[0]


PAGES = {"cli.md": cli_reference, "api.md": api_reference}

if __name__ == "__main__":
    for page, write in PAGES.items():
        (HERE / page).write_text(write(), encoding="utf-8")
