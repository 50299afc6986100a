from itertools import combinations, product

import numpy as np
import pytest

from covote import Panel, design
from covote.covers.capacities import fewest_blocks
from covote.covers.completing import complete, fillers
from covote.covers.search.greedy import greedy
from covote.errors import CoverError, InputError

FANO = [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]


def nobody(classes):
    return Panel(classes, np.zeros((0, classes)))


def fewest(panel, size, times):
    """Try all sets of new experts, the small ones first."""
    candidates = list(combinations(range(len(panel.classes)), size))
    counts = panel.pair_counts()
    pairs = list(combinations(range(len(panel.classes)), 2))
    for number in range(20):
        for chosen in product(candidates, repeat=number):
            if all(counts[p] + sum(set(p) <= set(block) for block in chosen) >= times for p in pairs):
                return number
    raise AssertionError


def test_an_outage_is_repaired_with_as_many_experts_as_were_lost():
    plane = Panel.from_blocks(7, FANO)
    for lost in range(1, 7):
        whole = complete(plane.without(*plane.names[:lost]), 3)
        assert len(whole) == 7
        assert whole.names[7 - lost :] == tuple(f"new-{i + 1}" for i in range(lost))
        assert whole.certificate.size == whole.certificate.lower == lost


def test_the_given_experts_stay_as_they_are():
    panel = Panel.from_blocks(["x", "y", "z", 3], [["x", "y"], ["z", 3]], ["new-1", "b"], cost=[5, 2])
    whole = complete(panel, 3)
    assert whole.only("new-1", "b") == panel
    assert set(whole.names[2:]).isdisjoint(panel.names)
    assert whole.covers()
    assert (whole.sizes[2:] == 3).all()


@pytest.mark.parametrize(("classes", "size"), [(2, 2), (7, 3), (10, 4), (10, 6), (13, 4), (31, 6)])
def test_completing_nobody_is_designing(classes, size):
    whole = complete(nobody(classes), size)
    assert len(whole) == len(design(classes, size))
    assert whole.certificate.optimal


def test_a_cover_needs_nothing():
    plane = Panel.from_blocks(7, FANO)
    whole = complete(plane, 3)
    assert whole == plane
    assert whole.certificate.size == 0
    assert whole.certificate.optimal


def test_one_class_needs_nothing():
    assert len(complete(Panel(1, np.ones((1, 1))), 2)) == 1


def test_a_new_class_meets_all_others():
    plane = Panel.from_blocks(8, FANO)
    whole = complete(plane, 3)
    assert whole.covers()
    assert whole.certificate.size == whole.certificate.lower == 4


def test_redundancy():
    plane = Panel.from_blocks(7, FANO)
    whole = complete(plane, 3, redundancy=2)
    assert whole.covers(2)
    assert whole.certificate.size == whole.certificate.lower == 7
    assert whole.certificate.redundancy == 2


def test_small_panels_get_the_fewest():
    rng = np.random.default_rng(0)
    for _ in range(15):
        knows = rng.random((3, 5)) < 0.5
        panel = Panel(5, knows[knows.any(axis=1)])
        for size, times in [(3, 1), (4, 1), (4, 2)]:
            whole = complete(panel, size, redundancy=times, effort="fast")
            best = fewest(panel, size, times)
            assert whole.covers(times)
            assert len(whole) - len(panel) == best
            assert whole.certificate.lower == best


def test_fewer_than_greedy():
    panel = design(50, 10, method="random", experts=40, seed=0)
    whole = complete(panel, 10, seed=1)
    new = len(whole) - 40
    assert whole.covers()
    assert new < len(greedy(50, 10, counts=np.minimum(panel.pair_counts(), 1)))
    assert whole.certificate.lower <= new


def test_people_of_given_capacities_the_largest_first():
    whole = complete(nobody(9), [4, 4, 6, 6, 4, 4, 4, 4])
    assert whole.covers()
    assert whole.sizes.tolist() == [6, 6, 4, 4, 4]


def test_too_few_people():
    with pytest.raises(
        CoverError, match=r"cannot complete this panel: .* add at least \d+ more of capacity 4"
    ):
        complete(nobody(10), [4, 4, 4])
    with pytest.raises(CoverError, match=r"could not prove that none exists: \d+ pairs are left"):
        complete(nobody(20), [10, 10, 8, 8, 6, 6, 6, 5, 5], effort="fast")


def test_the_bound_counts_a_clique_of_shortfall():
    """Six classes that nobody knows, among classes that all have met: a cover of the six is needed."""
    need = np.zeros((20, 20), dtype=np.int16)
    need[:6, :6] = 1
    np.fill_diagonal(need, 0)
    assert fewest_blocks(need, np.full(9, 4, dtype=np.int32)) == (3, "Schonheim")


def test_a_seed_is_a_panel_and_progress_is_heard():
    panel = design(40, 7, method="random", experts=30, seed=0)
    heard = []
    first = complete(panel, 7, effort="fast", seed=3, progress=lambda *now: heard.append(now))
    assert first == complete(panel, 7, effort="fast", seed=3)
    assert heard
    assert all(0 <= done <= total and message for done, total, message in heard)


def test_an_interrupted_search_returns_the_best_so_far():
    panel = design(40, 7, method="random", experts=30, seed=0)
    calls = []

    def stop(*_):
        calls.append(1)
        raise KeyboardInterrupt

    whole = complete(panel, 7, progress=stop)
    assert whole.covers()
    assert len(calls) == 1


def test_many_classes_at_once():
    panel = design(700, 26, effort="fast")
    whole = complete(panel.without(*panel.names[:20]), 26, effort="fast")
    assert whole.covers()
    assert len(whole) <= len(panel)


@pytest.mark.parametrize(
    ("size", "options"),
    [
        (1, {}),
        (8, {}),
        (True, {}),
        ([1, 3], {}),
        ([], {}),
        ("3", {}),
        (3, {"redundancy": 0}),
        (3, {"redundancy": 10**6}),
        (3, {"effort": "x"}),
    ],
)
def test_bad_requests(size, options):
    with pytest.raises(InputError):
        complete(Panel.from_blocks(7, FANO[:3]), size, **options)


def test_classes_that_only_fill_a_place_are_marked():
    whole = complete(Panel.from_blocks(6, [[0, 1, 2, 3], [2, 3, 4, 5]]), 4)
    spare = fillers(whole, 2)
    assert len(spare) == len(whole) - 2
    left = [set(block) - set(some) for block, some in zip(whole.blocks()[2:], spare, strict=True)]
    without = Panel.from_blocks(6, [[0, 1, 2, 3], [2, 3, 4, 5], *(sorted(known) for known in left)])
    assert without.covers()
    for i, known in enumerate(left):  # nothing else can be left out
        for k in known:
            fewer = [sorted(known - {k}) if j == i else sorted(other) for j, other in enumerate(left)]
            assert not Panel.from_blocks(6, [[0, 1, 2, 3], [2, 3, 4, 5], *fewer]).covers()


def test_new_experts_have_a_price():
    pool = Panel.from_blocks(4, [[0, 1], [2, 3]], cost=[40, 60])
    assert complete(pool, 2).cost.tolist() == [40, 60, 50, 50, 50, 50]
    assert complete(pool, 4, new_cost=75).cost.tolist() == [40, 60, 75]
    assert complete(nobody(3), 3).cost.tolist() == [1]
    for wrong in (-1, float("inf"), "ten"):
        with pytest.raises(InputError, match="new_cost="):
            complete(pool, 2, new_cost=wrong)
