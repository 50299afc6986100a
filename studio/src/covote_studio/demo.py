"""A project to click through: pictures and texts, people who each know some classes, and their answers.

There are a tie, a conflict, a person who does not know what they are said to know, one who left, a flag and
a decision, so that every page shows what it is for.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, insert, select, update

from covote_studio.context import Studio
from covote_studio.editing.classes import NewClass, add_classes
from covote_studio.editing.guide import add_example
from covote_studio.exchange import importing
from covote_studio.people import managing
from covote_studio.people.expertise import count_answers, set_known
from covote_studio.people.roster import Roster, touch
from covote_studio.storage import media
from covote_studio.storage.schema import (
    ANSWERED,
    NONE,
    UNSURE,
    answer,
    answer_columns,
    assignment,
    class_,
    flag,
    item,
    person,
)

CLASSES = (
    ("apple", "round, with a dent where the stem is"),
    ("pear", "wide below, narrow above"),
    ("carrot", "long, orange, with leaves on top"),
    ("tomato", "red, with a green star"),
    ("lemon", "yellow, a tip at either end"),
    ("mushroom", "a cap on a stem"),
    ("complaint", "a text: someone is unhappy"),
    ("question", "a text: someone wants to know"),
    ("praise", "a text: someone is happy"),
)
PEOPLE = {
    "Ada": ("apple", "pear", "carrot", "complaint", "question", "praise"),
    "Ben": ("apple", "tomato", "lemon", "complaint", "question", "praise"),
    "Chandra": ("pear", "tomato", "mushroom", "lemon", "complaint"),
    "Dora": ("carrot", "tomato", "lemon", "mushroom", "question"),
    "Emil": ("apple", "pear", "carrot", "mushroom", "praise"),
    "Farid": ("apple", "lemon", "carrot", "complaint", "praise"),
}
TEXTS = {
    "complaint": (
        "The box came two days late, and the lemons were soft.",
        "I have called three times now and no one picks up.",
        "Half of my order was missing. Please send it, or my money back.",
        "The pears were hard as stone, and so was the tone of your driver.",
        "You changed my delivery day without asking me.",
        "Third week in a row without carrots. Why do I pay for them?",
        "The mushrooms were wet and had to go straight into the bin.",
        "Your new website forgets my basket every time I look away.",
    ),
    "question": (
        "Do you also deliver on Saturdays?",
        "How long can I keep the opened box in the cellar?",
        "Which of your apples is best for a cake?",
        "Is the shop open on the first Monday of the month?",
        "Can I swap the mushrooms for something else?",
        "Are the lemons waxed, or can I use the peel?",
        "From which farm are the tomatoes this week?",
        "May I bring the empty boxes back on market day?",
    ),
    "praise": (
        "Thank you, everything was fresh and carefully packed!",
        "Best tomatoes I have had in years.",
        "Your driver even carried the box up to the fourth floor. Wonderful!",
        "The recipe that you put in was a great idea.",
        "My children eat carrots now. I do not know how you did it.",
        "Ordered at ten, on the table at six: impressive.",
        "The pear cake won the fair. It is your prize, too!",
        "So friendly on the phone that I called again just for that.",
    ),
}
_GOLD = 4
"""Gold items of each class."""
_FOLDER = Path(__file__).parent / "pictures"
"""Six pictures of each thing, drawn for this example: 50 kB."""
_DAY = 86_400.0
_DONE = {"Ada": 60, "Ben": 57, "Chandra": 54, "Dora": 51, "Emil": 52, "Farid": 26}
"""How many items each person has answered."""
DECIDED = "One can see the stem and the dent: it is an apple, not a tomato."


def fill(studio: Studio, *, alive: bool = True) -> None:
    """Fill an empty project; leave others as they are. Without `alive`, no one has answered yet."""
    with studio.database.write() as connection:
        if connection.execute(select(func.count()).select_from(class_)).scalar_one():
            return
        managing.change_project(
            connection,
            "Farm box",
            "Say what the picture shows, or what the writer wants. Choose only among your classes.",
            "everybody",
        )
        add_classes(connection, [NewClass(*one) for one in CLASSES])
        ids = {row.name: row.id for row in connection.execute(select(class_.c.id, class_.c.name))}
        for name, known in PEOPLE.items():
            if alive or name != "Farid":
                managing.invite(connection, name, [ids[one] for one in known], may_tick=True)
        owner = connection.execute(select(person.c.id).where(person.c.role == "owner")).scalar_one()
        if not alive:  # so that an owner who tries the labelling screen finds items
            set_known(connection, owner, [ids[one] for one in PEOPLE["Ada"]])
        rows = _pictures(connection, studio, ids)
        add_example(connection, ids["complaint"], "“The box came late.”", None, False, owner)
        add_example(connection, ids["complaint"], "“Why was the box late?” is a question.", None, True, owner)
    rows += [(kind, "text", text) for kind, texts in TEXTS.items() for text in texts]
    order = np.random.default_rng(5).permutation(len(rows))
    truth = [rows[k][0] for k in order]
    gold = {n for name, _ in CLASSES for n in [n for n, one in enumerate(truth) if one == name][:_GOLD]}
    importing.add_items(
        studio.database,
        [
            (f"item-{n:02}", *rows[k][1:], ids[truth[n - 1]] if n - 1 in gold else None)
            for n, k in enumerate(order, 1)
        ],
    )
    if alive:
        with studio.database.write() as connection:
            _, roster = studio.snapshot(connection)
            _answer(connection, roster, truth)


def _pictures(connection: Connection, studio: Studio, ids: dict[str, int]) -> list[tuple[str, str, str]]:
    rows: list[tuple[str, str, str]] = []
    for name, _ in CLASSES[:6]:
        for place in sorted(_FOLDER.glob(f"{name}-*.webp")):
            kind, address = media.keep(connection, studio.folder, place.name, place.read_bytes())
            rows.append((name, kind, address))
        connection.execute(update(class_).where(class_.c.id == ids[name]).values(picture=rows[-1][2]))
    return rows


def _moments(rng: np.random.Generator, count: int, days: int, start: float) -> NDArray[np.float64]:
    """Return when someone answers: every day for a while, some seconds after the answer before."""
    gaps = rng.lognormal(2.2, 0.5, count)
    for day, first in enumerate(np.linspace(0, count, days, endpoint=False).astype(int)):
        begun = start + day * _DAY + rng.uniform(0, 0.1 * _DAY)
        gaps[first] = begun - (gaps[:first].sum() if first else 0.0)
    return np.cumsum(gaps)


def _answer(connection: Connection, roster: Roster, truth: list[str]) -> None:
    """Let people answer over the last three days; mostly correctly, as described above."""
    rng, now = np.random.default_rng(11), time.time()
    items = connection.execute(select(item.c.id, item.c.position).order_by(item.c.position)).all()
    members = {one.name: one for one in roster.members}
    conflict, tie = (truth.index("apple", 8), truth.index("lemon", _DONE["Farid"]))
    answers: list[dict[str, Any]] = []
    for name, count in _DONE.items():
        member, known = members[name], PEOPLE[name]
        times = _moments(rng, count, 1 if name == "Farid" else 3, now - 3.1 * _DAY)
        for n, at in zip(range(count), times, strict=True):
            right = truth[n]
            if n == conflict and name == "Ben":
                word = "tomato"
            elif n == tie and name in ("Ben", "Chandra", "Dora"):
                word = {"Ben": "tomato", "Dora": "lemon"}.get(name, "not sure")
            elif name == "Emil" and right == "pear":
                word = "apple"
            elif right in known and rng.random() < 0.96:
                word = right
            elif rng.random() < 0.08:
                alike = [one for one in known if (one in TEXTS) == (right in TEXTS)]
                word = alike[int(rng.integers(len(alike)))]
            else:
                word = "none of mine" if right not in known else "not sure"
            choice = {"none of mine": NONE, "not sure": UNSURE}.get(word)
            answers.append(
                {"item_id": items[n].id, "person_id": member.id, "options_id": member.options_id,
                 "via": "page",
                 **answer_columns(roster.class_by_name[word].id if choice is None else choice),
                 "key": f"demo-{member.id}-{n:03}", "at": float(at)}
            )  # fmt: skip
    answers.sort(key=lambda one: one["at"])
    connection.execute(insert(answer), answers)
    connection.execute(
        insert(assignment),
        [{"item_id": one["item_id"], "person_id": one["person_id"], "state": ANSWERED, "expires": 0.0}
         for one in answers],
    )  # fmt: skip
    for name, count in _DONE.items():
        where = person.c.id == members[name].id
        connection.execute(update(person).where(where).values(cursor=count))
        count_answers(connection, members[name].id)
    connection.execute(update(person).where(person.c.name == "Farid").values(active=False))
    owner = next(one.id for one in roster.members if one.is_owner)
    managing.adjudicate(connection, items[conflict].id, roster.class_by_name["apple"].id, owner, DECIDED)
    connection.execute(
        insert(flag).values(
            item_id=items[tie].id, person_id=members["Chandra"].id, at=now - _DAY,
            comment="Bad picture: it is very yellow, and I am not sure about the tip.",
        )
    )  # fmt: skip
    touch(connection)
