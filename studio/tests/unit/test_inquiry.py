"""Whom to ask next in the studio is what the rules of covote.asking say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import simulate
from covote.asking import RULES, Asker, Elimination, Posterior, Vote
from covote.asking.answer_model import answer_table
from covote_studio.answers.inquiry import Inquiry, learned
from covote_studio.exchange import importing
from covote_studio.people import managing
from covote_studio.people.roster import Class, Roster
from covote_studio.rules import ADAPTIVE, Member
from covote_studio.storage.schema import NONE


def roster_of(known, cost=None):
    """Return a roster of people 11, 12, ... who know classes 1, 2, ..."""
    classes = tuple(Class(k + 1, f"c{k}", "", None) for k in range(len(known[0])))
    members = tuple(
        Member(
            11 + i, f"p{i}", "expert", True, False, 1.0 if cost is None else cost[i], 0,
            frozenset(int(k) + 1 for k in np.flatnonzero(row)), 1,
        )
        for i, row in enumerate(known)
    )  # fmt: skip
    return Roster(1, classes, members, {})


def rule_of(name, panel):
    """Return a rule; the one that learns has seen three items of every class."""
    if name != "posterior":
        return RULES[name]()
    truth = np.repeat(np.arange(len(panel.classes)), 3)
    return Posterior(answer_table(simulate(panel, truth, seed=1), truth))


@st.composite
def panels(draw):
    people, classes = draw(st.integers(1, 7)), draw(st.integers(2, 5))
    row = st.lists(st.booleans(), min_size=classes, max_size=classes).filter(any)
    return np.array(draw(st.lists(row, min_size=people, max_size=people)))


@settings(max_examples=40, deadline=None)  # a busy machine
@given(panels(), st.sampled_from(ADAPTIVE), st.integers(1, 1000), st.randoms(use_true_random=False))
def test_people_are_asked_in_the_order_in_which_an_asker_asks(known, rule, item_id, chance):
    """The Asker keeps the state of an item; the studio sees answers only, and must come to the same."""
    roster = roster_of(known)
    made = rule_of(rule, roster.panel)
    asker, inquiry = Asker(roster.panel, 1, made, partial=True, seed=item_id), Inquiry(roster, made)
    answers, said = {}, set()
    for _ in range(len(known)):
        asked = list(asker.next())
        if not asked:
            break
        (question,) = asked
        person = 11 + roster.panel.expert_index(question.expert)
        assert inquiry.next_person(answers, answers, item_id) == person
        for one in roster.voters:
            helps = inquiry.next_person(answers, answers, item_id, only=one.id)
            assert helps in (None, one.id)
        answer = chance.choice([*question.classes, "none of mine"])
        asker.tell(0, question.expert, answer)
        answers[person] = NONE if answer == "none of mine" else roster.class_by_name[answer].id
        said.add(answer)
    if asker.done[0] and asker.labels().value[0] in said:
        assert inquiry.settled(answers)
        assert inquiry.next_person(answers, answers, item_id) is None
    elif asker.stuck[0]:
        assert not inquiry.settled(answers)
        assert inquiry.next_person(answers, answers, item_id) is None


def test_a_class_that_is_left_but_that_nobody_has_said_is_asked_of_its_cheapest_authority():
    roster = roster_of([[1, 1, 0], [0, 0, 1], [0, 0, 1]], [1.0, 3.0, 2.0])
    inquiry = Inquiry(roster, Elimination())
    none_of_two = {11: NONE}
    assert not inquiry.settled(none_of_two)
    assert inquiry.next_person(none_of_two, none_of_two, 1) == 13
    assert inquiry.next_person(none_of_two, none_of_two, 1, only=12) == 12
    assert inquiry.settled({**none_of_two, 13: 3})


@pytest.mark.parametrize("rule", ADAPTIVE)
def test_of_equals_different_people_are_asked_about_different_items(rule):
    roster = roster_of([[1, 1]] * 4)
    inquiry = Inquiry(roster, rule_of(rule, roster.panel))
    assert len({inquiry.next_person({}, (), item_id) for item_id in range(50)}) == 4


def test_somebody_who_was_asked_and_is_not_sure_is_not_asked_again():
    inquiry = Inquiry(roster_of([[1, 1]]), Elimination())
    assert inquiry.next_person({}, (), 1) == 11
    assert inquiry.next_person({}, {11}, 1) is None


def test_answers_to_gold_items_support_the_promise_or_the_vote_decides(rig):
    with rig.studio.database.write() as connection:
        managing.change_project(connection, "p", "", "everybody")
    importing.add_items(
        rig.studio.database, [(f"g{n}", "text", "gold", rig.classes["dog"]) for n in range(20)]
    )
    with rig.studio.database.read() as connection:
        assert isinstance(learned(connection, rig.studio.snapshot(connection)[1]), Vote)
    rig.label_all("ann", lambda key: "dog" if key.startswith("g") else "unsure")
    with rig.studio.database.read() as connection:
        assert isinstance(learned(connection, rig.studio.snapshot(connection)[1]), Vote)
    importing.add_items(
        rig.studio.database, [(f"h{n}", "text", "gold", rig.classes["dog"]) for n in range(480)]
    )
    for who in ("ann", "bob"):
        rig.label_all(who, lambda key: "dog" if key[0] in "gh" else "unsure")
    with rig.studio.database.read() as connection:
        rule = learned(connection, rig.studio.snapshot(connection)[1])
    assert rule.promise == 0.01


def test_a_change_to_posterior_without_gold_answers_is_warned_of(rig):
    owner = rig.browser("owner")
    told = owner.post("/settings", data={"name": "p", "instructions": "", "ask": "posterior"})
    assert "No one has answered a gold item yet" in told.text
    lease = rig.browser("ann").post("/label/next").json()["leases"][0]
    assert lease["content"].startswith("text")
