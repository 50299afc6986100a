"""The report: what a person should see first."""

import pyarrow.parquet as pq

from covote import Panel, Votes
from covote.files import decode_file
from covote.files.report.report import report_page


def test_who_knows_the_label_comes_first_and_is_never_cut_off(tmp_path):
    # 40 experts that know neither class of the label's authorities stand before them in the panel.
    strangers = [["c", "d"]] * 40
    panel = Panel.from_blocks(["a", "b", "c", "d"], [*strangers, *[["a", "b"]] * 3, ["a", "c"], ["a", "d"]])
    said = ["c", "d"] * 20 + ["a", "a", "b", "a", "a"]
    row = [panel.class_index(name) for name in said]
    votes = Votes.from_dense([row], panel, items=["x1"])
    pq.write_table(votes.to_arrow("long"), tmp_path / "votes.parquet")
    outcome = decode_file(tmp_path / "votes.parquet", None, panel, looks=3)
    page = report_page(outcome, source="votes.parquet", method="authority")
    (look,) = outcome.tally.second_look
    assert look.label == "a"
    chips = page[page.index('class="said"') :]
    shown = [
        chips.index(f'<span class="soft">{name}</span>') for name in ("expert-43", "expert-41", "expert-1")
    ]
    assert shown == sorted(shown)  # who differs, who agrees, who does not know the label
    assert "and 21 more" in chips
