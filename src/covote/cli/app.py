"""All commands under one name."""

from __future__ import annotations

from collections.abc import Callable

import typer

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
for name, command in COMMANDS.items():
    app.command(name)(command)


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
