"""Random taps, reloads and dropped connections: one answer for each item that was seen."""

import pytest
from sqlalchemy import select

from covote_studio.context import open_studio
from covote_studio.editing import classes
from covote_studio.exchange import importing
from covote_studio.people import managing
from covote_studio.storage.schema import answer, class_, item, person
from studio.tests.browser.conftest import SIZES, served
from studio.tests.browser.taps import Tapper

pytestmark = pytest.mark.filterwarnings("default")  # what a browser's driver warns of is not ours


def many_items(folder, count, people=("Gil",)):
    """Create a project with many texts and people who know two classes."""
    studio = open_studio(folder)
    with studio.database.write() as connection:
        classes.add_classes(connection, [classes.NewClass(name) for name in ("cat", "dog")])
        ids = list(connection.execute(select(class_.c.id)).scalars())
        for name in people:
            managing.invite(connection, name, ids)
    importing.add_items(studio.database, [(f"i{n}", "text", f"text {n}", None) for n in range(count)])
    return studio


def answered_keys(studio, name="Gil"):
    with studio.database.read() as connection:
        wanted = select(item.c.key).join(answer, answer.c.item_id == item.c.id).order_by(answer.c.id)
        mine = wanted.join(person, person.c.id == answer.c.person_id).where(person.c.name == name)
        return list(connection.execute(mine).scalars())


@pytest.mark.parametrize("seed", range(2))
def test_random_taps_answer_what_was_seen_once(visit, browser, tmp_path, seed):
    studio = many_items(tmp_path / "taps", 400)
    with served(studio) as rig:
        page = visit(**SIZES["phone"])
        rig.enter(page, "Gil")
        tapper = Tapper(page, rig.address, seed)
        tapper.open()
        for _ in range(40):
            tapper.step()
        tapper.end()
        assert (
            tapper.check(answered_keys(studio)) <= len(tapper.tabs) * 2
        )  # two tabs may answer the same item
    assert len(tapper.answered) > 15
