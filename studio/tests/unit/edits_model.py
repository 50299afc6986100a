"""A project that is edited at random while people answer, and a plain model of what it must say.

The model keeps lists and sets. Nothing in it is taken from the studio but the ids that the studio gives.
"""

import csv
import io
import random
from dataclasses import dataclass, field

import covote
from covote_studio.answers.assignments import NewAnswer
from covote_studio.editing import classes, items
from covote_studio.exchange import importing
from covote_studio.exchange.exporting import write_export
from covote_studio.people import credentials, managing
from covote_studio.people.credentials import Credentials
from covote_studio.people.roster import set_known
from covote_studio.rules import Refused
from covote_studio.storage.schema import CHOICE, answer, class_, item, person

NONE, UNSURE = -2, -3
PEOPLE = ("ann", "bob", "cyd", "dan")


@dataclass
class ModelClass:
    name: str
    retired: bool = False
    merged: int | None = None


@dataclass
class Model:
    """What there is: classes in their order, who knows what (retired classes stay known), items, answers."""

    classes: dict[int, ModelClass] = field(default_factory=dict)
    order: list[int] = field(default_factory=list)
    knows: dict[str, set[int]] = field(default_factory=dict)
    items: dict[str, bool] = field(default_factory=dict)
    gold: dict[str, int] = field(default_factory=dict)
    answers: list[tuple[str, str, int, frozenset[int]]] = field(default_factory=list)

    def now(self, one):
        """Return the class for which an answer counts that names a class."""
        while one > 0 and self.classes[one].merged is not None:
            one = self.classes[one].merged
        return one

    def live(self):
        return [one for one in self.order if not self.classes[one].retired]

    def offered(self, name):
        return frozenset(one for one in self.knows[name] if not self.classes[one].retired)

    def former(self, name):
        return frozenset(one for one in self.knows[name] if self.classes[one].retired)

    def last(self):
        """Return the last answer of every person about every item: (what it counts for, what was in view)."""
        return {
            (name, key): (self.now(choice), {self.now(one) for one in shown})
            for name, key, choice, shown in self.answers
        }

    def due(self, name):
        """Return the items that a person is to be asked about."""
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
        self.ids, self.secrets, self.item_ids, self.numbers = {}, {}, {}, 0
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

    def add_class(self):
        name = f"class {self.number()}"
        with self.studio.database.write() as connection:
            classes.add_classes(connection, [classes.NewClass(name)])
            new = connection.execute(class_.select().where(class_.c.name == name)).one().id
        assert new not in self.model.classes  # no id is given twice
        self.model.classes[new] = ModelClass(name)
        self.model.order.append(new)

    def import_items(self):
        names = [f"item {self.number()}" for _ in range(3)]
        importing.add_items(self.studio.database, [(name, "text", name, None) for name in names])
        with self.studio.database.read() as connection:
            self.item_ids = {row.key: row.id for row in connection.execute(item.select())}
        self.model.items.update(dict.fromkeys(names, False))

    def rename(self):
        one, name = self.some(self.model.live()), f"class {self.number()}"
        if one is not None:
            with self.studio.database.write() as connection:
                classes.change_class(connection, one, name=name, description="")
            self.model.classes[one].name = name

    def reorder(self):
        order = self.model.live()
        self.chance.shuffle(order)
        with self.studio.database.write() as connection:
            classes.order_classes(connection, order)
        self.model.order = [*order, *(one for one in self.model.order if one not in order)]

    def merge(self):
        sources = [k for k, one in self.model.classes.items() if one.merged is None]
        source, into = self.some(sources), self.some(self.model.live())
        if into is None or source == into or len(self.model.live()) < 3:
            return
        with self.studio.database.write() as connection:
            classes.merge_classes(connection, source, into)
        self.model.classes[source].retired, self.model.classes[source].merged = True, into
        for known in self.model.knows.values():
            if source in known:
                known.remove(source)
                known.add(into)

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
            del model.classes[one]
            model.order.remove(one)
            return
        model.classes[one].retired = True
        if one not in {model.now(choice) for _, _, choice, _ in model.answers if choice > 0}:
            for known in model.knows.values():
                known.discard(one)

    def bring_back(self):
        one = self.some(k for k, one in self.model.classes.items() if one.retired and one.merged is None)
        if one is not None:
            with self.studio.database.write() as connection:
                classes.bring_back_class(connection, one)
            self.model.classes[one].retired = False

    def tick(self):
        name = self.some(PEOPLE)
        now = {one for one in self.model.live() if self.chance.random() < 0.6}
        before = self.model.due(name)
        with self.studio.database.write() as connection:
            again = set_known(connection, self.ids[name], now)
        self.model.knows[name] = now | self.model.former(name)
        after = self.model.due(name)
        answered = {key for who, key in self.model.last() if who == name}
        assert again == len((after - before) & answered), "asked again"

    def set_gold(self):
        key, one = self.some(self.model.items), self.some([0, *self.model.live()])
        with self.studio.database.write() as connection:
            items.set_gold(connection, self.item_ids[key], one or None)
        if one:
            self.model.gold[key] = one
        else:
            self.model.gold.pop(key, None)

    def retire_item(self):
        key = self.some(self.model.items)
        change = items.bring_back_item if self.model.items[key] else items.retire_item
        with self.studio.database.write() as connection:
            change(connection, self.item_ids[key])
        self.model.items[key] = not self.model.items[key]

    def answer(self):
        name = self.some(PEOPLE)
        held, _ = self.studio.lease(self.ids[name], 200)
        assert {one.key for one in held} == self.model.due(name), f"{name} is asked"
        if not held:
            return
        lease = self.chance.choice(held)
        offered = sorted(self.model.offered(name))
        choice = self.chance.choice([*offered, *offered, NONE, UNSURE])
        said = NewAnswer(lease.item_id, lease.token, choice, f"answer-{self.number():06}")
        self.studio.record(Credentials("api", self.secrets[name]), said)
        self.model.answers.append((name, lease.key, choice, self.model.offered(name)))

    def answer_wrongly(self):
        """Answer what is not offered: it must be refused, and change nothing."""
        name = self.some(PEOPLE)
        held, _ = self.studio.lease(self.ids[name], 1)
        wrong = self.some(set(self.model.classes) - self.model.offered(name))
        if held and wrong is not None:
            said = NewAnswer(held[0].item_id, held[0].token, wrong, f"wrong-{self.number():06}")
            try:
                self.studio.record(Credentials("api", self.secrets[name]), said)
            except Refused:
                return
            raise AssertionError("an answer outside of what was offered was kept")

    EDITS = ("add_class", "import_items", "rename", "reorder", "merge", "retire", "bring_back", "tick",
             "tick", "tick", "set_gold", "retire_item", "answer_wrongly")  # fmt: skip

    def edit(self):
        what = self.chance.choice(self.EDITS)
        if what == "import_items" and len(self.model.items) > 30:
            what = "retire_item"
        if what == "add_class" and len(self.model.live()) > 8:
            what = "merge"
        getattr(self, what)()
        for _ in range(self.chance.randrange(4)):
            self.answer()

    def check(self):
        """Compare labels, history and exports with what the model says."""
        model, studio = self.model, self.studio
        expected = {(key, name): model.word(choice) for (key, name), choice in model.votes().items()}
        results = studio.results.refresh()
        if results is None:
            assert expected == {}
            return
        place = write_export(studio, "votes.csv", self.folder)
        with place.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert {(row["item"], row["expert"]): row["label"] for row in rows} == expected
        voters = [name for name in PEOPLE if model.knows[name]]
        kept = {one for name in voters for one in model.former(name)}
        used = [*model.live(), *(one for one in model.order if one in kept)]
        panel = covote.Panel.from_blocks(
            [model.word(one) for one in used],
            [[model.word(one) for one in used if one in model.knows[name]] for name in voters],
            voters,
        )
        text = io.StringIO()
        lines = csv.writer(text)
        lines.writerow(["item", "expert", "label"])
        lines.writerows((key, name, label) for (key, name), label in expected.items())
        voted = covote.Votes.from_table(_table(text.getvalue()), panel)
        labels = covote.decode(voted)
        plain = dict(zip(labels.items.tolist(), labels.value.tolist(), strict=True))
        keys = {number: key for key, number in self.item_ids.items()}
        found = zip(results.items.tolist(), results.labels.value.tolist(), strict=True)
        assert {keys[one]: label for one, label in found} == plain
        with studio.database.read() as connection:
            _, roster = studio.snapshot(connection)
            said = connection.execute(answer.select().add_columns(CHOICE).order_by(answer.c.id)).all()
            counts = {row.name: row.answers for row in connection.execute(person.select())}
            gold = {row.key: row.gold for row in connection.execute(item.select()) if row.gold}
        names = {number: name for name, number in self.ids.items()}
        history = [(names[one.person_id], keys[one.item_id], roster.answer_name(one.choice)) for one in said]
        assert history == [(name, key, model.told(choice)) for name, key, choice, _ in model.answers]
        assert gold == model.gold
        for name in PEOPLE:
            live = {key for key, retired in model.items.items() if not retired}
            done = {key for who, key in model.last() if who == name} & live
            assert counts[name] == len(done - model.due(name)), f"answers of {name}"


def _table(text):
    import pyarrow as pa

    rows = list(csv.DictReader(io.StringIO(text)))
    return pa.table({name: [row[name] for row in rows] for name in ("item", "expert", "label")})


def run(studio, folder, seed, edits):
    """Edit a project so many times, and compare after every tenth edit."""
    edited = Edited(studio, folder, seed)
    for number in range(edits):
        edited.edit()
        if number % 10 == 0:
            edited.check()
    edited.check()
    return edited
