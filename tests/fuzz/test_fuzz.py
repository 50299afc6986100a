"""Damaged files of every kind: refused in one line, or labelled as the plain authority vote says.

`make fuzz` runs 20,000; here are the first few hundred.
"""

from tests.fuzz.driver import campaign


def test_damaged_files_are_refused_in_a_line_or_labelled_right():
    kinds, failures = campaign(0, 200, "auto")
    assert failures == []
    assert sum(kinds.values()) == 200
    assert sum(n for kind, n in kinds.items() if kind.endswith("accepted")) >= 20
