"""A project that is edited at random while people answer, and a plain model of what it must say.

The model keeps lists and sets. Nothing in it is taken from the studio but the ids that the studio gives.
"""

import io
import json
import random
import zipfile
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import select

import covote
from covote_studio.answers.recording import NewAnswer
from covote_studio.editing import classes, items
from covote_studio.exchange import importing
from covote_studio.exchange.exporting import write_export
from covote_studio.people import credentials, managing
from covote_studio.people.credentials import Credentials
from covote_studio.people.expertise import set_known
from covote_studio.rules import ASK, Refusal
from covote_studio.storage.schema import (
    CHOICE,
    DONE,
    LEASED,
    WAITING,
    answer,
    assignment,
    class_,
    event,
    item,
    options,
    person,
)

NONE, UNSURE = -2, -3
PEOPLE = ("ann", "bob", "cyd", "dan")


@dataclass
class ModelClass:
    name: str
    retired: bool = False
    merged: int | None = None
    voted: bool = False


@dataclass
class OpenPage:
    """A labelling page that was opened at some time: what it shows, and what it sends with answers."""

    shown: frozenset[int]
    buttons: list[tuple[int, str]]
    options_id: int
    screen: str


@dataclass
class Model:
    """What there is: classes in their order, who knows what (retired classes stay known), items, answers."""

    classes: dict[int, ModelClass] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    knows: dict[str, set[int]] = field(default_factory=dict)
    away: set[str] = field(default_factory=set)
    ask: str = "everybody"
    items: dict[str, bool] = field(default_factory=dict)
    gold: dict[str, int] = field(default_factory=dict)
    answers: list[tuple[str, str, int, frozenset[int]]] = field(default_factory=list)
    record: list[str] = field(default_factory=list)

    def now(self, one):
        """Return the class for which an answer counts that names a class."""
        while one > 0 and self.classes[one].merged is not None:
            one = self.classes[one].merged
        return one

    def live(self):
        return [k for k in self.order if not self.classes[k].retired and self.classes[k].merged is None]

    def offered(self, name):
        return frozenset({self.now(one) for one in self.knows[name]} & set(self.live()))

    def former(self, name):
        ends = {self.now(one) for one in self.knows[name]}
        return frozenset(k for k in ends if self.classes[k].retired and self.classes[k].voted)

    def has_votes(self, one):
        return one in {self.now(choice) for _, _, choice, _ in self.answers if choice > 0}

    def buttons(self, name):
        return [(k, self.classes[k].name) for k in self.live() if k in self.offered(name)]

    def last(self):
        """Return the last answer of every person about every item: (what it counts for, what was in view)."""
        return {
            (name, key): (self.now(choice), {self.now(one) for one in shown})
            for name, key, choice, shown in self.answers
        }

    def due(self, name):
        """Return the items that a person is to be asked about, if everyone is asked."""
        last = self.last()
        return {
            key
            for key, retired in self.items.items()
            if not retired
            and self.offered(name)
            and ((name, key) not in last or not self.offered(name) <= last[name, key][1])
        }

    def votes(self):
        """Return the votes: (item, expert) -> class id or NONE."""
        found, seen = {}, self.last()
        for (name, key), (choice, shown) in seen.items():
            known = self.offered(name) | self.former(name)
            if self.items[key] or choice == UNSURE or not self.offered(name) <= shown:
                continue
            if choice in known or (choice == NONE and known):
                found[key, name] = choice
        named = {}
        for (key, _), choice in found.items():
            if choice > 0 and self.classes[choice].retired:
                named.setdefault(key, set()).add(choice)
        return {
            (key, name): choice
            for (key, name), choice in found.items()
            if not any(
                one in self.former(name) and one not in seen[name, key][1] for one in named.get(key, ())
            )
        }

    def word(self, choice):
        return {NONE: "none of mine", UNSURE: "not sure"}.get(choice) or self.classes[choice].name

    def told(self, choice):
        """Return an answer as the history tells it."""
        if choice < 0:
            return self.word(choice)
        if self.classes[choice].merged is not None:
            return f"{self.word(choice)} (now {self.word(self.now(choice))})"
        return f"{self.word(choice)} (retired)" if self.classes[choice].retired else self.word(choice)


