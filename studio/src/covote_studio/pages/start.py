"""The start page, which is the project until people answer; lists of people; everybody's invitation."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from fastapi import APIRouter, Request
from fastapi.responses import Response
from sqlalchemy import Connection, func, select

from covote_studio.editing import classes
from covote_studio.editing.record import note
from covote_studio.exchange import table_files
from covote_studio.exchange.people_list import read_people, rows_of, text_of
from covote_studio.pages.rendering import (
    Form,
    Owner,
    Project,
    back_to,
    base_address,
    files_of,
    page,
    qr_code,
    text_field,
)
from covote_studio.people import credentials, managing
from covote_studio.rules import Member, Refusal
from covote_studio.storage.schema import answer, item, person

router = APIRouter()
ENOUGH_GOLD = 8
"""Gold items from which the start page calls this step done."""


def is_running(connection: Connection) -> bool:
    """Whether someone has answered."""
    return connection.execute(select(answer.c.id).limit(1)).first() is not None


@router.get("/start")
def start(request: Request, studio: Project, who: Owner) -> Response:
    """Show everything that a project needs before people answer, and what of it is done."""
    with studio.database.read() as connection:
        setup, roster = studio.snapshot(connection)
        gold = connection.execute(
            select(func.count()).select_from(item).where(item.c.gold.is_not(None), item.c.retired.is_(False))
        ).scalar_one()
        first = connection.execute(
            select(item).where(item.c.retired.is_(False)).order_by(item.c.position).limit(8)
        ).all()
        entered = connection.execute(
            select(func.count()).select_from(person).where(person.c.entered.is_not(None))
        ).scalar_one()
        running = is_running(connection)
    experts = [one for one in roster.members if one.known and one.role != "owner"]
    board = roster.coverage if len(roster.classes) > 1 and roster.active else None
    return page(
        request, "start.html", who, setup=setup, roster=roster, gold=gold, first=first, experts=experts,
        entered=entered, running=running, board=board, enough=ENOUGH_GOLD,
    )  # fmt: skip


@router.post("/start")
def begin(studio: Project, who: Owner, form: Form) -> Response:
    """Name the project, and add its classes: typed, or from a file of text."""
    text = text_field(form, "classes")
    for _, sent in files_of(form, "file"):
        text = sent.read(2_000_000).decode("utf-8-sig", "replace")
    new = classes.parse_classes(text)
    with studio.database.write() as connection:
        setup, _ = studio.snapshot(connection)
        name = text_field(form, "name").strip() or setup.name
        managing.change_project(connection, name, setup.instructions, setup.ask, who.id)
        added = classes.add_classes(connection, new, who.id) if new else 0
    return back_to("/start", f"{added} {'class' if added == 1 else 'classes'} added." if new else "Saved.")


@router.post("/people/list")
def take_list(request: Request, studio: Project, who: Owner, form: Form) -> Response:
    """Show how a list of people is read; invite them when that is confirmed."""
    rows = _rows(form)
    _, roster = studio.snapshot()
    people, notes = read_people(rows, roster)
    good = [one for one in people if not one.problems]
    if "confirm" not in form or not good:
        return page(
            request, "people_list.html", who, people=people, notes=notes, good=len(good), roster=roster,
            text=text_of(rows),
        )  # fmt: skip
    made = []
    with studio.database.write() as connection:
        for one in good:
            _, secret = managing.invite(connection, one.name, one.known, by=who.id, email=one.email)
            made.append((one.name, one.email, secret))
        note(connection, who.id, f"Invited {len(made)} people from a list.")
    return _invitations(request, studio, who, made)


def _rows(form: Any) -> list[list[str]]:
    """Return the cells of the list that was pasted, or of the file that was sent."""
    for name, sent in files_of(form, "file"):
        content = sent.read(table_files.LARGEST + 1)
        if PurePosixPath(name).suffix.lower() == ".txt":
            return rows_of(content.decode("utf-8-sig", "replace"))
        table, _ = table_files.read_table(name, content)
        cells = [["" if cell is None else cell for cell in row.values()] for row in table.to_pylist()]
        return [table.column_names, *cells]
    return rows_of(text_field(form, "list"))


@router.post("/invitations")
def invite_again(request: Request, studio: Project, who: Owner) -> Response:
    """Create new links for everyone who has not come in yet; their earlier ones no longer work."""
    waiting = select(person.c.id, person.c.name, person.c.email).where(
        person.c.entered.is_(None), person.c.active.is_(True), person.c.role.in_(("expert", "reviewer"))
    )
    with studio.database.write() as connection:
        rows = connection.execute(waiting.order_by(person.c.id)).all()
        if not rows:
            raise Refusal("Everyone who was invited has come in.", 409)
        made = [
            (row.name, row.email, credentials.replace_secret(connection, "enter", row.id)) for row in rows
        ]
        note(connection, who.id, f"Created invitation links for {', '.join(row.name for row in rows)}.")
    return _invitations(request, studio, who, made)


def _invitations(
    request: Request, studio: Project, who: Member, made: Sequence[tuple[str, str | None, str]]
) -> Response:
    """Show everybody's link, which cannot be shown again, with what to send."""
    setup, _ = studio.snapshot()
    days = f"{credentials.LIFETIME['enter'] / credentials.DAY:.0f} days"
    lines, table = [], io.StringIO()
    writer = csv.writer(table)
    writer.writerow(["name", "e-mail", "link"])
    for name, email, secret in made:
        address = f"{base_address(request)}/enter/{secret}"
        text = (
            f"Dear {name},\n\nplease help to label {setup.name}. This link is yours alone; it works on a "
            f"phone or a computer, for {days}:\n\n{address}\n\nThank you,\n{who.name}"
        )
        mail = f"mailto:{quote(email or '', safe='@')}?subject={quote(setup.name)}&body={quote(text)}"
        lines.append({"name": name, "address": address, "mail": mail, "code": qr_code(address)})
        writer.writerow([table_files.safe_text(one) for one in (name, email or "", address)])
    everything = "".join(f"{one['name']}\t{one['address']}\n" for one in lines)
    return page(request, "invitations.html", who, lines=lines, all=everything, csv=table.getvalue())
