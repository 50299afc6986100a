"""The report: what a person should see first, and the review file that comes back as gold."""

import csv

import numpy as np
import pyarrow.parquet as pq
import pytest

from covote import Panel, Votes, decode
from covote.colours import DARK, LIGHT
from covote.errors import InputError
from covote.files import Outcome, Output, charts, decode_file, read_gold
from covote.files.report import headline, report_page
from covote.labels import MEANINGS, STATUSES


def outcome_of(tmp_path, panel, rows, output=None, **options):
    """Decode rows of class names (None: not asked) as a file."""
    votes = Votes.from_dense(
        [[-1 if name is None else panel.class_index(name) for name in row] for row in rows],
        panel,
        items=[f"x{n}" for n in range(len(rows))],
    )
    pq.write_table(votes.to_arrow("long"), tmp_path / "votes.parquet")
    return decode_file(tmp_path / "votes.parquet", output, panel, **{"method": "authority"} | options)


def page_of(outcome):
    return report_page(outcome, source="votes.parquet")


def test_votes_are_grouped_by_candidate_and_strangers_are_only_counted(tmp_path):
    # 40 experts that know neither class of the label's authorities stand before them in the panel.
    strangers = [["c", "d"]] * 40
    panel = Panel.from_blocks(["a", "b", "c", "d"], [*strangers, *[["a", "b"]] * 3, ["a", "c"], ["a", "d"]])
    outcome = outcome_of(tmp_path, panel, [["c", "d"] * 20 + ["a", "a", "b", "a", "a"]])
    (look,) = outcome.review_head
    assert look.label == "a"
    chips = page_of(outcome).split('<table class="sides">')[1].split("</table>")[0]
    shown = [
        chips.index(text)
        for text in (
            '<span class="chip says">expert-41</span>',
            '<span class="chip differs">expert-43 <span class="soft">b</span></span>',
        )
    ]
    assert shown == sorted(shown)
    assert ">expert-1<" not in chips
    assert "d × 20" in chips


PANEL = Panel.from_blocks(["a", "b", "c"], [["a", "b"], ["b", "c"], ["a", "c"]], ["ann", "bob", "cyd"])


def test_items_without_a_label_come_first_and_their_ties_are_named(tmp_path):
    rows = [["a", "b", "a"], ["a", "b", "c"], ["b", "b", "a"], ["a", "c", "a"]]
    outcome = outcome_of(tmp_path, PANEL, rows)
    first, *others = outcome.review_head
    assert (first.item, first.label, set(first.tied)) == ("x1", None, {"a", "b", "c"})
    assert all(look.label is not None for look in others)
    page = page_of(outcome)
    assert "tied between <b>a</b>, <b>b</b>, <b>c</b>" in page
    assert "The experts contradict each other: ask another expert who knows " in page


def test_the_headline_counts_what_is_open():
    votes = Votes.from_dense([[0, 1, 0], [0, 1, 2], [1, 1, 0]], PANEL)
    outcome = Outcome(votes, decode(votes, method="authority"))
    assert headline(outcome).startswith("2 of 3 items have a label; 1 is left open")
    some = Votes.from_dense([[0, 1, 0]], PANEL)
    assert headline(Outcome(some, decode(some))).startswith("The only item has a label")
    assert headline(Outcome(votes[:0], decode(votes[:0]))) == "There are no items."


def test_the_report_says_how_many_items_to_review_and_draws_it(tmp_path):
    rows = [["a", "b", "a"]] * 30 + [["a", "b", "c"], ["b", "c", "a"], ["a", "c", "a"], ["b", "b", None]] * 5
    outcome = outcome_of(tmp_path, PANEL, rows, method="likelihood")
    page = page_of(outcome)
    assert "How many items to review" in page
    assert "look at the first" in page
    few = page_of(outcome_of(tmp_path, PANEL, rows[:5], method="likelihood"))
    assert "How many items to review" in few
    assert "look at the first" not in few  # with fewer than ten items the table would have no rows
    assert 'aria-label="Labels expected to be right after review"' in page
    assert f"{outcome.expected_errors.needed(0.99):,} of 50 items" in page
    # Statuses that no item has take no room.
    assert [name for name in MEANINGS if f'"key {name}"' in page] == [
        name for name, count in zip(STATUSES, outcome.statuses, strict=True) if count
    ]


