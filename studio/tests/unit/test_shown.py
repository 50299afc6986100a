"""What is recorded is what was on the screen, whatever happens to the classes meanwhile."""

import pytest

from covote_studio.editing import classes
from covote_studio.people.expertise import set_known
from covote_studio.storage.schema import LEASED, answer, assignment, class_, options
from studio.tests.unit.conftest import KNOWN


@pytest.fixture
def page(rig):
    """Ann's open page: what it shows, its items, and how it answers."""
    return Page(rig, "ann")


class Page:
    def __init__(self, rig, name):
        self.rig, self.name, self.browser = rig, name, rig.browser(name)
        self.shown = rig.options_of(name)
        self.leases = self.browser.post("/label/next").json()["leases"]

    def tap(self, choice, **more):
        lease = self.leases.pop(0)
        told = self.rig.answer(self.browser, lease, choice, shown=self.shown, **more)
        return lease, told


def change(rig, what, *arguments):
    with rig.studio.database.write() as connection:
        return what(connection, *arguments)


def listed(rig, number):
    """Return the names of the classes that were shown with an answer."""
    lists = {row.id: row.classes for row in rig.rows(options)}
    names = {row.id: row.name for row in rig.rows(class_)}
    row = next(one for one in rig.rows(answer) if one.id == number)
    return sorted(names[int(one)] for one in lists[row.options_id].strip("[]").split(","))


def votes(rig):
    rig.studio.results.refresh()
    results, _ = rig.studio.results.get()
    return 0 if results is None else results.votes.answers


def test_a_tick_does_not_put_words_into_the_mouth_of_an_open_page(rig, page):
    change(rig, set_known, rig.people["ann"], rig.classes.values())
    lease, told = page.tap("none")
    assert told.status_code == 200
    assert listed(rig, 1) == ["cat", "dog"]  # and not fox, which Ann was never shown
    assert votes(rig) == 0
    mine = [row for row in rig.rows(assignment) if row.item_id == lease["item_id"]]
    assert [row.state for row in mine] == [LEASED]  # asked again, with the fox
    assert told.json()["done"] == 0


def test_an_answer_of_an_open_page_counts_if_nothing_was_missing(rig, page):
    change(rig, set_known, rig.people["ann"], [rig.classes["cat"]])  # the dog is unticked
    _, told = page.tap("cat")
    assert listed(rig, 1) == ["cat", "dog"]
    assert votes(rig) == 1
    assert told.json()["done"] == 1
    page.tap("dog")  # kept as it was said, and no vote: Ann does not know dogs
    assert [row.class_id for row in rig.rows(answer)] == [rig.classes["cat"], rig.classes["dog"]]
    assert votes(rig) == 1


def test_a_retired_class_that_an_open_page_shows_can_still_be_chosen(rig, page):
    change(rig, classes.retire_class, rig.classes["dog"])
    _, told = page.tap("dog")
    assert told.status_code == 200
    assert told.json()["done"] == 1
    assert votes(rig) == 1  # as a vote before the class was retired


def test_a_merged_class_counts_for_the_other_on_an_open_page(rig, page):
    change(rig, classes.merge_classes, rig.classes["dog"], rig.classes["cat"])
    page.tap("dog")
    assert listed(rig, 1) == ["cat", "dog"]
    results = rig.studio.results.refresh()
    assert results.labels.value.tolist() == ["cat"]


@pytest.mark.parametrize(
    ("what", "arguments"),
    [
        (set_known, lambda rig: (rig.people["ann"], [rig.classes["cat"]])),
        (classes.retire_class, lambda rig: (rig.classes["dog"],)),
        (classes.merge_classes, lambda rig: (rig.classes["dog"], rig.classes["cat"])),
    ],
)
def test_an_open_page_is_told_to_load_again(rig, page, what, arguments):
    now = rig.browser("ann").get("/label", headers={"Accept": "text/html"}).text
    screen = now.split("&#34;screen&#34;: &#34;")[1].split("&")[0]
    assert page.browser.post("/label/next", json={"screen": screen}).json()["reload"] is False
    change(rig, what, *arguments(rig))
    assert page.browser.post("/label/next", json={"screen": screen}).json()["reload"] is True


