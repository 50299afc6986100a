"""Every page of the studio as people see it: a project of sixty pictures, and how to get to each page.

The blood cells are drawn here; what people answered about them is drawn by chance, with a person who does not
know what they are listed for, an absence, a flag, a decision and a merge.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter
from sqlalchemy import insert, select, update

from covote.panel import Panel
from covote_studio.answers.worker import Worker
from covote_studio.context import Studio, open_studio
from covote_studio.editing import classes, items
from covote_studio.editing.guide import add_example
from covote_studio.exchange import importing
from covote_studio.people import credentials, managing
from covote_studio.people.expertise import count_answers, set_known
from covote_studio.people.roster import touch
from covote_studio.projects import Projects, join
from covote_studio.storage import media
from covote_studio.storage.schema import (
    ANSWERED,
    NONE,
    UNSURE,
    answer,
    answer_columns,
    assignment,
    class_,
    item,
    person,
)

CELLS = {
    "neutrophil": "a nucleus of three to five lobes",
    "lymphocyte": "small, round and dark; hardly any cytoplasm",
    "monocyte": "large, with a nucleus like a kidney",
    "eosinophil": "two lobes, coarse orange granules",
    "basophil": "dark granules that hide the nucleus",
    "erythroblast": "a small, dense nucleus in pink",
    "immature granulocyte": "large, round nucleus, fine granules",
    "platelet clump": "small purple bodies in a heap",
}
PEOPLE = {
    "Amara Okafor": (0, 1, 2, 3), "Bram de Wit": (0, 1, 4, 5), "Chen Li": (2, 3, 4, 5),
    "Dilara Yilmaz": (0, 2, 6, 7), "Elena Rossi": (1, 3, 6, 7), "Felix Braun": (4, 5, 6, 7),
    "Grace Mensah": (0, 3, 5, 6), "Hugo Martin": (1, 2, 4, 7), "Ines Costa": (0, 4, 6, 1),
    "Jonas Berg": (2, 5, 7, 3), "Keiko Tanaka": (0, 1, 2, 3, 4, 5), "Liam Walsh": (3, 4, 6, 7),
}  # fmt: skip
WEAK, AWAY, NEW = "Liam Walsh", "Jonas Berg", "Hugo Martin"
"""Who does not know eosinophils, who is away, and who has not come in yet."""
BIRDS = (
    "robin", "blackbird", "song thrush", "mistle thrush", "fieldfare", "redwing", "wren", "dunnock",
    "great tit", "blue tit", "coal tit", "marsh tit", "willow tit", "long-tailed tit", "nuthatch",
    "treecreeper", "goldcrest", "firecrest", "chaffinch", "brambling", "greenfinch", "goldfinch", "siskin",
    "linnet", "bullfinch", "hawfinch", "house sparrow", "tree sparrow", "starling", "magpie", "jay",
    "jackdaw", "rook", "carrion crow", "raven", "wood pigeon", "collared dove", "green woodpecker",
    "great spotted woodpecker", "black woodpecker",
)  # fmt: skip
_DAY = 86_400.0


def cell(kind: int, rng: np.random.Generator) -> bytes:
    """Draw a blood cell of a kind among red cells, as a JPEG file."""
    wide, tall = 640, 480
    scene = Image.new("RGB", (wide, tall), (240, 226, 222))
    pen = ImageDraw.Draw(scene)
    for _ in range(26):
        x, y, r = rng.uniform(0, wide), rng.uniform(0, tall), rng.uniform(34, 44)
        if abs(x - wide / 2) + abs(y - tall / 2) > 150:
            pen.ellipse((x - r, y - r, x + r, y + r), fill=(222, 150, 146))
            pen.ellipse((x - r / 2, y - r / 2, x + r / 2, y + r / 2), fill=(232, 180, 174))
    x, y = wide / 2 + rng.uniform(-40, 40), tall / 2 + rng.uniform(-25, 25)
    purple = (96 + int(rng.integers(20)), 62, 134 + int(rng.integers(20)))

    def spot(dx: float, dy: float, r: float, colour: tuple[int, int, int]) -> None:
        pen.ellipse((x + dx - r, y + dy - r, x + dx + r, y + dy + r), fill=colour)

    def granules(count: int, size: float, reach: float, colour: tuple[int, int, int]) -> None:
        for _ in range(count):
            turn, far = rng.uniform(0, 2 * np.pi), reach * np.sqrt(rng.uniform())
            spot(far * np.cos(turn), far * np.sin(turn), size, colour)

    body = (80, 58, 98, 82, 76, 60, 100, 0)[kind]
    if body:
        spot(0, 0, body, ((233, 206, 222), (205, 196, 232), (200, 196, 214), (243, 205, 190),
                          (214, 190, 222), (238, 176, 178), (214, 196, 226))[kind])  # fmt: skip
    if kind == 0:
        for n in range(int(rng.integers(3, 6))):
            spot(40 * np.cos(1.3 * n), 34 * np.sin(1.3 * n), 25, purple)
    elif kind == 1:
        spot(-3, 2, 49, purple)
    elif kind == 2:
        spot(0, 0, 62, purple)
        spot(48, -22, 34, (200, 196, 214))
    elif kind == 3:
        granules(150, 5, 72, (226, 122, 70))
        spot(-30, -6, 30, purple)
        spot(30, 8, 30, purple)
    elif kind == 4:
        spot(0, 0, 44, purple)
        granules(90, 8, 66, (66, 40, 104))
    elif kind == 5:
        spot(4, -4, 27, (70, 40, 96))
    elif kind == 6:
        spot(-10, 4, 68, purple)
        granules(130, 3, 90, (170, 90, 150))
    else:
        granules(60, 11, 70, (150, 116, 178))
    packed = io.BytesIO()
    scene.filter(ImageFilter.GaussianBlur(1.2)).save(packed, "JPEG", quality=85)
    return packed.getvalue()


MODEL = """
import numpy