def test_good_agreement_is_not_drawn_as_a_fault():
    share = np.array([[np.nan, 0.99, 0.6], [0.99, np.nan, 1], [0.6, 1, np.nan]])
    faces = charts.heat(["a", "b", "c"], share).axes[0].collections[0].get_facecolor()
    red = [red > green for red, green, *_ in faces]
    assert red == [False, True, False]  # (b, a), (c, a), (c, b)


def test_how_many_of_the_doubtful_items_are_shown_is_said(tmp_path):
    outcome = outcome_of(tmp_path, PANEL, [["a", "b", "c"]] * 40)
    assert "25 of 40 shown" in page_of(outcome)


def test_pairs_that_nobody_knows_are_named_with_their_labels(tmp_path):
    panel = Panel.from_blocks(["a", "b", "c"], [["a", "b"], ["b", "c"]], ["ann", "bob"])
    page = page_of(outcome_of(tmp_path, panel, [["a", "b"], ["a", "b"], ["b", "c"], ["b", "b"]]))
    assert "1 pair of classes has no expert who knows both" in page
    uncovered = page[page.index('id="uncovered"') :]
    assert "<td>a / c</td>" in uncovered
    assert "Classes that no expert can tell apart" not in page_of(
        outcome_of(tmp_path, PANEL, [["a", "b", "a"]])
    )


def test_a_review_has_every_item_and_comes_back_as_gold(tmp_path):
    path = tmp_path / "review.csv"
    rows = [["a", "b", "a"], ["a", "b", "c"], ["b", "c", "a"]]
    outcome_of(tmp_path, PANEL, rows, Output(review=path))
    rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
    assert sorted(row["item"] for row in rows) == ["x0", "x1", "x2"]
    assert rows[0]["answers"] == "ann: a; bob: b; cyd: c"
    assert set(rows[0]["candidates"].split(" | ")) == {"a", "b", "c"}
    assert rows[-1]["suggested"] == "a"
    with pytest.raises(InputError, match="no rows with a label"):
        read_gold(path, PANEL)
    rows[0]["label"] = "b"  # what a person fills in; the others stay empty
    with path.open("w", newline="", encoding="utf-8") as opened:
        table = csv.DictWriter(opened, rows[0])
        table.writeheader()
        table.writerows(rows)
    assert read_gold(path, PANEL) == {rows[0]["item"]: "b"}


def test_names_from_files_are_text_in_the_page(tmp_path):
    panel = Panel(["<b>$x$</b>", "&"], [[1, 1], [1, 1]], ["<script>", '"q"'])
    page = page_of(outcome_of(tmp_path, panel, [["<b>$x$</b>", "&"]]))
    assert "<script>" not in page
    assert "<b>$x$</b>" not in page


def test_pictures_take_the_colours_of_the_page():
    drawn = charts.inline(charts.histogram(np.array([1, 2])), "Bars & more")
    assert "var(--main)" in drawn
    assert "var(--card)" in drawn
    assert not any(colour in drawn for colour in LIGHT.values())
    assert 'aria-label="Bars &amp; more"' in drawn
    assert len(set(LIGHT.values())) == len(LIGHT)
    assert set(DARK) == set(LIGHT)


def test_a_report_has_a_title_and_folds_its_notes(tmp_path):
    (tmp_path / "birds & bees.csv").write_text("photo,ann,bob\n1,a,a\n2,b,a\n3,,\n")
    chosen = Output(report=tmp_path / "report.html")
    decode_file(tmp_path / "birds & bees.csv", chosen, Panel(["a", "b"], [[1, 1]] * 3, ["ann", "bob", "cy"]))
    page = (tmp_path / "report.html").read_text()
    assert "<title>birds &amp; bees.csv</title>" in page
    assert "<h1>birds &amp; bees.csv</h1>" in page
    titled = Output(report=tmp_path / "titled.html", title="Skin study 2026")
    decode_file(tmp_path / "birds & bees.csv", titled, Panel(["a", "b"], [[1, 1]] * 2, ["ann", "bob"]))
    assert "<h1>Skin study 2026</h1>" in (tmp_path / "titled.html").read_text()
    warnings, notes = page.split('<details class="notes">')
    assert "No answer from cy was counted" in warnings
    assert "Items are read from &#39;photo&#39;." in notes
