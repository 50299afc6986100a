"""Progress never promises what cannot be."""

import numpy as np
import pytest
from sqlalchemy import update

from covote_studio.answers.standing import seconds_per_answer, standing
from covote_studio.exchange import importing
from covote_studio.people import managing
from covote_studio.storage.schema import answer


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


def test_agreement_is_that_of_the_others_who_know_the_class_that_was_named(rig):
    said = {
        "ann": ["cat", "cat", "dog", "cat", "dog", "none"],  # knows cat and dog
        "bob": ["none", "dog", "dog", "none", "fox", "fox"],  # knows dog and fox
        "cyd": ["cat", "fox", "none", "none", "none", "fox"],  # knows cat and fox
    }
    for name, answers in said.items():
        rig.label_all(name, lambda key, answers=answers: answers[int(key[1:]) - 1])
    knows = {"ann": ("cat", "dog"), "bob": ("dog", "fox"), "cyd": ("cat", "fox")}
    results, _ = rig.studio.results.get()
    for i, name in enumerate(results.panel.names):
        shares = []
        for n, named in enumerate(said.get(name, [])):
            others = [said[one][n] for one in said if one != name and named in knows[one]]
            if named != "none" and others:
                shares.append(others.count(named) / len(others))
        share, low, high = (float(one[i]) for one in results.agreement)
        if shares:
            assert share == pytest.approx(np.mean(shares))
            assert 0 <= low < share < high <= 1 or share in (0, 1)
        else:
            assert np.isnan(share)
    assert "50%" in rig.browser("owner").get("/experts", headers={"Accept": "text/html"}).text


def test_seconds_are_the_median_with_an_interval_that_leaves_pauses_out(rig):
    rig.studio.lease(rig.people["ann"], 6)
    importing.add_items(rig.studio.database, [(f"k{n}", "text", f"more {n}", None) for n in range(20)])
    rig.label_all("ann", lambda _key: "cat")
    gaps = [4, 9, 2000, 5, 7, 6, 8, 5, 7, 6, 3, 30, 6, 5, 7, 6, 8, 5, 7, 6, 3, 30, 6, 400, 6]
    with rig.studio.database.write() as connection:
        for number, at in enumerate(np.cumsum([1000, *gaps]), 1):
            connection.execute(update(answer).where(answer.c.id == number).values(at=float(at)))
    with rig.studio.database.read() as connection:
        middle, low, high = seconds_per_answer(connection)["ann"]
    kept = sorted(gap for gap in gaps if gap < 300)
    assert middle == np.median(kept) == 6
    # The median is below k of n times with the chance of at most k heads in n tosses of a coin.
    assert (low, high) == (kept[6], kept[-7]) == (5, 7)
