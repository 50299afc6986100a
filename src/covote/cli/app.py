"""All commands under one name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperCommand

from covote.cli.ask import ask
from covote.cli.bounds import bounds_command
from covote.cli.check import check
from covote.cli.compare import compare
from covote.cli.complete import complete
from covote.cli.decode import decode
from covote.cli.demo import demo
from covote.cli.design import design
from covote.cli.explain import explain
from covote.cli.label import label
from covote.cli.reproduce import reproduce
from covote.cli.select import select
from covote.cli.simulate import simulate
from covote.cli.studio import studio

app = typer.Typer(
    name="covote",
    help="Design panels of partial experts that together know every class, and decode their votes.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)

COMMANDS: dict[str, Callable[..., None]] = {
    "design": design,
    "check": check,
    "complete": complete,
    "select": select,
    "bounds": bounds_command,
    "decode": decode,
    "compare": compare,
    "explain": explain,
    "label": label,
    "ask": ask,
    "simulate": simulate,
    "studio": studio,
    "demo": demo,
    "reproduce": reproduce,
}
EXAMPLES = {
    "design": ("covote design 10 4 -o panel.toml", "covote design classes.txt 3x4,2x6"),
    "check": ("covote check panel.toml --times 2", "covote check votes.csv --panel panel.toml"),
    "complete": ("covote complete panel.toml 4 -o complete.toml", "covote complete panel.csv 4 --times 2"),
    "select": ("covote select pool.toml -o panel.toml", "covote select pool.csv --times 2"),
    "bounds": ("covote bounds 100 10", "covote bounds 100 10 --json"),
    "decode": (
        "covote decode votes.csv --panel panel.toml -o labels.csv",
        "covote decode - --panel all -o - < votes.csv > labels.csv",
    ),
    "compare": (
        "covote compare votes.csv --panel panel.toml --gold gold.csv",
        "covote compare votes.csv --panel panel.toml --gold gold.csv --json",
    ),
    "explain": (
        "covote explain votes.csv img17 --panel panel.toml",
        "covote explain votes.csv img17 --panel panel.toml --json",
    ),
    "label": (
        "covote label data.parquet --panel panel.toml -o labels.csv",
        "covote label photos --panel panel.toml --size 224x224 -o labels.csv",
    ),
    "ask": ("covote ask votes.csv --panel panel.toml", "covote ask --panel panel.toml --state answers.npz"),
    "simulate": ("covote simulate 10 4", "covote simulate 10 4 --noise similar --json"),
    "studio": ("covote studio", "covote studio --help"),
    "demo": ("covote demo", "covote demo --help"),
    "reproduce": ("covote reproduce --list", "covote reproduce mnist --data-dir data"),
}
"""Two examples of each command, at the foot of its help."""


class Command(TyperCommand):
    """A command whose help has no type beside flags, which take no value."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        found = super().get_params(ctx)
        for parameter in found:
            if getattr(parameter, "is_flag", False):
                parameter.metavar = ""
        return found


for name, command in COMMANDS.items():
    # A blank line ends a paragraph of the help, so that each example has a line of its own.
    examples = "\n\n".join(["Examples:", *(f"`{example}`" for example in EXAMPLES[name])])
    app.command(name, cls=Command, epilog=examples)(command)


def _version(value: bool) -> None:
    if value:
        from covote import __version__

        typer.echo(f"covote {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", help="Print the version.", callback=_version, is_eager=True
    ),
) -> None:
    pass
