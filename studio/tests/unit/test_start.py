"""From an empty project to invited people."""

import re

import pytest

from covote_studio.exchange import people_list
from covote_studio.exchange.people_list import read_people, rows_of
from covote_studio.storage.schema import person

PAGE = {"Accept": "text/html"}


def listed(rig, text):
    people, notes = read_people(rows_of(text), rig.studio.snapshot()[1])
    names = {number: name for name, number in rig.classes.items()}
    return [(one.name, sorted(names[k] for k in one.known), one.email, one.problems) for one in people], notes


@pytest.mark.parametrize(
    "text",
    [
        "Dan\tcat, dog\nEve\tfox\teve@example.org",
        "name\tknows\te-mail\nDan\tcat; dog\t\nEve\tfox\teve@example.org",
        "name\tcat\tdog\tfox\temail\nDan\tx\tX\t\t\nEve\t-\tno\t1\teve@example.org",
        "\tfox\tcat\tdog\tmail\nDan\t\tx\tx\t\nEve\tx\t\t\teve@example.org",
        'name,knows,email\nDan,"cat, dog",\nEve,Fox,eve@example.org',
        "name;knows;email\nDan;cat and dog;\nEve;fox;eve@example.org",
    ],
)
def test_a_list_of_people_is_read_however_it_is_written(rig, text):
    assert listed(rig, text) == (
        [("Dan", ["cat", "dog"], "", []), ("Eve", ["fox"], "eve@example.org", [])],
        [],
    )


def test_what_is_wrong_with_a_list_is_said_row_by_row(rig):
    people, notes = listed(
        rig, "name\tknows\tward\nann\tcat\t1\nFay\tdogs\t2\n\tcat\t3\nGus\teverything\t4\nGus\tcat\t5"
    )
    assert notes == ["Not used: ward."]
    problems = [" ".join(one[3]) for one in people]
    assert "already" in problems[0]
    assert problems[1] == "“dogs” is not a class; do you mean dog?"
    assert "needs a name" in problems[2]
    assert problems[3] == ""
    assert people[3][1] == ["cat", "dog", "fox"]
    assert "already" in problems[4]


def test_a_list_is_previewed_and_then_everybody_has_a_link(rig):
    owner = rig.browser("owner")
    text = "Dan\tcat, dog\nEve\tfox\teve@example.org\nbob\tcat"
    shown = owner.post("/people/list", data={"list": text}, headers=PAGE).text
    assert "2 people can be invited; 1 row cannot be read." in shown
    assert "Dan" not in rig.people
    kept = re.search(r'name="list" value="([^"]*)"', shown)[1]
    done = owner.post("/people/list", data={"list": kept, "confirm": "yes"}, headers=PAGE).text
    links = re.findall(r'value="http://testserver(/enter/[^"]+)"', done)
    assert len(links) == 2
    assert "mailto:eve@example.org?subject=" in done
    assert done.count("<svg") == 2
    for name, link in zip(("Dan", "Eve"), links, strict=True):
        assert f"Continue as {name}" in owner.get(link, headers=PAGE).text
    assert {row.name: row.email for row in rig.rows(person)}["Eve"] == "eve@example.org"


def test_a_list_is_a_spreadsheet_as_well(rig, tmp_path):
    import xlsxwriter

    with xlsxwriter.Workbook(tmp_path / "people.xlsx") as book:
        sheet = book.add_worksheet()
        for n, row in enumerate((["Name", "cat", "dog", "fox"], ["Dan", "x", "", "x"], ["Eve", "", "x", ""])):
            sheet.write_row(n, 0, row)
    content = (tmp_path / "people.xlsx").read_bytes()
    sent = {"data": {"confirm": "yes"}, "files": {"file": ("people.xlsx", content)}}
    assert "2 invitations" in rig.browser("owner").post("/people/list", **sent, headers=PAGE).text
    known = {one.name: one.known for one in rig.studio.snapshot()[1].members}
    assert known["Dan"] == {rig.classes["cat"], rig.classes["fox"]}


def test_those_who_have_not_come_in_get_new_links(rig):
    rig.browser("ann")
    done = rig.browser("owner").post("/invitations", headers=PAGE).text
    assert "2 invitations" in done
    assert "Link for bob" in done
    assert "Link for ann" not in done


def test_the_start_page_is_the_project_until_people_answer(rig):
    owner = rig.browser("owner")
    assert owner.get("/").url.path == "/start"
    rig.answer(rig.browser("ann"), rig.browser("ann").post("/label/next").json()["leases"][0], "cat")
    assert owner.get("/").url.path == "/progress"


def test_nobody_waits_while_a_list_is_read(rig, monkeypatch):
    def read(*of):
        assert rig.others_can_write()
        return read_people(*of)

    monkeypatch.setattr("covote_studio.pages.start.read_people", read)
    owner = rig.browser("owner")
    assert (
        "1 person can be invited" in owner.post("/people/list", data={"list": "Dan\tcat"}, headers=PAGE).text
    )


def test_few_unknown_words_are_compared_with_all_classes(rig, monkeypatch):
    compared = []
    monkeypatch.setattr(people_list, "get_close_matches", lambda word, *_: compared.append(word) or [])
    people, _ = listed(rig, "\n".join(f"P{n}\tmissing {n}, absent" for n in range(300)))
    assert len(compared) == people_list.MOST_HINTS
    assert people[299][3] == ["“missing 299” is not a class", "“absent” is not a class"]
