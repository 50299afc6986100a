import inspect
import signal

import numpy as np
import pytest

from covote.covers import design
from covote.covers.designing import check_memory
from covote.errors import CoverError, InputError, TooLargeError


@pytest.mark.parametrize(
    ("classes", "size", "experts"), [(10, 4, 9), (10, 6, 4), (13, 4, 13), (7, 3, 7), (9, 3, 12), (2, 2, 1)]
)
def test_small_covers_are_the_smallest(classes, size, experts):
    panel = design(classes, size)
    assert len(panel) == experts
    assert panel.covers()
    assert set(panel.sizes) == {size}
    assert panel.certificate.size == experts
    assert panel.certificate.lower <= experts


def test_a_plane_is_proved_optimal_in_words():
    proof = design(13, 4).certificate
    assert proof.optimal
    assert proof.construction == "projective plane of order 3"


def test_names_are_kept():
    panel = design(["ä", "b", 3, "4"], 3)
    assert panel.classes == ("ä", "b", 3, "4")
    assert panel.covers()


@pytest.mark.parametrize("times", [2, 3])
def test_every_pair_is_covered_that_often(times):
    panel = design(9, 4, redundancy=times, effort="fast")
    assert panel.redundancy >= times
    assert panel.certificate.redundancy == times


def test_the_same_seed_gives_the_same_panel():
    assert design(29, 7, seed=5) == design(29, 7, seed=5)


def test_one_expert_suffices_when_it_can_know_everything():
    panel = design(6, 6)
    assert len(panel) == 1
    assert panel.certificate.optimal


def test_the_papers_greedy():
    assert [len(design(10, size, method="paper")) for size in (2, 4, 6, 8)] == [45, 9, 5, 3]


def test_random_experts_until_they_cover_or_a_number_of_them():
    assert design(12, 5, method="random", seed=1).covers()
    few = design(12, 5, method="random", experts=3, seed=1)
    assert len(few) == 3
    assert few.certificate is None


def test_ten_by_four_twice_needs_fifteen():
    assert len(design(10, 4, redundancy=2)) == 15


def test_capacities_are_kept():
    panel = design(6, [4, 4, 4])
    assert panel.covers()
    assert list(panel.sizes) == [4, 4, 4]
    with pytest.raises(CoverError):
        design(6, [2, 2])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"size": 1}, "1"),
        ({"size": 11}, "11"),
        ({"size": 4, "redundancy": 0}, "0"),
        ({"size": 4, "method": "magic"}, "magic"),
        ({"size": 4, "effort": "huge"}, "huge"),
        ({"size": 4.5}, "4.5"),
        ({"size": "4"}, "4"),
        ({"size": True}, "True"),
        ({"size": 4, "experts": 5}, "experts=5"),
        ({"size": [4, 4], "method": "paper"}, "paper"),
    ],
)
def test_bad_input_is_named(arguments, words):
    with pytest.raises(InputError, match=words):
        design(10, **arguments)


@pytest.mark.parametrize("classes", [0, -3, [], ["a", "a"]])
def test_bad_classes_are_named(classes):
    with pytest.raises(InputError):
        design(classes, 2)


def test_a_panel_beyond_memory_is_refused_before_it_is_built():
    with pytest.raises(TooLargeError, match="50000 classes"):
        design(50_000, 2)
    check_memory(10, 10, 4)


def test_progress_is_told_and_can_stop():
    told = []

    def progress(done, total, message):
        told.append((done, total, message))
        if len(told) == 3:
            raise KeyboardInterrupt

    panel = design(60, 7, effort="max", progress=progress)
    assert panel.covers()
    assert len(told) == 3
    assert 0 <= told[0][0] <= told[-1][0] <= told[-1][1]


def test_interrupting_returns_the_best_so_far():
    before = signal.getsignal(signal.SIGINT)
    told = []

    def progress(*message):
        told.append(message)
        if len(told) == 3:
            signal.raise_signal(signal.SIGINT)

    panel = design(60, 7, effort="max", progress=progress)
    assert panel.covers()
    assert panel.certificate.construction.endswith("search interrupted")
    assert signal.getsignal(signal.SIGINT) is before


def test_thousands_of_classes_stay_near_the_bound():
    panel = design(1000, 32)
    assert panel.covers()
    assert len(panel) <= 1.03 * panel.certificate.lower


def test_of_thousands_of_classes_no_expert_is_to_spare():
    panel = design(1500, 40)
    assert panel.covers()
    assert not any(panel.without(name).covers() for name in _least_needed(panel))


def _least_needed(panel, some=3):
    """Return the experts of whose pairs the fewest are known by nobody else."""
    counts = panel.pair_counts()
    np.fill_diagonal(counts, 0)
    alone = [
        np.count_nonzero(counts[np.ix_(known, known)] == 1) for known in map(np.flatnonzero, panel.knows)
    ]
    return [panel.names[i] for i in np.argsort(alone)[:some]]


@pytest.mark.parametrize(("classes", "size"), [(300, 50), (250, 24), (120, 33), (90, 45), (399, 150)])
def test_searches_work_beyond_the_table_of_recursions(classes, size):
    panel = design(classes, size)
    assert panel.covers()
    assert len(panel) <= 1.35 * panel.certificate.lower


def test_blocks_are_full():
    assert np.all(design(37, 9, effort="fast").sizes == 9)


def test_the_documentation_says_what_design_returns():
    returned = inspect.getdoc(design).split("Returns\n-------\n")[1]
    assert returned.startswith("A panel that has been verified")
