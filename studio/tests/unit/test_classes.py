"""Classes change while people work, and no answer ever says anything else than it said."""

import pytest
from sqlalchemy import delete
from sqlalchemy.exc import IntegrityError

from covote_studio.answers.results import merge_effect
from covote_studio.editing import record
from covote_studio.people.expertise import set_known
from covote_studio.storage.schema import answer, class_, event


@pytest.fixture
def owner(rig):
    return rig.browser("owner")


def labels(rig):
    results, _ = rig.studio.results.get()
    if results is None:
        return {}
    return dict(zip(results.items.tolist(), results.labels.value.tolist(), strict=True))


def change(rig, owner, what, which, **more):
    told = owner.post(f"/classes/{what}", data={"class": rig.classes[which], **more})
    assert told.status_code == 200, told.text


def test_a_class_with_answers_that_is_given_up_never_becomes_another_class(rig, owner):
    rig.label_all("ann", lambda _key: "cat")
    with rig.studio.database.write() as connection:
        set_known(connection, rig.people["ann"], [rig.classes["dog"]])
        set_known(connection, rig.people["cyd"], [rig.classes["fox"]])
    change(rig, owner, "retire", "cat")
    owner.post("/classes", data={"classes": "healthy skin"})
    assert rig.ids(class_)["healthy skin"] not in rig.classes.values()
    assert {row.class_id for row in rig.rows(answer)} == {rig.classes["cat"]}
    assert "cat (retired)" in owner.get("/review/1").text


def test_the_database_itself_protects_what_an_answer_names(rig):
    rig.label_all("ann", lambda _key: "cat")
    with rig.studio.database.write() as connection:
        connection.exec_driver_sql("DELETE FROM knows")
    with pytest.raises(IntegrityError), rig.studio.database.write() as connection:
        connection.execute(delete(class_).where(class_.c.id == rig.classes["cat"]))
    with pytest.raises(IntegrityError), rig.studio.database.write() as connection:
        connection.exec_driver_sql("UPDATE answer SET class_id = 99")


def test_an_id_is_not_given_twice_even_if_the_newest_class_goes(rig, owner):
    owner.post("/classes", data={"classes": "owl"})
    first = rig.ids(class_)["owl"]
    told = owner.post("/classes/retire", data={"class": first})
    assert "removed: nothing named it" in told.text
    owner.post("/classes", data={"classes": "owl"})
    assert rig.ids(class_)["owl"] == first + 1


def test_a_rename_keeps_every_vote(rig, owner):
    rig.label_all("ann", lambda _key: "cat")
    before = labels(rig)
    change(rig, owner, "change", "cat", name="kitten", description="small")
    assert set(before.values()) == {"cat"}
    assert labels(rig) == dict.fromkeys(before, "kitten")
    assert "kitten" in owner.get("/export/labels.csv").text
    taken = owner.post("/classes/change", data={"class": rig.classes["dog"], "name": "kitten"})
    assert taken.status_code == 409
    assert "merge the two" in taken.json()["detail"]
    assert owner.post("/classes/change", data={"class": 3, "name": "Not sure"}).status_code == 422


def test_merged_answers_count_for_the_other_class_and_the_history_says_so(rig, owner):
    rig.label_all("ann", lambda _key: "cat")
    change(rig, owner, "merge", "cat", into=rig.classes["fox"])
    assert set(labels(rig).values()) == {"fox"}
    assert {row.class_id for row in rig.rows(answer)} == {rig.classes["cat"]}
    assert "cat (now fox)" in owner.get("/review/1").text
    _, roster = rig.studio.snapshot()
    known = {one.name: roster.names_of(one.known) for one in roster.members}
    assert known == {"owner": [], "ann": ["dog", "fox"], "bob": ["dog", "fox"], "cyd": ["fox"]}
    lines = owner.get("/export/everything.csv").text
    assert '"ann: fox"' in lines
    assert "cat" not in lines
    rig.label_all("cyd", lambda _key: "fox")
    change(rig, owner, "merge", "fox", into=rig.classes["dog"])  # a merge of what was merged
    assert set(labels(rig).values()) == {"dog"}


def test_a_retired_class_is_not_offered_and_its_votes_count(rig, owner):
    for name in ("ann", "cyd"):
        browser = rig.browser(name)
        rig.answer(browser, browser.post("/label/next").json()["leases"][0], "cat")
    change(rig, owner, "retire", "cat")
    assert labels(rig) == {1: "cat"}
    ann = rig.browser("ann")
    lease = ann.post("/label/next").json()["leases"][0]
    assert rig.answer(ann, lease, "cat").status_code == 403
    assert rig.answer(ann, lease, "dog").status_code == 200
    assert labels(rig) == {1: "cat", 2: "dog"}
    shown = rig.browser("ann").get("/label", headers={"Accept": "text/html"}).text
    assert 'data-name="cat"' not in shown
    assert owner.get("/api/coverage").json()["names"] == ["dog", "fox"]


def test_somebody_asked_after_a_class_was_retired_says_nothing_about_it(rig, owner):
    ann = rig.browser("ann")
    rig.answer(ann, ann.post("/label/next").json()["leases"][0], "cat")
    change(rig, owner, "retire", "cat")
    cyd = rig.browser("cyd")  # knew cat; never saw it as an option for this item
    rig.answer(cyd, cyd.post("/label/next").json()["leases"][0], "none")
    results, _ = rig.studio.results.get()
    assert labels(rig) == {1: "cat"}
    assert results.votes.answers == 1