def say(batch):
    grey, pixels = batch.mean(-1), batch.astype(int)
    dark, black = (grey < 118).mean((1, 2)), (grey < 85).mean((1, 2))
    orange = (pixels[..., 0] - pixels[..., 2] > 90).mean((1, 2))
    round_one = (dark > 0.0225) & (dark < 0.0265)
    names = numpy.select([orange > 0.01, black > 0.02, round_one, (dark > 0.015) & (dark < 0.03)],
                         ["eosinophil", "basophil", "lymphocyte", "neutrophil"], "")
    return [name or None for name in names.tolist()]
"""


def clinic(folder: Path) -> Studio:
    """Open a project of sixty blood cells, twelve people and a model, in which most have answered."""
    studio = open_studio(folder, trust=True)
    rng, now = np.random.default_rng(4), time.time()
    names = list(CELLS)
    (folder / "blood_model.py").write_text(MODEL, encoding="utf-8")
    panel = Panel.from_blocks(
        names,
        [["neutrophil", "lymphocyte", "eosinophil", "basophil"]],
        ["classifier"],
        models=["python:blood_model:say"],
    )
    with studio.database.write() as connection:
        classes.add_classes(connection, [classes.NewClass(*one) for one in CELLS.items()], 1)
        managing.change_project(
            connection, "Blood films", "Say which cell is in the middle. Ignore the red cells around it.",
            "everybody", 1,
        )  # fmt: skip
        managing.adopt_panel(connection, panel, str(folder), 1)
        ids = [row.id for row in connection.execute(select(class_).order_by(class_.c.id))]
        for name, known in PEOPLE.items():
            managing.invite(connection, name, [ids[k] for k in known], may_tick=name == "Keiko Tanaka", by=1)
        truth = rng.permutation(np.arange(60) % 8)
        rows = []
        for n, kind in enumerate(truth.tolist(), 1):
            _, place = media.keep(connection, studio.folder, f"film-{n:03}.jpg", cell(kind, rng))
            rows.append((f"film-{n:03}.jpg", "image", place, ids[kind] if n <= 16 else None))
        connection.execute(update(class_).where(class_.c.id == ids[0]).values(picture=rows[0][2]))
        add_example(connection, ids[0], "Three lobes, joined by threads.", rows[3][2], False, 1)
        add_example(connection, ids[0], "Only two lobes: an eosinophil.", rows[7][2], True, 1)
    importing.add_items(studio.database, rows, 1)
    with studio.database.write() as connection:
        _, roster = studio.snapshot(connection)
        listed = connection.execute(select(item.c.id).order_by(item.c.position)).scalars().all()
        lines = []
        for member in roster.members:
            known = PEOPLE.get(member.name)
            if known is None or member.name == NEW:
                continue
            count = {AWAY: 21, WEAK: 44}.get(member.name, 60 if member.id % 3 else 52)
            times = now - 6.2 * _DAY + np.sort(rng.integers(0, 6, count)) * _DAY
            times = times + rng.uniform(0, 0.02, count) * _DAY
            for n in range(count):
                kind = int(truth[n])
                chance = rng.random()
                if member.name == WEAK and kind == 3:
                    said = ids[4]
                elif chance < 0.05:
                    said = ids[known[int(rng.integers(len(known)))]]
                elif chance < 0.08:
                    said = UNSURE
                else:
                    said = ids[kind] if kind in known else NONE
                lines.append({"item_id": listed[n], "person_id": member.id, "options_id": member.options_id,
                              "via": "page", **answer_columns(said), "key": f"drawn-{member.id}-{n:03}",
                              "at": float(times[n])})  # fmt: skip
            connection.execute(
                update(person).where(person.c.id == member.id)
                .values(cursor=count, entered=float(times[0]), active=member.name != AWAY)
            )  # fmt: skip
        lines.sort(key=lambda one: one["at"])
        connection.execute(insert(answer), lines)
        connection.execute(
            insert(assignment),
            [{"item_id": one["item_id"], "person_id": one["person_id"], "state": ANSWERED, "expires": 0.0}
             for one in lines],
        )  # fmt: skip
        for member in roster.members:
            count_answers(connection, member.id)
        items.flag_item(connection, listed[20], 4, "Two things at once")
        managing.adjudicate(connection, listed[30], ids[int(truth[30])], 1, "Clearly visible")
        touch(connection)
    worker = Worker(studio.database, studio.folder, studio.rosters, True)
    while worker.step():
        pass
    studio.results.refresh()
    return studio


def aviary(folder: Path) -> Studio:
    """Open a project of forty classes and a few texts, in which the owner knows every class."""
    studio = open_studio(folder)
    with studio.database.write() as connection:
        new = [classes.NewClass(name, "a description" if n % 3 else "") for n, name in enumerate(BIRDS)]
        classes.add_classes(connection, new, 1)
        managing.change_project(connection, "Forty birds", "", "everybody", 1)
        set_known(connection, 1, [row.id for row in connection.execute(select(class_))], 1)
    notes = [
        f"Note {n}: on the feeder at dusk, brown above, with a pale stripe over the eye." for n in range(30)
    ]
    importing.add_items(studio.database, [(f"note-{n}", "text", text, None) for n, text in enumerate(notes)])
    return studio


def town(folder: Path) -> Projects:
    """Open a server of three projects, whose first account is in two of them."""
    projects = Projects(folder)
    for title in ("Farm box", "Skin lesions", "Wood samples"):
        projects.create(title)
    with projects.accounts.database.write() as connection:
        for name, role in (("Amara Okafor", "creator"), ("Bram de Wit", "expert"), ("Chen Li", "expert")):
            managing.add_person(connection, name, role)
    for name, studio in projects.open.items():
        with studio.database.write() as connection:
            made = [classes.NewClass(one) for one in ("oak", "beech", "ash")]
            classes.add_classes(connection, made, 1)
            guest, _ = managing.invite(connection, "Amara Okafor", [1, 2], by=1)
        importing.add_items(studio.database, [("a", "text", f"{name} one", None), ("b", "text", "two", None)])
        with projects.accounts.database.write() as connection:
            join(connection, 1, studio.uid, 1)
            join(connection, 2, studio.uid, guest)
    return projects


@dataclass(frozen=True)
class Screen:
    """A page: its name, the project that it is of, who looks, and how to get there."""

    name: str
    path: str = ""
    who: str = "owner"
    of: str = "clinic"
    go: Callable[..., None] | None = None
    """Acts on the page after the address is open."""


def _press(name: str) -> Callable[..., None]:
    return lambda page: page.get_by_role("button", name=name).first.click()


def _send(*files: tuple[str, bytes]) -> Callable[..., None]:
    def send(page) -> None:
        page.set_input_files(
            "#files",
            [
                {"name": name, "mimeType": "application/octet-stream", "buffer": content}
                for name, content in files
            ],
        )
        page.wait_for_url("**/items/*/*")

    return send


def _fill(field: str, text: str, button: str) -> Callable[..., None]:
    def act(page) -> None:
        page.fill(field, text)
        page.get_by_role("button", name=button).click()

    return act


def _guide(page) -> None:
    page.click("#guide")
    page.wait_for_selector("#guidance section")


def _enlarged(page) -> None:
    page.wait_for_selector("#desk[data-ready]")
    page.click("#zoom")


_TABLE = b"id,text,gold\nnote-1,A round nucleus,lymphocyte\nnote-2,Lobes,\nnote-3,Granules,basofil\n"
_LIST = "name\tknows\nMia\tneutrophil, monocyte\nNoah\tbasophil\nOla\tneutrofil\n"
KEIKO = "Keiko Tanaka"

SCREENS = (
    Screen("start-empty", "/start", of="empty"),
    Screen("start", "/start"),
    Screen("label", "/label", NEW),
    Screen("label-guide", "/label", "Grace Mensah", go=_guide),
    Screen("label-zoom", "/label", NEW, go=_enlarged),
    Screen("label-flag", "/label", NEW, go=_press("Report a problem")),
    Screen("label-done", "/label", KEIKO),
    Screen("label-forty", "/label", of="aviary"),
    Screen("label-owner", "/label"),
    Screen("progress", "/progress"),
    Screen("report", "SHARED", ""),
    Screen("review", "/review"),
    Screen("review-item", "DOUBTFUL"),
    Screen("review-agreed", "/review/2"),
    Screen("experts", "/experts"),
    Screen("board", "/board"),
    Screen("people", "/people"),
    Screen("person", "/people/4"),
    Screen("sign-out-everywhere", "/people/4/close"),
    Screen("people-list", "/people", go=_fill("#list", _LIST, "Preview the list")),
    Screen("invited", "/people/4", go=_press("New invitation link")),
    Screen("token", "/people/4", go=_press("New token for programs")),
    Screen("invitations", "/people", go=_press("New links for")),
    Screen("items", "/items"),
    Screen("items-preview", "/items", go=_send(("notes.csv", _TABLE))),
    Screen(
        "items-added", "/items", go=_send(("film-099.jpg", b"\xff\xd8broken"), ("notes.pdf", b"%PDF-1.4"))
    ),
    Screen("classes", "/classes"),
    Screen("class", "/classes/1"),
    Screen("merge", "/classes/4/merge?into=5"),
    Screen("settings", "/settings"),
    Screen("record", "/record"),
    Screen("export", "/export"),
    Screen("me", "/me", KEIKO),
    Screen("me-owner", "/me"),
    Screen("enter", "INVITATION", ""),
    Screen("login", "/login", ""),
    Screen("projects", "/", of="town"),
    Screen("accounts", "/accounts", of="town"),
    Screen("account", "/me", of="town"),
    Screen("login-several", "/login", "", of="town"),
    Screen("error-404", "/nothing"),
    Screen("error-403", "/settings", NEW),
    Screen("error-link", "/enter/this-link-is-old", ""),
    Screen("error-shared", "/shared/this-link-is-old", ""),
    Screen("error-form", "/items", go=_press("Add items")),
)


def secret_of(studio: Studio, name: str, purpose: str) -> str:
    """Return a new secret of a person: a session, an invitation, or a report."""
    with studio.database.write() as connection:
        who = connection.execute(select(person.c.id).where(person.c.name == name)).scalar_one()
        return credentials.new_secret(connection, purpose, who)


def address_of(screen: Screen, studio: Studio) -> str:
    """Return the path of a screen; some have a secret, or the number of a doubtful item."""
    if screen.path == "SHARED":
        return f"/shared/{secret_of(studio, 'owner', 'share')}"
    if screen.path == "INVITATION":
        return f"/enter/{secret_of(studio, NEW, 'enter')}"
    if screen.path == "DOUBTFUL":
        results = studio.results.refresh()
        assert results is not None
        doubtful = results.labels.evidence.status.tolist().index(2)
        return f"/review/{results.items[doubtful]}"
    return screen.path
