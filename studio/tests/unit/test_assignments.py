"""Who may answer what, and that nothing is lost, doubled or given to two people."""

import pytest

from covote_studio.answers.results import counted_answers
from covote_studio.editing import items
from covote_studio.people import managing
from covote_studio.people.expertise import asked_again, set_known
from covote_studio.rules import ADAPTIVE
from covote_studio.storage.schema import NONE, answer, assignment, person


def first(browser):
    return browser.post("/label/next").json()["leases"][0]


def test_an_answer_is_kept_once_however_often_it_is_sent(rig):
    ann = rig.browser("ann")
    lease = first(ann)
    told = [rig.answer(ann, lease, "cat").json() for _ in range(3)]
    assert [one["before"] for one in told] == [False, True, True]
    assert len(rig.rows(answer)) == 1


def test_the_same_form_with_another_answer_is_refused(rig):
    ann = rig.browser("ann")
    lease = first(ann)
    rig.answer(ann, lease, "cat")
    assert rig.answer(ann, lease, "dog").status_code == 409
    assert [row.class_id for row in rig.rows(answer)] == [rig.classes["cat"]]


def outside(rig, lease, choice, key):
    """Return the ways in which ann can send an answer: name -> a call that sends it."""
    ann, program = rig.browser("ann"), rig.program("ann")
    shown = rig.studio.snapshot()[1].member(rig.people["ann"]).options_id
    same = {"token": lease["token"], "key": key, "shown": shown}
    form = {**same, "item": lease["item_id"], "choice": rig.classes[choice]}
    said = {**same, "item_id": lease["item_id"], "answer": rig.classes[choice]}
    table = f"item,expert,label\n{lease['key']},ann,{choice}\n".encode()
    return {
        "page without script": lambda: ann.post("/label", data=form),
        "page": lambda: ann.post("/label/answer", json=form),
        "page with a token": lambda: program.post("/label/answer", json=form),
        "program": lambda: program.post("/api/answers", json=said),
        "import": lambda: rig.browser("owner").post("/import", files={"votes": ("votes.csv", table)}),
    }


WAYS = ["page without script", "page", "page with a token", "program", "import"]


@pytest.mark.parametrize("way", WAYS)
def test_a_class_outside_ones_own_is_refused_on_every_path(rig, way):
    refused = outside(rig, first(rig.browser("ann")), "fox", "a-key-of-ann")[way]()
    assert refused.status_code in (403, 422)
    assert "ann" in refused.json()["detail"]
    assert "know" in refused.json()["detail"]
    assert rig.rows(answer) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_class_that_was_taken_away_is_refused_in_a_form_that_still_shows_it(rig, way):
    lease = first(rig.browser("ann"))
    with rig.studio.database.write() as connection:
        set_known(connection, rig.people["ann"], [rig.classes["dog"]])
    assert outside(rig, lease, "cat", "a-key-of-ann")[way]().status_code in (403, 422)
    assert rig.rows(answer) == []
    assert outside(rig, lease, "dog", "another-key-of-ann")[way]().status_code == 200
    assert [row.class_id for row in rig.rows(answer)] == [rig.classes["dog"]]


@pytest.mark.parametrize("way", WAYS)
def test_an_old_form_sent_again_adds_nothing_once_its_class_is_taken_away(rig, way):
    lease = first(rig.browser("ann"))
    assert outside(rig, lease, "cat", "the-first-key")[way]().status_code == 200
    with rig.studio.database.write() as connection:
        set_known(connection, rig.people["ann"], [rig.classes["dog"]])
    replayed = outside(rig, lease, "cat", "the-first-key")[way]()
    assert replayed.status_code == (
        422 if way == "import" else 200
    )  # it is on record, as sent the first time
    assert outside(rig, lease, "cat", "a-second-key")[way]().status_code in (403, 422)
    assert len(rig.rows(answer)) == 1
    assert rig.studio.results.get()[0] is None  # and counts no more


def test_a_change_of_an_earlier_answer_obeys_the_same_rule(rig):
    ann = rig.browser("ann")
    rig.answer(ann, first(ann), "dog")
    again = ann.post("/label/undo").json()["lease"]
    assert rig.answer(ann, again, "fox").status_code == 403
    program = rig.program("ann")
    opened = program.post("/api/undo").json()
    said = {name: opened[name] for name in ("item_id", "token", "key", "shown")} | {
        "answer": rig.classes["fox"]
    }
    assert program.post("/api/answers", json=said).status_code == 403
    assert [row.class_id for row in rig.rows(answer)] == [rig.classes["dog"]]