def test_a_class_that_comes_back_is_asked_where_it_was_not_in_view(rig, owner):
    rig.label_all("ann", lambda _key: "cat")
    change(rig, owner, "retire", "cat")
    rig.label_all("cyd", lambda _key: "none")
    told = owner.post("/classes/back", data={"class": rig.classes["cat"]})
    assert "6 answers are asked for again" in told.text
    assert set(labels(rig).values()) == {"cat"}


def test_a_retired_or_merged_name_is_told_when_it_is_typed_again(rig, owner):
    rig.label_all("ann", lambda _key: "cat")
    change(rig, owner, "retire", "cat")
    change(rig, owner, "merge", "fox", into=rig.classes["dog"])
    assert "bring it back" in owner.post("/classes", data={"classes": "cat"}).json()["detail"]
    assert "merged" in owner.post("/classes", data={"classes": "fox"}).json()["detail"]


def test_the_order_is_what_everybody_sees(rig, owner):
    change(rig, owner, "move", "fox", to="up")
    change(rig, owner, "move", "fox", to="up")
    assert owner.get("/api/project").json()["classes"] == ["fox", "cat", "dog"]
    noted = len(rig.rows(event))
    change(rig, owner, "move", "fox", to="up")  # it is the first already
    assert len(rig.rows(event)) == noted


def test_every_change_is_on_record_with_who_made_it(rig, owner):
    rig.label_all("ann", lambda _key: "cat")
    change(rig, owner, "change", "cat", name="kitten", description="")
    change(rig, owner, "merge", "cat", into=rig.classes["dog"])
    change(rig, owner, "retire", "fox")
    change(rig, owner, "back", "fox")
    with rig.studio.database.read() as connection:
        told = [(row.by, row.text) for row in record.record_entries(connection) if "class" in row.text]
    assert told[::-1] == [
        (None, "Added the classes cat, dog, fox."),
        ("owner", "Renamed the class cat to kitten."),
        ("owner", "Merged the class kitten into dog."),
        ("owner", "Retired the class fox."),
        ("owner", "Brought back the class fox."),
    ]


def test_answers_given_with_the_other_class_in_view_count_after_a_merge(rig, owner):
    rig.label_all("ann", lambda _key: "dog")  # seeing cat and dog
    with rig.studio.database.write() as connection:
        assert set_known(connection, rig.people["ann"], [rig.classes["dog"], rig.classes["fox"]]) == 6
    change(rig, owner, "merge", "cat", into=rig.classes["fox"])
    assert rig.browser("ann").post("/label/next").json()["leases"] == []
    assert set(labels(rig).values()) == {"dog"}


def test_a_merge_is_looked_at_before_it_is_made(rig, owner):
    for name, said in {"ann": "cat", "bob": "dog", "cyd": "cat"}.items():
        rig.label_all(name, lambda key, said=said: said if key == "i1" else "none")
    before = labels(rig)
    page = owner.get(f"/classes/{rig.classes['dog']}", headers={"Accept": "text/html"}).text
    assert '<option value="">choose a class</option>' in page  # nothing is chosen beforehand
    path = f"/classes/{rig.classes['dog']}/merge?into={rig.classes['fox']}"
    shown = owner.get(path, headers={"Accept": "text/html"}).text
    assert "Merge dog into fox?" in shown
    assert "1 agreed label becomes doubtful" in shown or "No agreed label becomes doubtful" in shown
    assert "ann will know fox." in shown
    assert labels(rig) == before  # looking changes nothing
    with rig.studio.database.write() as connection:
        effect = merge_effect(
            connection, rig.studio.results.refresh(), rig.classes["dog"], rig.classes["fox"]
        )
    was = rig.studio.results.refresh()
    change(rig, owner, "merge", "dog", into=rig.classes["fox"])
    now = rig.studio.results.refresh()
    fine = {one for one, s in zip(was.items, was.labels.status, strict=True) if s == "agreed"}
    bad = {one for one, s in zip(now.items, now.labels.status, strict=True) if s in ("conflict", "tied")}
    assert set(effect.conflicts) == fine & bad  # what the page said has come about
    change(rig, owner, "unmerge", "dog")
    assert labels(rig) == before


def test_a_merge_that_makes_labels_doubtful_says_which(rig, owner):
    for name, word in {"ann": "dog", "bob": "dog", "cyd": "none"}.items():
        rig.label_all(name, lambda _key, word=word: word)
    assert set(rig.studio.results.refresh().labels.status) == {"agreed"}
    path = f"/classes/{rig.classes['dog']}/merge?into={rig.classes['cat']}"
    shown = owner.get(path, headers={"Accept": "text/html"}).text
    assert "6 labels become cat" in shown
    assert "6 agreed labels become doubtful" in shown
    assert all(f"/review/{n}" in shown for n in range(1, 7))
    change(rig, owner, "merge", "dog", into=rig.classes["cat"])  # Cyd knows cats, and said none
    assert set(rig.studio.results.refresh().labels.status) <= {"conflict", "tied"}
