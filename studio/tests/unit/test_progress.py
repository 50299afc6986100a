"""Progress never promises what cannot be."""

import numpy as np
import pytest
from sqlalchemy import update

from covote_studio.answers.progress import measure_progress, seconds_per_answer
from covote_studio.exchange import importing
from covote_studio.people import managing
from covote_studio.storage.schema import DONE, LEASED, WAITING, answer, assignment, item
from studio.tests.unit.conftest import KNOWN


def now(rig):
    results, _ = rig.studio.results.get()
    with rig.studio.database.read() as connection:
        return measure_progress(connection, *rig.studio.snapshot(connection), results)


@pytest.mark.parametrize("rule", ["elimination", "posterior"])
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


def agree(rig):
    """Let everyone say that all items are cats."""
    for name, known in KNOWN.items():
        rig.label_all(name, lambda _key, known=known: "cat" if "cat" in known else "none")


def test_where_everybody_is_asked_what_is_needed_is_what_is_left(rig):
    assert now(rig).needed == 18
    rig.label_all("ann", lambda _key: "cat")
    told = now(rig)
    assert (told.answers, told.needed, told.settled) == (6, 12, 0)  # no one else who knows cats has spoken
    rig.label_all("bob", lambda _key: "none")
    rig.label_all("cyd", lambda _key: "cat")
    told = now(rig)
    assert (told.answers, told.needed, told.settled) == (18, 0, 6)


def test_labels_that_rest_on_one_person_are_named_once_everyone_has_answered(rig):
    owner, page = rig.browser("owner"), {"Accept": "text/html"}
    with rig.studio.database.write() as connection:
        managing.change_person(connection, rig.people["cyd"], active=False, may_tick=False, role="expert")
    rig.label_all("ann", lambda _key: "cat")
    assert "on too few people" not in owner.get("/progress", headers=page).text  # bob has not answered yet
    rig.label_all("bob", lambda _key: "none")
    told = now(rig)
    assert (told.settled, told.statuses["incomplete"]) == (0, 6)
    shown = owner.get("/progress", headers=page).text
    assert (
        "6 labels rest on too few people: invite someone else who knows cat or fox, or decide them." in shown
    )
    for number in range(1, 7):
        owner.post(f"/review/{number}", data={"class": rig.classes["cat"], "reason": "seen"})
    shown = owner.get("/progress", headers=page).text
    assert "on too few people" not in shown
    assert "All 6 items are settled." in shown


def test_one_more_person_does_not_unsettle_what_is_agreed(rig):
    agree(rig)
    assert now(rig).settled == 6
    rig.invite("dan", "cat", "dog", "fox")
    told = now(rig)
    assert (told.settled, told.needed, told.late) == (6, 6, ["dan"])
    page = rig.browser("owner").get("/progress", headers={"Accept": "text/html"}).text
    assert "All 6 items are settled." in page
    assert "About 6 answers can still come, from dan" in page


def test_a_decision_settles_a_doubtful_item(rig):
    for name, said in {"ann": "cat", "bob": "dog", "cyd": "fox"}.items():
        rig.label_all(name, lambda _key, said=said: said)
    told = now(rig)
    assert told.settled == 0
    assert told.doubtful == 6
    owner = rig.browser("owner")
    owner.post("/review/1", data={"class": rig.classes["cat"], "reason": "whiskers"})
    told = now(rig)
    assert (told.settled, told.doubtful) == (1, 5)
    assert told.statuses["decided"] == 1


@pytest.mark.parametrize("way", ["elimination", "posterior"])
def test_items_that_everybody_answered_are_settled_after_a_change_of_the_way_of_asking(rig, way):
    agree(rig)
    owner = rig.browser("owner")
    owner.post("/settings", data={"name": "p", "instructions": "", "ask": way})
    assert {row.state for row in rig.rows(item)} == {DONE}
    assert now(rig).settled == 6
    assert now(rig).needed == 0


def test_an_item_that_waits_for_someone_who_leaves_is_given_to_another(rig):
    owner = rig.browser("owner")
    owner.post("/settings", data={"name": "p", "instructions": "", "ask": "elimination"})
    held = rig.browser("ann").post("/label/next").json()["leases"]
    assert held
    owner.post(f"/people/{rig.people['ann']}", data={"class": [1, 2]})  # "available" unticked
    rig.studio.reassess()
    there = {row.person_id for row in rig.rows(assignment) if row.state in (WAITING, LEASED)}
    assert rig.people["ann"] not in there
    got = [
        one["item_id"]
        for name in ("bob", "cyd")
        for one in rig.browser(name).post("/label/next").json()["leases"]
    ]
    assert {one["item_id"] for one in held} <= set(got)


def test_the_rate_is_in_days_and_has_its_pauses(rig):
    rig.label_all("ann", lambda _key: "cat")
    rig.label_all("bob", lambda _key: "none")
    assert now(rig).per_day is None  # a burst says nothing about a week
    with rig.studio.database.write() as connection:
        connection.exec_driver_sql("UPDATE answer SET at = at - 172800 WHERE id <= 6")
    told = now(rig)
    assert told.per_day == pytest.approx(6, rel=0.01)
    assert told.days_left == pytest.approx(1, rel=0.01)
    assert [count for _, count in told.days] == [6, 0, 6]


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


def test_seconds_are_the_median_without_pauses(rig):
    rig.studio.lease(rig.people["ann"], 6)
    importing.add_items(rig.studio.database, [(f"k{n}", "text", f"more {n}", None) for n in range(20)])
    rig.label_all("ann", lambda _key: "cat")
    gaps = [4, 9, 2000, 5, 7, 6, 8, 5, 7, 6, 3, 30, 6, 5, 7, 6, 8, 5, 7, 6, 3, 30, 6, 400, 6]
    with rig.studio.database.write() as connection:
        for number, at in enumerate(np.cumsum([1000, *gaps]), 1):
            connection.execute(update(answer).where(answer.c.id == number).values(at=float(at)))
    with rig.studio.database.read() as connection:
        middle = seconds_per_answer(connection)["ann"]
    assert middle == np.median([gap for gap in gaps if gap < 300]) == 6
