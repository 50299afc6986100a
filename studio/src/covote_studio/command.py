"""`covote studio`: people and models label together, in a browser."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from covote.errors import InputError


def studio(
    project: Annotated[
        Path, typer.Argument(help="Project folder, created if it does not exist; or: backup [PROJECT].")
    ] = Path("studio"),
    backed_up: Annotated[Path | None, typer.Argument(metavar="", hidden=True)] = None,
    database: Annotated[
        str | None,
        typer.Option(
            help="Address of a PostgreSQL database instead of a file in PROJECT.",
            envvar="COVOTE_DATABASE",
            show_envvar=True,
        ),
    ] = None,
    panel: Annotated[
        Path | None, typer.Option(help="Panel file to take classes, experts and models from.")
    ] = None,
    items: Annotated[Path | None, typer.Option(help="Table or folder of pictures to add as items.")] = None,
    several: Annotated[
        bool, typer.Option("--several", help="Serve all projects in the folder PROJECT, with one login.")
    ] = False,
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Allow models that run code: Python modules, pickles, torch programs."),
    ] = False,
    demo: Annotated[bool, typer.Option("--demo", help="Fill an empty project with an example.")] = False,
    host: Annotated[str, typer.Option(help="Address to serve at; 0.0.0.0 for all networks.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to serve at; 0 for any free port.")] = 8000,
    public_url: Annotated[
        str | None, typer.Option(help="Public address that links begin with, https://...")
    ] = None,
    sign_in_header: Annotated[
        str | None,
        typer.Option(help="Header in which a trusted proxy on this machine names the signed-in person."),
    ] = None,
    private_webhooks: Annotated[
        bool,
        typer.Option("--private-webhooks", help="Let webhooks go to programs in this server's own networks."),
    ] = False,
    link: Annotated[
        str | None,
        typer.Option(help="Owner, or administrator of a server of several projects, to print a link for."),
    ] = None,
    browser: Annotated[bool, typer.Option("--open", help="Open a browser at the project.")] = False,
    output_file: Annotated[
        Path | None, typer.Option("-o", "--output", help="The .zip file to write a backup to.")
    ] = None,
) -> None:
    """Label with people: a web application for your team.

    People and models label items, each asked only about classes they know.

    `covote studio backup [PROJECT] -o copy.zip` copies a project, even while it is served.
    """
    if str(project) == "backup":
        from covote_studio.storage.database import back_up

        typer.echo(f"Wrote {back_up(backed_up or Path('studio'), output_file)}.")
        return
    if backed_up is not None:
        raise InputError(f"{project} and {backed_up}: give one folder, or: covote studio backup PROJECT")
    from covote_studio.app import free_port, serve
    from covote_studio.context import adopt, open_studio, owner_link
    from covote_studio.demo import fill
    from covote_studio.projects import ACCOUNTS, Projects

    several = several or (project / ACCOUNTS).exists()
    if several and (panel or items):
        raise InputError(
            f"{project} is a folder of several projects; add --panel and --items to one of them with: covote "
            f"studio {project}/NAME"
        )
    port = free_port(host, port)
    if sign_in_header and host not in ("127.0.0.1", "::1", "localhost"):
        raise InputError(
            f"--sign-in-header with --host {host}: anyone who reaches the studio could say who they are; "
            "leave out --host, so that only a proxy on this machine reaches it"
        )
    if public_url is not None and not public_url.startswith(("https://", "http://")):
        raise InputError(f"cannot parse --public-url {public_url!r}; write https://HOST or http://HOST:PORT")
    public_url = public_url.rstrip("/") if public_url else None
    shown = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    address = f"http://{shown}:{port}"
    if several:
        served = Projects(
            project, database, trust=trust, public_url=public_url, sign_in_header=sign_in_header,
            private_webhooks=private_webhooks,
        )  # fmt: skip
        if demo and not served.open:
            name = served.create("Farm box")
            fill(served.open[name])
        typer.echo(
            f"{len(served.open)} projects in {project} are served at {address} until you press Ctrl-C."
        )
        (_, entrance), *owners = served.first_links(public_url or address, link)
        typer.echo(f"You administer this server; this link signs you in once, within a day: {entrance}")
        for name, owned in owners:
            typer.echo(f"No account owns {name} yet; this link signs its owner in once: {owned}")
        if browser:
            webbrowser.open(entrance)
        serve(served, host, port)
        return
    opened = open_studio(
        project, database, trust=trust, public_url=public_url, sign_in_header=sign_in_header,
        private_webhooks=private_webhooks,
    )  # fmt: skip
    if demo:
        fill(opened)
    for line in adopt(opened, panel, items):
        typer.echo(line)
    entrance = owner_link(opened, public_url or address, link)
    typer.echo(f"The project in {project} is served at {address} until you press Ctrl-C.")
    typer.echo(f"You are its owner; this link signs you in once, within a day: {entrance}")
    if browser:
        webbrowser.open(entrance)
    serve(opened, host, port)
