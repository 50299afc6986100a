"""A labelling page stays open while classes change: it records what it showed, and loads again."""

import json

import pytest
from playwright.sync_api import expect

from covote_studio.context import open_studio
from covote_studio.editing import classes
from covote_studio.exchange import importing
from covote_studio.people import managing
from covote_studio.people.expertise import set_known
from covote_studio.storage.schema import answer, assignment, class_, options
from studio.tests.browser.conftest import SIZES, served
from studio.tests.browser.test_screens import ready, sent

pytestmark = pytest.mark.filterwarnings("default")  # what a browser's driver warns of is not ours
ITEMS = 30


@pytest.fixture
def birds(browser, tmp_path):
    """Serve a project of thirty notes, in which Ann knows robins and magpies."""
    studio = open_studio(tmp_path / "birds")
    with studio.database.write() as connection:
        classes.add_classes(connection, [classes.NewClass(name) for name in ("robin", "magpie", "raven")])
        managing.invite(connection, "Ann", [1, 2])
    importing.add_items(studio.database, [(f"n{k}", "text", f"note {k}", None) for k in range(ITEMS)])
    with served(studio) as rig:
        yield rig


@pytest.fixture
def ann(visit, birds):
    page = visit(**SIZES["phone"])
    birds.enter(page, "Ann")
    ready(page)
    return page


def change(rig, what, *arguments, **named):
    with rig.studio.database.write() as connection:
        what(connection, *arguments, **named)


def buttons(page):
    return [one.split("\n")[0] for one in page.locator("#choices .name").all_inner_texts()]


def tap(page, name):
    ready(page)
    page.locator(f".choice[data-name='{name}']").click()


def shown(rig):
    """Return what every answer says, and the classes that were on the screen with it."""
    with rig.studio.database.read() as connection:
        names = {row.id: row.name for row in connection.execute(class_.select())}
        lists = {row.id: json.loads(row.classes) for row in connection.execute(options.select())}
        rows = connection.execute(answer.select().order_by(answer.c.id)).all()
    return [
        (names.get(row.class_id, row.other), [names[one] for one in lists[row.options_id]]) for row in rows
    ]


def rename(connection):
    classes.change_class(connection, 1, name="redbreast", description="")


CHANGES = {
    "tick": (lambda c: set_known(c, 2, [1, 2, 3]), ["robin", "magpie", "raven"]),
    "untick": (lambda c: set_known(c, 2, [1]), ["robin"]),
    "rename": (rename, ["redbreast", "magpie"]),
    "retire": (lambda c: classes.retire_class(c, 2), ["robin"]),
    "merge": (lambda c: classes.merge_classes(c, 2, 1), ["robin"]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_an_open_page_records_what_it_showed_and_loads_again(birds, ann, what):
    edit, after = CHANGES[what]
    assert buttons(ann) == ["robin", "magpie"]
    change(birds, edit)
    tap(ann, "none of mine")
    expect(ann.locator("#choices .choice")).to_have_count(len(after))
    expect(ann.locator("#choices .name").first).to_contain_text(after[0])
    assert buttons(ann) == after
    ((said, listed),) = shown(birds)
    assert said == -2
    assert listed == (["redbreast", "magpie"] if what == "rename" else ["robin", "magpie"])
    expect(ann.locator("#notice")).to_contain_text("classes have changed")
    counted = "0 answered" if what == "tick" else "1 answered"  # the raven was missing: asked again
    expect(ann.locator("#counted")).to_contain_text(counted)


@pytest.mark.parametrize("what", ["untick", "retire", "merge"])
def test_a_tap_on_a_button_that_is_gone_is_kept_as_it_was_meant(birds, ann, what):
    change(birds, CHANGES[what][0])
    tap(ann, "magpie")
    expect(ann.locator("#choices .choice")).to_have_count(1)
    assert shown(birds) == [("magpie", ["robin", "magpie"])]
    expect(ann.locator("#counted")).to_contain_text("1 answered")


def test_twenty_answers_that_were_given_offline_keep_the_classes_that_were_in_view(birds, ann):
    ann.context.set_offline(True)
    for _ in range(20):
        tap(ann, "none of mine")
    change(birds, CHANGES["tick"][0])
    ann.context.set_offline(False)
    ann.evaluate("dispatchEvent(new Event('online'))")
    expect(ann.locator("#choices .choice")).to_have_count(3)  # loaded again once all are sent
    assert shown(birds) == [(-2, ["robin", "magpie"])] * 20
    with birds.studio.database.read() as connection:
        states = [row.state for row in connection.execute(assignment.select()) if row.person_id == 2]
    assert 2 not in states  # every one of them is asked again, with the raven
    expect(ann.locator("#counted")).to_contain_text("0 answered, 30 to go")


def test_a_page_that_is_loaded_again_counts_what_it_has_not_sent(birds, ann):
    ann.context.set_offline(True)
    for _ in range(3):
        tap(ann, "robin")
    ann.route("**/label/answer", lambda route: route.abort())
    ann.context.set_offline(False)
    ann.reload()
    expect(ann.locator("#counted")).to_contain_text("3 answered, 27 to go")
    ann.unroute("**/label/answer")
    ann.evaluate("dispatchEvent(new Event('online'))")
    sent(ann)
    expect(ann.locator("#counted")).to_contain_text("3 answered, 27 to go")