class Edited:
    """A studio and its model, which get the same changes."""

    def __init__(self, studio, folder, seed):
        self.studio, self.folder, self.chance, self.model = studio, folder, random.Random(seed), Model()
        self.ids, self.secrets, self.item_ids, self.numbers, self.pages = {}, {}, {}, 0, {}
        self.late = self.asked_again = 0
        with studio.database.write() as connection:
            for name in PEOPLE:
                self.ids[name] = managing.add_person(connection, name, "expert")
                self.secrets[name] = credentials.new_secret(connection, "api", self.ids[name])
                self.model.knows[name] = set()
        for _ in range(4):
            self.add_class()
        self.import_items()

    def some(self, values):
        values = sorted(values)
        return self.chance.choice(values) if values else None

    def number(self):
        self.numbers += 1
        return self.numbers

    def told(self, text):
        self.model.record.append(text)

    def word(self, one):
        return self.model.classes[one].name

    def add_class(self):
        name = f"class {self.number()}"
        with self.studio.database.write() as connection:
            classes.add_classes(connection, [classes.NewClass(name)])
            new = connection.execute(class_.select().where(class_.c.name == name)).one().id
        assert new not in self.model.classes  # no id is given twice
        self.model.classes[new] = ModelClass(name)
        self.model.order.append(new)
        self.told(f"Added the class {name}.")

    def import_items(self):
        names = [f"item {self.number()}" for _ in range(3)]
        importing.add_items(self.studio.database, [(name, "text", name, None) for name in names])
        with self.studio.database.read() as connection:
            self.item_ids = {row.key: row.id for row in connection.execute(item.select())}
        self.model.items.update(dict.fromkeys(names, False))
        self.told("Added 3 items.")

    def rename(self):
        one, name = self.some(self.model.live()), f"class {self.number()}"
        if one is not None:
            with self.studio.database.write() as connection:
                classes.change_class(connection, one, name=name, description="")
            self.told(f"Renamed the class {self.word(one)} to {name}.")
            self.model.classes[one].name = name

    def reorder(self):
        before = self.model.live()
        if not before:
            return
        one, steps = self.chance.choice(before), self.chance.choice((-1, 1))
        with self.studio.database.write() as connection:
            classes.move_class(connection, one, steps)
        there = before.index(one) + steps
        if 0 <= there < len(before):
            order = [k for k in before if k != one]
            order.insert(there, one)
            self.told("Changed the order of the classes.")
            self.model.order = [*order, *(k for k in self.model.order if k not in order)]

    def merge(self):
        sources = [k for k, one in self.model.classes.items() if one.merged is None]
        source, into = self.some(sources), self.some(self.model.live())
        if into is None or source == into or len(self.model.live()) < 3:
            return
        with self.studio.database.write() as connection:
            classes.merge_classes(connection, source, into)
        self.model.classes[source].merged = into
        self.told(f"Merged the class {self.word(source)} into {self.word(into)}.")

    def undo_merge(self):
        source = self.some(k for k, one in self.model.classes.items() if one.merged is not None)
        if source is None:
            return
        into = self.model.classes[source].merged
        with self.studio.database.write() as connection:
            classes.undo_merge(connection, source)
        self.model.classes[source].merged = None
        for one in (source, into):
            if self.model.classes[one].retired:
                self.model.classes[one].voted = self.model.has_votes(one)
        self.told(f"Undid the merge of the class {self.word(source)} into {self.word(into)}.")

    def retire(self):
        one = self.some(self.model.live())
        if one is None or len(self.model.live()) < 3:
            return
        model = self.model
        with self.studio.database.write() as connection:
            told = classes.retire_class(connection, one)
        if "removed" in told:
            named = {choice for _, _, choice, _ in model.answers} | set(model.gold.values())
            shown = {k for _, _, _, seen in model.answers for k in seen}
            assert one not in named | shown | set().union(*model.knows.values())
            assert one not in {k.merged for k in model.classes.values()}
            self.told(f"Removed the class {self.word(one)}, which nothing named.")
            del model.classes[one]
            model.order.remove(one)
            return
        model.classes[one].retired = True
        model.classes[one].voted = model.has_votes(one)
        self.told(f"Retired the class {self.word(one)}.")

    def bring_back(self):
        one = self.some(k for k, one in self.model.classes.items() if one.retired and one.merged is None)
        if one is not None:
            with self.studio.database.write() as connection:
                classes.bring_back_class(connection, one)
            self.model.classes[one].retired = False
            self.told(f"Brought back the class {self.word(one)}.")

    def tick(self):
        model, name = self.model, self.some(PEOPLE)
        now = {one for one in model.live() if self.chance.random() < 0.6}
        due, before = model.due(name), model.offered(name)
        with self.studio.database.write() as connection:
            again = set_known(connection, self.ids[name], now)
        kept = {
            one for one in model.knows[name] if model.now(one) not in model.live() or model.now(one) in now
        }
        model.knows[name] = kept | (now - before)
        answered = {key for who, key in model.last() if who == name}
        assert again == len((model.due(name) - due) & answered), "asked again"
        parts = [
            f"{verb} {', '.join(self.word(one) for one in sorted(some))}"
            for verb, some in (("knows", now - before), ("does not know", before - now))
            if some
        ]
        if parts:
            self.told(f"{name} {' and '.join(parts)}.")

    def leave_or_return(self):
        name = self.some(PEOPLE)
        away = name not in self.model.away
        with self.studio.database.write() as connection:
            managing.change_person(connection, self.ids[name], active=not away, may_tick=False, role="expert")
        self.model.away ^= {name}
        self.told(f"{name} is {'away' if away else 'back'}.")

    def change_way(self):
        before, ask = self.model.ask, self.some(ASK)
        with self.studio.database.write() as connection:
            setup, _ = self.studio.snapshot(connection)
            managing.change_project(connection, setup.name, "", ask)
        self.model.ask = ask
        if ask != before:
            self.told(f"Changed who is asked from “{managing.ASKED[before]}” to “{managing.ASKED[ask]}”.")

    def set_gold(self):
        key, one = self.some(self.model.items), self.some([0, *self.model.live()])
        with self.studio.database.write() as connection:
            items.set_gold(connection, self.item_ids[key], one or None)
        if self.model.gold.get(key, 0) == one:
            return
        if one:
            self.model.gold[key] = one
            self.told(f"{key} is gold: {self.word(one)}.")
        else:
            self.model.gold.pop(key, None)
            self.told(f"{key} is no longer gold.")

    def retire_item(self):
        key = self.some(self.model.items)
        back = self.model.items[key]
        with self.studio.database.write() as connection:
            (items.bring_back_item if back else items.retire_item)(connection, self.item_ids[key])
        self.model.items[key] = not back
        self.told(f"Brought back the item {key}." if back else f"Retired the item {key}.")

    def reload(self, name):
        """Open the labelling page of a person anew."""
        _, roster = self.studio.snapshot()
        member = roster.member(self.ids[name])
        self.pages[name] = OpenPage(
            self.model.offered(name), self.model.buttons(name), member.options_id or 0, roster.screen(member)
        )

    def leases(self, name):
        """Return the items that a person is given, which must be those that the model says."""
        held, _ = self.studio.lease(self.ids[name], 200)
        given, due = {one.key for one in held}, self.model.due(name)
        if name in self.model.away:
            assert given == set(), f"{name} is away"
        elif self.model.ask == "everybody":
            assert given == due, f"{name} is asked: {given ^ due}"
        else:
            assert given <= due, f"{name} is asked"
        return held

    def answer(self):
        """Answer from a page that may have been open for long, with what its buttons show."""
        model, name = self.model, self.some(PEOPLE)
        held = self.leases(name)
        if name not in self.pages or self.chance.random() < 0.3:
            self.reload(name)
        page = self.pages[name]
        if not held or not page.options_id:
            return
        lease = self.chance.choice(held)
        choice = self.chance.choice([*sorted(page.shown), *sorted(page.shown), NONE, UNSURE])
        said = NewAnswer(lease.item_id, lease.token, choice, f"answer-{self.number():06}", page.options_id)
        done = self.studio.record(Credentials("api", self.secrets[name]), said)
        model.answers.append((name, lease.key, choice, page.shown))
        end = model.now(choice)
        if end > 0 and model.classes[end].retired:
            model.classes[end].voted = True
        assert (done.screen != page.screen) == (page.buttons != model.buttons(name)), "reload"
        self.late += page.shown != model.offered(name)
        self.asked_again += lease.key in model.due(name)

    def answer_wrongly(self):
        """Answer what is not on the page, or from a list that this person never had: it must be refused."""
        name = self.some(PEOPLE)
        held = self.leases(name)
        page = self.pages.get(name)
        wrong = self.some(set(self.model.classes) - set(page.shown)) if page and page.options_id else None
        if not held or wrong is None:
            return
        for choice, options_id in ((wrong, page.options_id), (NONE, 1_000_000)):
            said = NewAnswer(held[0].item_id, held[0].token, choice, f"wrong-{self.number():06}", options_id)
            try:
                self.studio.record(Credentials("api", self.secrets[name]), said)
            except Refusal:
                continue
            raise AssertionError("an answer outside of what was offered was kept")

    EDITS = ("add_class", "import_items", "rename", "reorder", "merge", "undo_merge", "retire",
             "bring_back", "tick", "tick", "tick", "set_gold", "retire_item", "answer_wrongly",
             "leave_or_return", "change_way")  # fmt: skip

    def edit(self):
        what = self.chance.choice(self.EDITS)
        if what == "import_items" and len(self.model.items) > 30:
            what = "retire_item"
        if what == "add_class" and len(self.model.live()) > 8:
            what = "merge"
        getattr(self, what)()
        if self.chance.random() < 0.5:
            self.studio.reassess()
        for _ in range(self.chance.randrange(7)):
            self.answer()

    def check(self):
        """Compare labels, statuses, history, record and exports with what the model says."""
        model, studio = self.model, self.studio
        self.check_record()
        self.check_items()
        expected = {(key, name): model.word(choice) for (key, name), choice in model.votes().items()}
        results = studio.results.refresh()
        if results is None:
            assert expected == {}
            return
        with zipfile.ZipFile(write_export(studio, "votes.zip", self.folder)) as archive:
            rows = pq.read_table(io.BytesIO(archive.read("votes.parquet"))).to_pylist()
        assert {(row["item"], row["expert"]): row["label"] for row in rows} == expected
        voters = [
            name
            for name in PEOPLE
            if (model.offered(name) or model.former(name)) and (name not in model.away or self.count(name))
        ]
        kept = {one for name in voters for one in model.former(name)}
        used = [*model.live(), *(one for one in model.order if one in kept)]
        panel = covote.Panel.from_blocks(
            [model.word(one) for one in used],
            [
                [model.word(one) for one in used if one in model.offered(name) | model.former(name)]
                for name in voters
            ],
            voters,
        )
        table = pa.table(
            {
                "item": [key for key, _ in expected],
                "expert": [name for _, name in expected],
                "label": [*expected.values()],
            }
        )
        labels = covote.decode(covote.Votes.from_table(table, panel))
        plain = {one: (label, status) for one, label, status in zip(
            labels.items.tolist(), labels.value.tolist(), labels.status.tolist(), strict=True)}  # fmt: skip
        keys = {number: key for key, number in self.item_ids.items()}
        found = zip(
            results.items.tolist(), results.labels.value.tolist(), results.labels.status.tolist(), strict=True
        )
        assert {keys[one]: (label, status) for one, label, status in found} == plain

    def count(self, name):
        """Return how many items a person has answered, retired ones aside."""
        live = {key for key, retired in self.model.items.items() if not retired}
        return len(({key for who, key in self.model.last() if who == name} & live) - self.model.due(name))

    def check_record(self):
        """Compare the record, and the history of answers with the classes that were shown."""
        model = self.model
        keys = {number: key for key, number in self.item_ids.items()}
        names = {number: name for name, number in self.ids.items()}
        with self.studio.database.read() as connection:
            _, roster = self.studio.snapshot(connection)
            said = connection.execute(answer.select().add_columns(CHOICE).order_by(answer.c.id)).all()
            lists = {
                row.id: frozenset(json.loads(row.classes)) for row in connection.execute(options.select())
            }
            told = [row.text for row in connection.execute(event.select().order_by(event.c.id))]
            gold = {row.key: row.gold for row in connection.execute(item.select()) if row.gold}
        history = [
            (names[one.person_id], keys[one.item_id], roster.answer_name(one.choice), lists[one.options_id])
            for one in said
        ]
        assert history == [
            (name, key, model.told(choice), shown) for name, key, choice, shown in model.answers
        ]
        assert told == model.record
        assert gold == model.gold

    def check_items(self):
        """Compare the counts of answers; where people are asked one after another, no done item is held."""
        with self.studio.database.read() as connection:
            counts = {row.name: row.answers for row in connection.execute(person.select())}
            held = connection.execute(
                select(item.c.key)
                .join(assignment, assignment.c.item_id == item.c.id)
                .where(item.c.state == DONE, item.c.retired.is_(False))
                .where(assignment.c.state.in_((WAITING, LEASED)))
            ).all()
        for name in PEOPLE:
            assert counts[name] == self.count(name), f"answers of {name}"
        if self.model.ask != "everybody":
            assert held == []


def run(studio, folder, seed, edits):
    """Edit a project so many times, and compare after every tenth edit."""
    edited = Edited(studio, folder, seed)
    for number in range(edits):
        edited.edit()
        if number % 10 == 0:
            edited.check()
    edited.check()
    return edited
