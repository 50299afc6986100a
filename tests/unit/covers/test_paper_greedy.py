from itertools import combinations

import pytest

from covote import Panel
from covote.covers.constructions.paper_greedy import paper_cover
from covote.errors import InputError, TooLargeError


def plain_greedy(classes, size, times):
    """The paper's algorithm as it is written: look through all experts again after each choice."""
    candidates = list(combinations(range(classes), size))
    need = dict.fromkeys(combinations(range(classes), 2), times)
    chosen = []
    while any(need.values()):
        gains = [sum(need[pair] > 0 for pair in combinations(block, 2)) for block in candidates]
        best = candidates[gains.index(max(gains))]
        chosen.append(best)
        for pair in combinations(best, 2):
            need[pair] = max(0, need[pair] - 1)
    return chosen


def found(classes, size, times=1):
    blocks, _ = paper_cover(classes, size, times)
    return [tuple(int(k) for k in block) for block in blocks]


def test_the_example_of_the_paper():
    assert found(5, 3) == [(0, 1, 2), (0, 3, 4), (1, 2, 3), (1, 2, 4)]


@pytest.mark.parametrize(("size", "experts"), [(2, 45), (4, 9), (6, 5), (8, 3), (10, 1)])
def test_the_panels_of_the_papers_experiments(size, experts):
    assert len(found(10, size)) == experts


@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("classes", range(2, 9))
def test_equals_the_plain_algorithm(classes, times):
    for size in range(2, classes + 1):
        assert found(classes, size, times) == plain_greedy(classes, size, times)


def test_covers_beyond_the_papers_sizes():
    blocks, _ = paper_cover(24, 7)
    assert Panel.from_blocks(24, blocks).covers()


def test_refuses_too_many_candidates_and_names_the_alternative():
    with pytest.raises(TooLargeError, match=r'all 17,310,309,456,440 .* at least 110 .*method="auto"'):
        paper_cover(100, 10)


@pytest.mark.parametrize(("classes", "size"), [(180, 3), (500, 2), (1000, 998), (25, 12)])
def test_refuses_what_takes_minutes_or_all_the_memory(classes, size):
    with pytest.raises(TooLargeError):
        paper_cover(classes, size)


@pytest.mark.parametrize(("classes", "size", "times"), [(5, 1, 1), (5, 6, 1), (5, 3, 0)])
def test_refuses_impossible_sizes(classes, size, times):
    with pytest.raises(InputError):
        paper_cover(classes, size, times)
