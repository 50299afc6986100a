"""A study in one workbook, as a hospital keeps it, and the sheets of workbooks."""

import json
import subprocess
import sys

import numpy as np
import openpyxl
import pytest
import xlsxwriter

from covote import Panel
from covote.files import VoteFile, read_gold
from covote.files.workbook import read_workbook
from covote.tables.sheets import read_sheets

DIAGNOSES = ["Melanoma", "Naevus", "Lentigo", "Basalioma", "Psoriasis", "Eczema"]
DOCTORS = {
    "Dr. Anna Meyer": "MNL",
    "Dr. Bob O'Brien": "BPE",
    "Prof. Cho": "MBN",
    "Dr. Dürr": "LPE",
    "Dr. Eve Lee": "MPN",
    "Dr. Fay": "LBE",
    "Dr. Gil": "MLE",
    "Dr. Hay": "NBP",
    "Dr. Ivo Zott": "MNE",
}
ABSENT = "Dr. Ivo Zott"


def hospital(path, *, cases=120, twice=False):
    """Write the workbook of a hospital's data manager, with everything that people do to workbooks."""
    rng = np.random.default_rng(5)
    book = xlsxwriter.Workbook(path)
    knows, answers = book.add_worksheet("Who knows what"), book.add_worksheet("Answers")
    book.add_worksheet("Tabelle3")
    knows.merge_range(0, 0, 0, 4, "Dermatology panel 2026, version 3")
    knows.merge_range(1, 2, 1, 5, "tumours")
    knows.merge_range(1, 6, 1, 7, "inflammation")
    knows.write_row(2, 0, ["Doctor", "Clinic", *DIAGNOSES, "Comment", "left"])
    for row, (doctor, letters) in enumerate(DOCTORS.items(), start=3):
        ticks = ["x" if name[0] in letters else "" for name in DIAGNOSES]
        name = "Dr. Fay" if twice and doctor == "Prof. Cho" else doctor
        left = "May 2026" if doctor == ABSENT else ""
        knows.write_row(row, 0, [name, "North" if row % 2 else "South", *ticks, "", left])
    knows.write(4, 8, "part time")
    knows.write(len(DOCTORS) + 5, 0, "x = sees such cases every week")
    head = ["Case", "Date", "Age", "Sex", *DOCTORS, "Histology", "Comment"]
    head[4] = "dr anna meyer "
    head[6] = "Prof. Cho" if not twice else "Dr. Fay"
    answers.write(0, 0, "Answers, exported on Monday")
    answers.write_row(2, 0, head)
    truth = rng.integers(len(DIAGNOSES), size=cases)
    for n, k in enumerate(truth):
        row = [f"C-{n:03d}", "2026-03-0" + str(1 + n % 9), 20 + n % 60, "fm"[n % 2]]
        for doctor, letters in DOCTORS.items():
            own = [name for name in DIAGNOSES if name[0] in letters]
            right = DIAGNOSES[k] in own and rng.random() < 0.95
            said = DIAGNOSES[k] if right else str(rng.choice(own))
            if rng.random() < 0.05 or (doctor == ABSENT and n > 40):
                said = ""
            said = {7: said.upper(), 8: said + " ", 9: "don't know"}.get(n, said)
            row.append("Naevvus" if said == "Naevus" and n % 50 == 3 else said)
        row += [DIAGNOSES[k] if n % 3 == 0 else "", "see photo" if n == 4 else ""]
        answers.write_row(3 + n, 0, row)
    book.close()
    return [DIAGNOSES[k] for k in truth]


def labels_of(folder):
    (sheet, *_) = read_sheets(folder / "labels.xlsx").values()
    head, *rows = sheet.rows
    return {row[head.index("item")]: row[head.index("label")] for row in rows}


def test_a_hospitals_workbook_becomes_labels_review_list_and_report(tmp_path, covote):
    truth = hospital(tmp_path / "study.xlsx")
    said = covote("start", tmp_path / "study.xlsx").out
    assert "9 experts and 6 classes" in said
    assert "'Clinic' has no ticks" in said
    assert f"left: {ABSENT}" in said
    assert "gold items: column 'Histology'" in said
    assert "'Naevvus' as 'Naevus'" in said
    assert 'read as no answer: "don\'t know"' in said
    folder = tmp_path / "study-labels"
    assert {path.name for path in folder.iterdir()} == {"labels.xlsx", "review.xlsx", "report.html"}
    found = labels_of(folder)
    right = [found[f"C-{n:03d}"] == name for n, name in enumerate(truth)]
    assert len(found) == 120
    assert np.mean(right) > 0.85


def test_two_people_with_one_name_are_the_only_correction_by_hand(tmp_path, covote):
    study = tmp_path / "study.xlsx"
    hospital(study, twice=True)
    ended = covote("start", study)
    assert ended.status == 2
    assert "expert 'Dr. Fay' appears twice (rows 6, 9)" in ended.err
    assert "#Answers has two columns 'Dr. Fay'" in ended.err
    assert not (tmp_path / "study-labels").exists()
    book = openpyxl.load_workbook(study)
    book["Who knows what"]["A6"] = book["Answers"]["G3"] = "Dr. Fay (North)"
    book.save(study)
    assert "left: Dr. Ivo Zott" in covote("start", study).out
    assert len(labels_of(tmp_path / "study-labels")) == 120


