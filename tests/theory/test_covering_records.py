"""No lower bound exceeds the best cover known to the La Jolla repository, where its table is at hand.

Set COVOTE_COVERING_RECORDS to the file: columns v, k, t, best_known, proved_optimal, schonheim.
"""

import csv
import os
from pathlib import Path

import pytest

from covote.bounds import best_lower_bound, schonheim_bound, two_group_bound

BESIDE = Path(__file__).parents[3] / "shared" / "reference" / "covering_records.csv"
RECORDS = Path(os.environ.get("COVOTE_COVERING_RECORDS", BESIDE))


@pytest.fixture(scope="module")
def records():
    if not RECORDS.is_file():
        pytest.skip("no table of covering records")
    with RECORDS.open(newline="") as file:
        return [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file)]


def test_no_bound_is_violated(records):
    for row in records:
        assert schonheim_bound(row["v"], row["k"]) == row["schonheim"]
        assert (
            best_lower_bound(row["v"], row["k"])[0]
            <= row["best_known"]
            <= two_group_bound(row["v"], row["k"])
        )


def test_more_than_half_of_the_records_are_proved_optimal(records):
    met = sum(best_lower_bound(row["v"], row["k"])[0] == row["best_known"] for row in records)
    assert met / len(records) > 0.57
