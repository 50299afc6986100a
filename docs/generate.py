"""Write docs/cli.md and docs/api.md from the code.

Run `python docs/generate.py` after changing a command or a public docstring; a test compares the result.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import click
import typer

import covote
from covote import cli

HERE = Path(__file__).parent


def cli_reference() -> str:
    """Return every command with its arguments and options."""
    group = typer.main.get_command(cli.app)
    lines = [
        "# Command line",
        "",
        "Every command answers `--help`. Mistakes end in one line and exit status 2.",
        "",
    ]
    for name, command in group.commands.items():
        context = click.Context(command)
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        options = [p for p in command.params if p.param_type_name == "option"]
        usage = " ".join(["covote", name, *(p.make_metavar(context) for p in arguments)])
        lines += [
            f"## `covote {name}`",
            "",
            f"    {usage} [OPTIONS]",
            "",
            inspect.cleandoc(command.help or ""),
            "",
        ]
        lines += ["| argument or option | meaning |", "|---|---|"]
        lines += [f"| `{p.make_metavar(context)}` | {p.help} |" for p in arguments]
        for p in options:
            shown = p.default not in (None, False, ()) and not callable(p.default)
            default = f" (default: {p.default})" if shown else ""
            lines.append(f"| `{', '.join(p.opts)}` | {p.help}{default} |")
        lines.append("")
    return "\n".join(lines)


def api_reference() -> str:
    """Return every public name with its signature and docstring."""
    lines = ["# Python interface", "", "The public names of `covote`, from their docstrings.", ""]
    for name in covote.__all__:
        thing = getattr(covote, name)
        if not callable(thing):
            continue
        lines += [f"## `{name}`", ""]
        is_error = inspect.isclass(thing) and issubclass(thing, Exception)
        if not is_error:
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
        type(inspect.getattr_static(covote.Panel, "redundancy")),
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
