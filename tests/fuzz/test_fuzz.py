"""Damaged files of every kind: refused in one line, or read as a careful reader reads them.

`make fuzz` runs 27,000; here are the first few hundred.
"""

import pytest

from tests.fuzz.driver import campaign


@pytest.mark.parametrize(("what", "count"), [("files", 200), ("states", 60), ("exports", 100)])
def test_damaged_files_are_refused_in_a_line_or_read_right(what, count):
    kinds, failures = campaign(0, count, what)
    assert failures == []
    assert sum(kinds.values()) == count
    assert sum(n for kind, n in kinds.items() if kind.endswith("accepted")) >= count // 10
