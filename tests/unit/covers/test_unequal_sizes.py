from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from covote import Panel
from covote.covers.capacities import capacity_cover, refute
from covote.errors import CoverError, InputError


def needed(classes, times=1):
    need = np.full((classes, classes), times, dtype=np.int16)
    np.fill_diagonal(need, 0)
    return need


def can_cover(classes, capacities, times):
    """Try all panels."""
    choices = [list(combinations(range(classes), c)) for c in capacities]
    for blocks in product(*choices):
        counts = dict.fromkeys(combinations(range(classes), 2), 0)
        for block in blocks:
            for pair in combinations(block, 2):
                counts[pair] += 1
        if min(counts.values()) >= times:
            return True
    return False


SMALL = [
    (classes, capacities, times)
    for classes in (2, 3, 4, 5)
    for experts in (1, 2, 3, 4)
    for capacities in combinations_with_replacement(range(2, classes + 1), experts)
    for times in (1, 2)
    if classes < 5 or experts < 4
]


def test_small_cases_are_decided_and_right():
    for classes, capacities, times in SMALL:
        possible = can_cover(classes, capacities, times)
        if refute(needed(classes, times), np.array(capacities, dtype=np.int32)) is not None:
            assert not possible
        if not possible:
            with pytest.raises(CoverError, match=r"cannot cover|could not prove that none exists"):
                capacity_cover(classes, capacities, times, effort="fast")
        else:
            blocks, _ = capacity_cover(classes, capacities, times, effort="fast")
            assert [len(set(block.tolist())) for block in blocks] == list(capacities)
            assert Panel.from_blocks(classes, blocks).covers(times)


def test_three_fours_and_two_sixes_cover_nine_classes():
    blocks, how = capacity_cover(9, [4, 6, 4, 6, 4])
    assert [len(block) for block in blocks] == [4, 6, 4, 6, 4]
    assert Panel.from_blocks(9, blocks).covers()
    assert how


def test_counting_says_why():
    with pytest.raises(CoverError, match=r"can know 18 pairs of classes, and 21 are needed; add at least 1"):
        capacity_cover(7, [3] * 6)
    with pytest.raises(CoverError, match=r"known by 3 of them, which takes 24 places, and they have 20"):
        capacity_cover(8, [4] * 5)


def test_not_found_is_not_called_impossible():
    capacities = [10, 10, 8, 8, 6, 6, 6, 5, 5]
    with pytest.raises(
        CoverError, match=r"could not prove that none exists: \d+ pairs are left; add an expert for"
    ):
        capacity_cover(20, capacities, effort="fast")


def test_a_seed_is_a_panel_and_progress_is_heard():
    heard = []
    capacities = [25, 25, 20, 20] + [10] * 17
    runs = [
        capacity_cover(50, capacities, seed=5, progress=lambda *now: heard.append(now))[0] for _ in range(2)
    ]
    assert all(np.array_equal(a, b) for a, b in zip(*runs, strict=True))
    assert heard
    assert all(0 <= done <= total and message for done, total, message in heard)


def test_an_interrupted_search_says_so():
    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(CoverError, match="stopped"):
        capacity_cover(20, [10, 10, 8, 8, 6, 6, 6, 5, 5], effort="fast", progress=stop)


@pytest.mark.parametrize(
    ("capacities", "options"),
    [
        ([], {}),
        ([1, 3], {}),
        ([3, 8], {}),
        ([2.5], {}),
        (["3"], {}),
        ([4], {"times": 0}),
        ([4], {"effort": "x"}),
    ],
)
def test_bad_capacities(capacities, options):
    with pytest.raises(InputError):
        capacity_cover(6, capacities, **options)
