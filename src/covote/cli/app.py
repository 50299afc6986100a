"""All commands under one name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from covote.arguments import did_you_mean
from covote.errors import InputError

PANELS = {
    "Plan a panel": ("design", "check", "complete", "select", "simulate"),
    "Turn answers into labels": ("start", "decode", "explain", "compare", "ask", "multilabel", "convert"),
    "Label with people or models": ("studio", "label"),
    "Try and study": ("demo", "docs", "bounds"),
}
"""The commands, grouped as in the help. Each is a function in the module of the same name, or a tuple of
functions if it has subcommands."""

COMMANDS = {command: panel for panel, commands in PANELS.items() for command in commands}

STATUS = {
    "check": "Exit status: 0 if every pair is covered, or nothing is wrong with the answers; 1 if pairs are "
    "uncovered; 2 if something is wrong with the answers or the command.",
    "label": "Exit status: 0 if all experts answered; 3 if an expert gave no usable answer; 2 if something "
    "is wrong with the command.",
    "multilabel check": "Exit status: 0 if the panel supports a way of answering, or nothing is wrong with "
    "the answers; 1 if it supports none; 2 if something is wrong with the answers or the command.",
}
"""The exit status of some commands; for the others, 0 means success and 2 a mistake."""

EXAMPLES = {
    "design": ("covote design 10 4 -o panel.toml", "covote design classes.txt 3x4,2x6"),
    "check": (
        "covote check panel.toml --redundancy 2",
        "covote check panel.toml answers.csv --fix names.csv",
    ),
    "complete": (
        "covote complete panel.toml 4 -o complete.toml",
        "covote complete panel.csv 4 --redundancy 2",
    ),
    "select": ("covote select pool.toml -o panel.toml", "covote select pool.csv --redundancy 2"),
    "bounds": ("covote bounds 100 10", "covote bounds 100 10 --json"),
    "start": ("covote start study.xlsx", "covote start study.xlsx -o results"),
    "decode": (
        "covote decode answers.csv --panel panel.toml -o labels.csv",
        "covote decode - --panel all -o - < answers.csv > labels.csv",
    ),
    "compare": (
        "covote compare answers.csv --panel panel.toml --gold gold.csv",
        "covote compare answers.csv --panel panel.toml --gold gold.csv --json",
    ),
    "explain": (
        "covote explain answers.csv img17 --panel panel.toml",
        "covote explain answers.csv img17 --panel panel.toml --json",
    ),
    "label": (
        "covote label data.parquet --panel panel.toml -o labels.csv",
        "covote label photos --panel panel.toml --image-size 224x224 -o labels.csv",
    ),
    "ask": (
        "covote ask answers.csv --panel panel.toml",
        "covote ask answers.csv --panel panel.toml --next 200 -o questions.csv",
    ),
    "simulate": ("covote simulate panel.toml", "covote simulate panel.toml --method authority,em"),
    "multilabel": (
        "covote multilabel check panel.toml",
        "covote multilabel decode answers.csv --panel panel.toml --count 2",
    ),
    "multilabel check": (
        "covote multilabel check panel.toml",
        "covote multilabel check panel.toml answers.csv",
    ),
    "multilabel decode": (
        "covote multilabel decode answers.csv --panel panel.toml --count 2",
        "covote multilabel decode tags.jsonl --panel panel.toml --full -o tags.csv",
    ),
    "convert": (
        "covote convert export.json answers.csv",
        "covote convert panel.toml configurations --shown image",
    ),
    "studio": ("covote studio --demo --open", "covote studio backup -o copy.zip"),
    "demo": ("covote demo", "covote demo -o digits"),
    "docs": ("covote docs trust", "covote docs 'gold items'"),
}
"""Two examples for each command, shown at the end of its help."""


ADVANCED = frozenset(
    (
        "--odds", "--review-until", "--columns", "--save-stats", "--load-stats", "--format",
        "--engine", "--scheduler", "--workers", "--none", "--blank", "--duplicates", "--match",
        "--effort", "--seed", "--new-cost", "--noise", "--batch", "--refresh",
        "--error", "--sign-in-header", "--private-webhooks",
        "--public-url", "--database",
    )
)  # fmt: skip
"""Options that no tutorial uses: the help shows them in a box of their own, the last one."""


def _shown(parameters: list[Any]) -> list[Any]:
    """Show arguments in capitals in the help, and no type next to flags; what few people need comes last."""
    parameters = sorted(parameters, key=lambda parameter: not ADVANCED.isdisjoint(parameter.opts))
    for parameter in parameters:
        if not ADVANCED.isdisjoint(parameter.opts):
            parameter.rich_help_panel = "Advanced"
        if parameter.param_type_name == "argument":
            parameter.metavar = "" if parameter.hidden else parameter.name.removesuffix("_file").upper()
        elif getattr(parameter, "is_flag", False) or parameter.name == "help":
            parameter.metavar = ""
    return parameters


SETTINGS: dict[str, Any] = {
    "pretty_exceptions_enable": False,
    "rich_markup_mode": "markdown",
    "context_settings": {"help_option_names": ["-h", "--help"]},
}


UsageError: type[Exception] = typer.BadParameter.__mro__[1]


@contextmanager
def _in_one_line(context: Any = None) -> Iterator[None]:
    """Raise usage errors as covote's own, which are printed in one line and not in a box."""
    try:
        yield
    except UsageError as error:
        ctx, message = getattr(error, "ctx", None) or context, cast(Any, error).format_message()
        if ctx is None or not message or type(error).__name__ == "NoArgsIsHelpError":
            raise
        text = message[0].lower() + message[1:].rstrip(".")
        if type(error).__name__ == "NoSuchOption":
            option, near = cast(Any, error).option_name, cast(Any, error).possibilities
            text = f"no option {option!r}{did_you_mean(option, near or [])}"
        raise InputError(f"{text}; see {ctx.command_path} --help") from error