def test_a_class_that_does_not_exist_is_refused(rig):
    ann = rig.browser("ann")
    lease = first(ann)
    for choice in (0, -1, -4, 99, 2**40):
        sent = {"item": lease["item_id"], "token": lease["token"], "key": "some-new-key", "choice": choice,
                "shown": rig.options_of("ann")}  # fmt: skip
        assert ann.post("/label/answer", json=sent).status_code == 403
    said = {"item_id": lease["item_id"], "token": lease["token"], "key": "some-new-key", "answer": "horse",
            "shown": 1}  # fmt: skip
    assert rig.program("ann").post("/api/answers", json=said).status_code == 422
    assert rig.rows(answer) == []


def test_somebody_elses_item_or_an_invented_token_is_refused(rig):
    ann, bob = rig.browser("ann"), rig.browser("bob")
    lease = first(ann)
    assert rig.answer(bob, lease, "dog").status_code == 403
    first(bob)
    assert rig.answer(bob, lease, "dog").status_code == 409
    assert rig.answer(ann, {**lease, "token": "x" * 20}, "dog").status_code == 409
    assert rig.rows(answer) == []


def test_reloading_and_a_second_tab_show_the_same_items(rig):
    ann = rig.browser("ann")
    before = [one["item_id"] for one in ann.post("/label/next").json()["leases"]]
    assigned = rig.rows(assignment)
    assert [one["item_id"] for one in ann.post("/label/next").json()["leases"]] == before
    assert rig.rows(assignment) == assigned


def test_undo_opens_the_last_answer_and_a_change_is_a_new_row(rig):
    ann = rig.browser("ann")
    lease = first(ann)
    rig.answer(ann, lease, "cat")
    again = ann.post("/label/undo").json()["lease"]
    assert (again["item_id"], again["chosen"]) == (lease["item_id"], rig.classes["cat"])
    assert rig.answer(ann, again, "dog").status_code == 200
    assert [row.class_id for row in rig.rows(answer)] == [rig.classes["cat"], rig.classes["dog"]]
    results, _ = rig.studio.results.get()
    assert results.votes.answers == 1
    assert results.labels.value[0] == "dog"


def test_everybody_is_asked_about_every_item_once(rig):
    for name, choice in {"ann": "dog", "bob": "dog", "cyd": "none"}.items():
        rig.label_all(name, lambda _key, choice=choice: choice)
    assert len(rig.rows(answer)) == 18
    results, _ = rig.studio.results.get()
    assert list(results.labels.value) == ["dog"] * 6


def test_not_sure_is_no_vote_and_none_of_mine_is_one(rig):
    ann, bob = rig.browser("ann"), rig.browser("bob")
    rig.answer(ann, first(ann), "unsure")
    assert rig.studio.results.get()[0] is None
    rig.answer(bob, first(bob), "none")
    assert rig.studio.results.get()[0].votes.answers == 1


def test_a_new_class_makes_earlier_answers_void_and_the_items_are_asked_again(rig):
    ann = rig.browser("ann")
    lease = first(ann)
    rig.answer(ann, lease, "cat")
    with rig.studio.database.write() as connection:
        assert set_known(connection, rig.people["ann"], rig.classes.values()) == 1
    assert rig.studio.results.get()[0] is None
    waiting = {one["item_id"] for one in ann.post("/label/next").json()["leases"]}
    leases = [one for one in ann.post("/label/next").json()["leases"] if one["item_id"] not in waiting]
    while lease["item_id"] not in waiting:
        told = rig.answer(ann, ann.post("/label/next").json()["leases"][0], "fox").json()
        waiting = {one["item_id"] for one in told["leases"]}
    assert leases == []


def test_an_item_that_is_asked_once_more_counts_as_unanswered_and_needs_a_key_of_its_own(rig):
    with rig.studio.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM item WHERE position > 1")
    ann = rig.browser("ann")
    lease = first(ann)
    rig.answer(ann, lease, "cat")
    with rig.studio.database.write() as connection:
        set_known(connection, rig.people["ann"], rig.classes.values())
    answered = {row.name: row.answers for row in rig.rows(person)}
    assert answered["ann"] == 0
    again = first(ann)
    assert again["item_id"] == lease["item_id"]
    refused = rig.answer(ann, again, "cat", lease["answer_key"])
    assert refused.status_code == 409
    assert "new key" in refused.json()["detail"]
    assert rig.answer(ann, again, "cat").json()["before"] is False
    assert [row.answers for row in rig.rows(person) if row.name == "ann"] == [1]


