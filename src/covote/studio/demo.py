"""A project to click through: pictures and texts, five people who each know a part."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from sqlalchemy import func, select, update

from covote.studio.context import Studio
from covote.studio.editing.classes import NewClass, add_classes
from covote.studio.exchange import importing
from covote.studio.people import managing
from covote.studio.people.roster import set_known
from covote.studio.storage import media
from covote.studio.storage.schema import class_, person

CLASSES = (
    ("circle", "round, no corners"),
    ("square", "four equal sides"),
    ("triangle", "three corners"),
    ("star", "five points"),
    ("ring", "a circle with a hole"),
    ("cross", "two bars"),
    ("complaint", "a text: somebody is unhappy"),
    ("question", "a text: somebody wants to know"),
    ("praise", "a text: somebody is happy"),
)
PEOPLE = {
    "Ada": ("circle", "square", "triangle", "complaint", "question", "praise"),
    "Ben": ("circle", "star", "ring", "complaint", "question", "praise"),
    "Chandra": ("square", "star", "cross", "ring", "complaint"),
    "Dora": ("triangle", "star", "ring", "cross", "question"),
    "Emil": ("circle", "square", "triangle", "cross", "praise"),
}
TEXTS = {
    "complaint": (
        "The parcel came two weeks late, and the box was wet.",
        "I have called three times now and nobody picks up.",
        "The new version deletes my notes. Please give me the old one back.",
        "My soup was cold and the waiter forgot the bread.",
    ),
    "question": (
        "Does the ticket also work on the night bus?",
        "How long can I keep the opened jar in the fridge?",
        "Which of the two adapters fits the older model?",
        "Is the museum open on the first Monday of the month?",
    ),
    "praise": (
        "Thank you, the repair was quick and the bike rides like new!",
        "Best lentil stew I have had in years.",
        "Your guide explained everything twice and never lost patience.",
        "The seeds you sent have all come up. Wonderful!",
    ),
}
_SIDE = 96


def fill(studio: Studio) -> None:
    """Fill a project that is empty; one that is not stays as it is."""
    with studio.database.write() as connection:
        if connection.execute(select(func.count()).select_from(class_)).scalar_one():
            return
        managing.change_project(
            connection,
            "Shapes and letters",
            "Say what the picture shows, or what the writer wants. Choose only among your classes.",
            "everybody",
        )
        add_classes(connection, [NewClass(*one) for one in CLASSES])
        ids = {row.name: row.id for row in connection.execute(select(class_.c.id, class_.c.name))}
        for name, known in PEOPLE.items():
            managing.invite(connection, name, [ids[one] for one in known], may_tick=True)
        owner = connection.execute(select(person.c.id).where(person.c.role == "owner")).scalar_one()
        set_known(connection, owner, [ids[one] for one in PEOPLE["Ada"]])
        rows = _pictures(connection, studio, ids)
    rows += [
        (f"{kind}-{n}", "text", text, ids[kind] if n == 1 else None)
        for kind, texts in TEXTS.items()
        for n, text in enumerate(texts, start=1)
    ]
    order = np.random.default_rng(5).permutation(len(rows))
    importing.add_items(studio.database, [(f"item-{n:02}", *rows[k][1:]) for n, k in enumerate(order, 1)])


def _pictures(connection: Any, studio: Studio, ids: dict[str, int]) -> list[tuple[str, str, str, int | None]]:
    rng = np.random.default_rng(3)
    rows: list[tuple[str, str, str, int | None]] = []
    for shape, _ in CLASSES[:6]:
        for n in range(1, 5):
            content = png(shape_picture(shape, rng))
            kind, place = media.keep(connection, studio.folder, f"{shape}-{n}.png", content)
            if n == 1:
                example = update(class_).where(class_.c.id == ids[shape]).values(picture=place)
                connection.execute(example)
            rows.append((f"{shape}-{n}", kind, place, ids[shape] if n == 1 else None))
    return rows


def png(picture: NDArray[np.uint8]) -> bytes:
    """Return a picture (height x width x 3) as a PNG file."""
    packed = io.BytesIO()
    Image.fromarray(picture).save(packed, "PNG")
    return packed.getvalue()


def shape_picture(shape: str, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Draw a shape somewhere on a square, turned and coloured by chance."""
    centre, size, turn = rng.uniform(38, 58, 2), rng.uniform(20, 30), rng.uniform(0, 2 * np.pi)
    y, x = np.mgrid[0:_SIDE, 0:_SIDE] - centre[:, None, None]
    u, v = (x * np.cos(turn) + y * np.sin(turn)) / size, (y * np.cos(turn) - x * np.sin(turn)) / size
    radius, angle = np.hypot(u, v), np.arctan2(v, u)
    inside = {
        "circle": radius < 1,
        "ring": (radius < 1) & (radius > 0.55),
        "square": np.maximum(abs(u), abs(v)) < 0.85,
        "cross": (np.minimum(abs(u), abs(v)) < 0.3) & (np.maximum(abs(u), abs(v)) < 1.05),
        "triangle": radius * np.cos((angle % (2 * np.pi / 3)) - np.pi / 3) < 0.55,
        "star": radius < 0.5 + 0.6 * np.abs(((angle * 5 / np.pi) % 2) - 1) ** 1.6,
    }[shape]
    colours = ((31, 95, 139), (165, 42, 32), (36, 112, 63), (138, 83, 0), (92, 60, 130))
    picture = np.full((_SIDE, _SIDE, 3), (250, 248, 244), dtype=np.uint8)
    picture[inside] = colours[int(rng.integers(len(colours)))]
    return picture