def test_a_rename_makes_an_open_page_out_of_date(rig, page):
    before = rig.studio.snapshot()[1]
    with rig.studio.database.write() as connection:
        classes.change_class(connection, rig.classes["dog"], name="hound", description="")
    after = rig.studio.snapshot()[1]
    ann, bob = (after.member(rig.people[name]) for name in ("ann", "bob"))
    assert before.screen(before.member(ann.id)) != after.screen(ann)
    assert before.screen(before.member(bob.id)) != after.screen(bob)
    cyd = after.member(rig.people["cyd"])  # does not know dogs
    assert before.screen(before.member(cyd.id)) == after.screen(cyd)


def test_a_list_that_someone_never_had_is_refused(rig, page):
    theirs = rig.studio.snapshot()[1].member(rig.people["bob"]).options_id
    page.shown = theirs
    _, told = page.tap("fox")
    assert told.status_code == 409
    assert rig.rows(answer) == []


def test_a_class_that_was_not_on_the_screen_is_refused(rig, page):
    _, told = page.tap("fox")
    assert told.status_code == 403
    change(rig, set_known, rig.people["ann"], rig.classes.values())
    _, told = page.tap("fox")  # Ann knows it now, but this page did not show it
    assert told.status_code == 403
    assert rig.rows(answer) == []


def test_programs_say_which_list_they_answer_from(rig):
    program = rig.program("ann")
    (lease,) = program.post("/api/leases").json()
    change(rig, set_known, rig.people["ann"], rig.classes.values())
    sent = {
        "item_id": lease["item_id"],
        "token": lease["token"],
        "key": lease["key"],
        "answer": "none of mine",
    }
    assert program.post("/api/answers", json=sent).status_code == 422
    told = program.post("/api/answers", json={**sent, "shown": lease["shown"]}).json()
    assert told["outdated"] is True
    assert listed(rig, 1) == ["cat", "dog"]
    again = program.post("/api/leases?count=100").json()
    assert lease["item_id"] in [one["item_id"] for one in again]


def test_programs_name_classes_by_ids_which_a_rename_does_not_change(rig):
    program = rig.program("ann")
    (lease,) = program.post("/api/leases").json()
    ids = {one["name"]: one["id"] for one in lease["options"]}
    assert ids == {name: rig.classes[name] for name in KNOWN["ann"]}
    for name, new in (("cat", "x"), ("dog", "cat"), ("cat", "dog")):  # the two exchange their names
        with rig.studio.database.write() as connection:
            classes.change_class(connection, ids[name], name=new, description="")
    sent = {name: lease[name] for name in ("item_id", "token", "key", "shown")}
    assert program.post("/api/answers", json={**sent, "answer": "cat"}).status_code == 422
    told = program.post("/api/answers", json={**sent, "answer": ids["cat"]})
    assert told.status_code == 200
    assert [row.class_id for row in rig.rows(answer)] == [ids["cat"]]
    assert rig.studio.results.refresh().labels.value.tolist() == ["dog"]


def test_a_merge_can_be_undone_completely(rig, page):
    page.tap("dog")
    page.tap("cat")
    before = rig.studio.results.refresh()
    people = {one.name: one.known for one in before.roster.members}
    change(rig, classes.merge_classes, rig.classes["dog"], rig.classes["cat"])
    merged = rig.studio.results.refresh()
    assert merged.labels.value.tolist() == ["cat", "cat"]
    assert change(rig, classes.undo_merge, rig.classes["dog"]) == 0
    after = rig.studio.results.refresh()
    assert {one.name: one.known for one in after.roster.members} == people
    assert after.labels.value.tolist() == before.labels.value.tolist() == ["dog", "cat"]


def test_what_was_answered_while_two_classes_were_one_is_asked_again(rig):
    change(rig, classes.merge_classes, rig.classes["dog"], rig.classes["cat"])
    page = Page(rig, "ann")
    page.tap("cat")
    assert change(rig, classes.undo_merge, rig.classes["dog"]) == 1
