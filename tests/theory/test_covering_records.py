"""No lower bound exceeds the best cover known to the La Jolla Covering Repository.

covering_records.csv: its best sizes for pairs (t = 2), all v < 100 and k <= 25, as of 2017-01-30
(D. M. Gordon, CC BY 4.0).
"""

import csv
from math import ceil
from pathlib import Path

import pytest

from covote.bounds import best_lower_bound, schonheim_bound, two_group_bound

with (Path(__file__).parent / "covering_records.csv").open(newline="") as file:
    RECORDS = [tuple(int(row[name]) for name in ("v", "k", "size")) for row in csv.DictReader(file)]


def test_the_table_is_whole():
    assert len(RECORDS) == len({(v, k) for v, k, _ in RECORDS}) == 1955


@pytest.mark.parametrize("size", sorted({k for _, k, _ in RECORDS}))
def test_no_bound_is_violated(size):
    for v, k, best_known in RECORDS:
        if k == size:
            assert schonheim_bound(v, k) == ceil(v * ceil((v - 1) / (k - 1)) / k)
            assert best_lower_bound(v, k)[0] <= best_known <= two_group_bound(v, k)


def test_more_than_half_of_the_records_are_proved_optimal():
    met = sum(best_lower_bound(v, k)[0] == best_known for v, k, best_known in RECORDS)
    assert met / len(RECORDS) > 0.57