@pytest.mark.parametrize("rule", ADAPTIVE)
def test_one_after_another_is_asked_until_the_rule_is_content_and_never_two_at_once(rig, rule):
    with rig.studio.database.write() as connection:
        managing.change_project(connection, "p", "", rule)
    truth = {f"i{n}": ("cat", "dog", "fox")[n % 3] for n in range(1, 7)}
    known = {"ann": ("cat", "dog"), "bob": ("dog", "fox"), "cyd": ("cat", "fox")}
    browsers = {name: rig.browser(name) for name in known}
    for _ in range(40):
        for name, browser in browsers.items():
            leases = browser.post("/label/next").json()["leases"]
            held = [row.item_id for row in rig.rows(assignment) if row.state == 1]
            assert len(held) == len(set(held))
            if leases:
                right = truth[leases[0]["key"]]
                rig.answer(browser, leases[0], right if right in known[name] else "none")
    results, _ = rig.studio.results.get()
    found = dict(zip((f"i{n}" for n in range(1, 7)), results.labels.value, strict=True))
    assert found == truth
    assert len(rig.rows(answer)) < 18


def test_an_expired_lease_goes_to_somebody_else_in_adaptive_asking_only(rig):
    with rig.studio.database.write() as connection:
        managing.change_project(connection, "p", "", "elimination")
        connection.exec_driver_sql("UPDATE project SET lease_seconds = -1")
    ann, bob = rig.browser("ann"), rig.browser("bob")
    lease = first(ann)
    for _ in range(6):
        taken = {one["item_id"]: one for one in bob.post("/label/next").json()["leases"]}
        if lease["item_id"] in taken:
            break
        rig.answer(bob, next(iter(taken.values())), "dog")
    assert lease["item_id"] in taken
    assert rig.answer(ann, lease, "cat").status_code == 200  # late, and a vote like any other
    assert [row.class_id for row in rig.rows(answer) if row.person_id == rig.people["ann"]] == [
        rig.classes["cat"]
    ]
    assert rig.answer(bob, taken[lease["item_id"]], "none").status_code == 200
    with rig.studio.database.read() as connection:
        said = counted_answers(connection, rig.studio.snapshot(connection)[1], [lease["item_id"]])
    assert said[lease["item_id"]] == {rig.people["ann"]: rig.classes["cat"], rig.people["bob"]: NONE}


def test_ticking_a_class_again_asks_nothing_again_that_was_answered_with_it_in_view(rig):
    rig.label_all("ann", lambda _key: "cat")
    both, cat = [rig.classes["cat"], rig.classes["dog"]], [rig.classes["cat"]]
    with rig.studio.database.write() as connection:
        assert set_known(connection, rig.people["ann"], cat) == 0
        assert asked_again(connection, rig.people["ann"], both) == 0
        assert set_known(connection, rig.people["ann"], both) == 0
    assert rig.studio.results.get()[0].votes.answers == 6


def test_only_items_answered_without_a_new_class_in_view_are_asked_again_and_not_if_it_goes(rig):
    ann, everything = rig.browser("ann"), rig.classes.values()
    rig.answer(ann, first(ann), "cat")
    with rig.studio.database.write() as connection:
        set_known(connection, rig.people["ann"], everything)
    fresh = next(one for one in ann.post("/label/next").json()["leases"] if one["key"] == "i2")
    rig.answer(ann, fresh, "fox")
    two = [rig.classes["cat"], rig.classes["dog"]]
    with rig.studio.database.write() as connection:
        assert set_known(connection, rig.people["ann"], two) == 0  # what i1 waited for is gone
        assert asked_again(connection, rig.people["ann"], everything) == 1
        assert set_known(connection, rig.people["ann"], everything) == 1
    assert [row.answers for row in rig.rows(person) if row.name == "ann"] == [1]


def test_how_many_items_are_asked_again_is_told_before_it_is_saved(rig):
    rig.label_all("ann", lambda _key: "cat")
    owner, everything = rig.browser("owner"), {"class": list(rig.classes.values())}
    assert "6 items" in owner.get(f"/people/{rig.people['ann']}/again", params=everything).text
    nothing = {"class": list(rig.classes.values())[:1]}
    assert "items" not in owner.get(f"/people/{rig.people['ann']}/again", params=nothing).text
    assert len([row for row in rig.rows(assignment) if row.state == 0]) == 0


def test_an_item_that_comes_back_is_asked_again_if_a_class_came_meanwhile(rig):
    rig.label_all("ann", lambda _key: "cat")
    with rig.studio.database.write() as connection:
        items.retire_item(connection, 1)
        assert set_known(connection, rig.people["ann"], rig.classes.values()) == 5
    assert len(rig.browser("ann").post("/label/next").json()["leases"]) == 5
    with rig.studio.database.write() as connection:
        items.bring_back_item(connection, 1)
    assert len(rig.browser("ann").post("/label/next").json()["leases"]) == 6
