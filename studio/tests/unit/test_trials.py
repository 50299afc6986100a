"""The qualification round: who is tested on what, what people are told, and what the owner sees."""

import pytest

from covote_studio.answers.results import Skill
from covote_studio.exchange import importing


@pytest.fixture
def tested(rig):
    """A rig with nine gold items at the end, three of each class, and a round of two per class."""
    gold = [(f"{name}-{n}", "text", "?", rig.classes[name]) for name in rig.classes for n in range(3)]
    importing.add_items(rig.studio.database, gold)
    return rig


def start(rig, **more):
    sent = {"name": "p", "instructions": "", "ask": "everybody", "trial": "2", "trial_first": "yes", **more}
    assert rig.browser("owner").post("/settings", data=sent).status_code == 200


def order(browser, rig, count, choose=lambda key: "unsure"):
    """Answer some items, and return their keys and what was told after each."""
    shown = []
    for _ in range(count):
        lease = browser.post("/label/next").json()["leases"][0]
        told = rig.answer(browser, lease, choose(lease["key"])).json()
        shown.append((lease["key"], told["right"]))
    return shown


def test_gold_items_of_the_classes_that_somebody_knows_come_first(tested):
    start(tested)
    shown = [key for key, _ in order(tested.browser("ann"), tested, 15)]
    assert shown[:4] == ["cat-0", "cat-1", "dog-0", "dog-1"]
    assert sorted(shown) == sorted({row.key for row in tested.rows(importing.item)})


def test_they_can_come_among_the_others(tested):
    start(tested, trial_first="no")
    keys = [key for key, _ in order(tested.browser("ann"), tested, 15)]
    assert len(set(keys)) == 15


@pytest.mark.parametrize("feedback", [False, True])
def test_people_are_told_what_it_was_if_the_owner_wants_it(tested, feedback):
    start(tested, **({"feedback": "on"} if feedback else {}))
    told = dict(order(tested.browser("ann"), tested, 6, lambda key: "cat"))
    expected = {"cat-0": "Right: it was “cat”.", "dog-0": "It was “dog”; you said “cat”.", "i1": ""}
    for key, sentence in expected.items():
        assert told[key] == (sentence if feedback else "")


def test_without_a_round_items_come_in_their_order(tested):
    assert [key for key, _ in order(tested.browser("ann"), tested, 2)] == ["i1", "i2"]


def test_the_owner_sees_declared_and_shown_skill_with_a_suggestion(tested):
    gold = [(f"more-{n}", "text", "?", tested.classes["dog"]) for n in range(9)]
    importing.add_items(tested.studio.database, gold)
    right = {"cat": "cat", "dog": "cat", "fox": "none", "more": "cat"}
    order(tested.browser("ann"), tested, 24, lambda key: right.get(key.split("-")[0], "unsure"))
    skills = {(one.expert, one.name): one for one in tested.studio.results.get()[0].skills}
    assert (skills["ann", "cat"].right, skills["ann", "cat"].asked) == (3, 3)
    assert (skills["ann", "dog"].right, skills["ann", "dog"].asked) == (0, 12)
    assert skills["ann", "dog"].suggestion == "untick"
    assert "untick" in tested.browser("owner").get("/experts").text


def test_a_suggestion_needs_enough_answers():
    assert Skill("a", "b", 1, 1, 0.2, 1.0).suggestion == "test more"
    assert Skill("a", "b", 9, 10, 0.6, 0.98).suggestion == "keep"
    assert Skill("a", "b", 1, 10, 0.02, 0.4).suggestion == "untick"
