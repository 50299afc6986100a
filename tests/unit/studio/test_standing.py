"""Progress never promises what cannot be."""

import numpy as np
import pytest

from covote.studio.answers.standing import standing
from covote.studio.exchange import importing
from covote.studio.people import managing


def now(rig):
    results, _ = rig.studio.results.get()
    with rig.studio.database.read() as connection:
        return standing(connection, *rig.studio.now(connection), results)


@pytest.mark.parametrize("rule", ["elimination", "vote", "posterior"])
def test_answers_still_needed_never_exceed_what_can_be_asked(rig, rule):
    importing.add_items(rig.studio.database, [(f"j{n}", "text", f"more {n}", None) for n in range(20)])
    with rig.studio.database.write() as connection:
        managing.change_project(connection, "p", "", rule)
    people, chance = ("ann", "bob", "cyd"), np.random.default_rng(1)
    browsers = {name: rig.browser(name) for name in people}
    for turn in range(60):
        browser = browsers[people[turn % 3]]
        leases = browser.post("/label/next").json()["leases"]
        if leases:
            options = [k for name in ("cat", "dog", "fox") for k in [name]]
            choice = ["none", *options][chance.integers(4)]
            rig.answer(browser, leases[0], choice)
        told = now(rig)
        assert told.needed is None or 0 <= told.needed <= 26 * 3 - told.answers
        assert 0 <= told.settled <= told.items == 26
    assert told.settled > 0


def test_where_everybody_is_asked_what_is_needed_is_what_is_left(rig):
    assert now(rig).needed == 18
    rig.label_all("ann", lambda _key: "cat")
    told = now(rig)
    assert (told.answers, told.needed, told.settled) == (6, 12, 0)
    rig.label_all("bob", lambda _key: "none")
    rig.label_all("cyd", lambda _key: "cat")
    told = now(rig)
    assert (told.answers, told.needed, told.settled) == (18, 0, 6)


def test_the_rate_of_a_project_of_days_has_its_pauses(rig):
    rig.label_all("ann", lambda _key: "cat")
    rig.label_all("bob", lambda _key: "none")
    assert now(rig).per_hour > 12 * 30  # within a minute
    with rig.studio.database.write() as connection:
        connection.exec_driver_sql("UPDATE answer SET at = at - 172800 WHERE id <= 6")
    assert now(rig).per_hour == pytest.approx(12 / 48, rel=0.01)
    assert now(rig).hours_left == pytest.approx(6 / (12 / 48), rel=0.01)