@pytest.mark.parametrize("sheet", ["Answers", "answers"])
def test_a_sheet_is_chosen_by_its_name(tmp_path, covote, sheet):
    hospital(tmp_path / "study.xlsx")
    said = covote(
        "decode", f"{tmp_path}/study.xlsx#{sheet}", "--panel", tmp_path / "study.xlsx", "--unknown", "drop",
        "--gold-column", "Histology", "-o", tmp_path / "labels.csv",
    )  # fmt: skip
    assert "120 items" in said.out


def test_a_sheet_that_is_not_there_is_answered_with_those_that_are(tmp_path, covote):
    hospital(tmp_path / "study.xlsx")
    ended = covote("check", f"{tmp_path}/study.xlsx#Antworten")
    assert ended.status == 2
    assert "no sheet 'Antworten'" in ended.err
    assert "'Who knows what'" in ended.err


def test_the_workbook_is_not_overwritten_by_its_labels(tmp_path, covote):
    hospital(tmp_path / "study.xlsx")
    place = f"{tmp_path}/study.xlsx"
    ended = covote("decode", f"{place}#Answers", "--panel", place, "-o", place)
    assert "would overwrite the input" in ended.err


@pytest.mark.filterwarnings("ignore:column 'Clinic' has no ticks")
def test_a_review_list_is_filled_in_by_choosing_and_read_as_gold(tmp_path, covote):
    hospital(tmp_path / "study.xlsx")
    covote("start", tmp_path / "study.xlsx")
    review = tmp_path / "study-labels" / "review.xlsx"
    book = openpyxl.load_workbook(review)
    page = book["covote"]
    assert page.freeze_panes == "A2"
    (offered,) = page.data_validations.dataValidation
    assert str(offered.sqref).startswith("B2:B")
    assert [cell.value for (cell,) in book["lists"].iter_rows()] == DIAGNOSES
    page["B2"] = "Naevus"
    book.save(review)
    panel = Panel.load(tmp_path / "study.xlsx")
    assert read_gold(review, panel)[page["A2"].value] == "Naevus"


def test_a_column_that_is_not_a_class_is_named_in_a_line(tmp_path):
    hospital(tmp_path / "study.xlsx")
    ran = subprocess.run(
        [sys.executable, "-m", "covote", "check", "study.xlsx", "--json"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.stderr == "Warning: column 'Clinic' has no ticks, so it is not a class\n"
    assert json.loads(ran.stdout)


def test_a_second_start_takes_what_was_filled_in_and_keeps_it(tmp_path, covote):
    hospital(tmp_path / "study.xlsx")
    covote("start", tmp_path / "study.xlsx")
    review = tmp_path / "study-labels" / "review.xlsx"
    book = openpyxl.load_workbook(review)
    first = book["covote"]["A2"].value
    book["covote"]["B2"] = "Naevus"
    book.save(review)
    for _ in range(2):
        said = covote("start", tmp_path / "study.xlsx").out
        assert f"{review}: 1 item filled in" in said
        assert labels_of(review.parent)[first] == "Naevus"


@pytest.mark.parametrize(("name", "content", "words"), [
    ("study.xlsm", b"", "a workbook of another kind; save it as .xlsx"),
    ("study.ods", b"", "a workbook of another kind; save it as .xlsx"),
    ("study.csv", b"", "for other files: covote decode"),
    ("study.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "as .xlsx, without a password"),
    ("study", None, "no file"),
])  # fmt: skip
def test_files_that_are_no_workbooks_are_answered_with_what_to_do(tmp_path, covote, name, content, words):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    ended = covote("start", tmp_path / name)
    assert ended.status == 2
    assert words in ended.err


def test_who_knows_what_is_pointed_out_if_it_is_in_the_workbook_and_not_used(tmp_path, covote):
    hospital(tmp_path / "study.xlsx")
    said = covote("decode", tmp_path / "study.xlsx").out
    assert "sheet 'Who knows what' says who knows what: use it with --panel" in said


def test_a_form_and_somebody_who_left_in_one_workbook(tmp_path):
    """Ticks with a column "left", and answers as a form exports them: a row for each expert."""
    experts = {"Dr. Ada Lee": "AB", "Dr. Bo Cho": "AC", "Dr. Cy Eck": "BC", "Dr. Di Fay": "BC"}
    book = openpyxl.Workbook()
    ticks, form = book.active, book.create_sheet("Form responses 1")
    ticks.title = "Experts"
    ticks.append(["Name", *"ABC", "left"])
    form.append(["Timestamp", "Your name", *(f"Photo {n}" for n in range(1, 31))])
    for name, known in experts.items():
        ticks.append(
            [name, *("x" if one in known else None for one in "ABC"), "May" if "Fay" in name else None]
        )
        said = ["ABC"[n % 3] if "ABC"[n % 3] in known else known[n % 2] for n in range(30)]
        form.append(["2026-03-04 09:30", name.removeprefix("Dr. "), *said])
    path = tmp_path / "study.xlsx"
    book.save(path)
    found = read_workbook(path)
    assert "left: Dr. Di Fay" in found.notes
    assert found.panel.present.names == tuple(experts)[:3]
    votes = VoteFile(found.answers, found.panel, found.reading).read()
    assert (len(votes), votes.answers) == (30, 120)
    assert votes.items[:2].tolist() == ["Photo 1", "Photo 2"]