class Command(TyperCommand):
    """A command whose help is formatted by `_shown`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments."""
        with _in_one_line(ctx):
            found: list[str] = super().parse_args(ctx, args)
        return found

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return _shown(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line, without hidden arguments and without braces."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx) if piece != "[]"]


class CommandGroup(TyperGroup):
    """The commands of one topic."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters."""
        return _shown(super().get_params(ctx))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; if there is none of this name, suggest one."""
        found = super().get_command(ctx, cmd_name)
        if found is None and not ctx.resilient_parsing:  # otherwise the shell is completing a line
            near = did_you_mean(cmd_name, self.list_commands(ctx))
            raise InputError(f"no command {cmd_name!r}{near}; {ctx.command_path} --help lists all of them")
        return found


class Group(CommandGroup):
    """All commands.

    A command's module is loaded when the command is called: most need only a part of covote.
    """

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        """Read the command."""
        with _in_one_line():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with _in_one_line():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, loaded if it is needed for the first time."""
        if cmd_name in COMMANDS and cmd_name not in self.commands:
            self.commands[cmd_name] = _loaded(cmd_name)
        return super().get_command(ctx, cmd_name)


def _loaded(name: str) -> Any:
    """Return the command of a module, or the section of its commands."""
    module = import_module(f"covote.cli.{name}")
    found = getattr(module, name)
    if isinstance(found, tuple):
        words = str(module.__doc__).partition(": ")[2]
        typer_app = typer.Typer(
            name=name, cls=CommandGroup, help=words[0].upper() + words[1:], epilog=_foot(name),
            add_completion=False, no_args_is_help=True, **SETTINGS,
        )  # fmt: skip
        for function in found:
            inner = function.__name__
            typer_app.command(inner, cls=Command, epilog=_foot(f"{name} {inner}"))(function)
    else:
        typer_app = typer.Typer(add_completion=False, **SETTINGS)
        own = getattr(module, "SETTINGS", {})
        typer_app.command(name, cls=Command, epilog=_foot(name), **own)(found)
    command: Any = typer.main.get_command(typer_app)
    command.rich_help_panel = COMMANDS[name]
    return command


def _foot(name: str) -> str:
    """Return the end of a command's help; blank lines put each example on its own line."""
    examples = ["Examples:", *(f"`{example}`" for example in EXAMPLES[name])]
    return "\n\n".join([*examples, *([STATUS[name]] if name in STATUS else [])])


app = typer.Typer(
    name="covote",
    cls=Group,
    help="Combine the answers of experts who each know only some of the classes.",
    epilog="Start with `covote demo` or `covote docs tutorial`. `covote COMMAND --help` has examples.\n\n"
    "Exit status: 0 success, 1 uncovered pairs (check), 2 a mistake, 3 an expert failed (label), "
    "130 interrupted.",
    no_args_is_help=True,
    **SETTINGS,
)


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
