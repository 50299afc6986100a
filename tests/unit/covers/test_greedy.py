import numpy as np
import pytest

from covote.covers.blocks import pair_counts
from covote.covers.random_kernels import below, random_state
from covote.covers.search.greedy import fill, greedy


def plain_fill(need, sizes, sign, state):
    """The greedy of the kernel, said in sets."""
    v = len(need)
    left = {frozenset((x, y)): need[x, y] for x in range(v) for y in range(x) if need[x, y] > 0}
    blocks = []
    for size in sizes:
        if not left:
            break
        block: list[int] = []
        # Within a block, open pairs are closed as soon as both of its classes are there.
        while len(block) < size:
            key = {}
            for c in set(range(v)) - set(block):
                gain = sum(frozenset((c, w)) in left for w in block)
                open_pairs = sum(c in pair for pair in left)
                key[c] = (gain, (sign if block else 1) * open_pairs)
            best, ties = None, 0
            for c in sorted(key):
                if best is None or key[c] > key[best]:
                    best, ties = c, 1
                elif key[c] == key[best]:
                    ties += 1
                    if below(state, ties) == 0:
                        best = c
            for w in block:
                pair = frozenset((best, w))
                if pair in left:
                    left[pair] -= 1
                    if not left[pair]:
                        del left[pair]
            block.append(best)
        blocks.append(block)
    return blocks


@pytest.mark.parametrize(
    ("v", "sizes", "times", "sign"),
    [
        (9, [3] * 99, 1, 1),
        (10, [4] * 99, 1, -1),
        (8, [5] * 99, 3, 1),
        (12, [2] * 99, 2, -1),
        (9, [5, 4, 3], 1, 1),
    ],
)
def test_the_kernel_is_the_plain_greedy(v, sizes, times, sign):
    rng = np.random.default_rng(v)
    counts = np.triu(rng.integers(0, 2, (v, v)), 1)
    need = times - counts - counts.T
    with np.errstate(over="ignore"):  # the random numbers wrap around
        twin = plain_fill(need, sizes, sign, random_state(5))
    assert [block.tolist() for block in fill(need, sizes, random_state(5), sign)] == twin


def test_a_block_of_all_classes_is_enough():
    assert len(greedy(6, 6)) == 1
    assert len(greedy(6, 6, times=3)) == 3


def test_blocks_of_two_are_all_pairs():
    assert len(greedy(9, 2)) == 36


def test_only_open_pairs_are_covered():
    covered = pair_counts([[0, 1, 2, 3], [0, 1, 4, 5]], 6)
    more = greedy(6, 4, counts=covered)
    assert len(more) == 1
    assert (pair_counts(more, 6) + covered + np.eye(6, dtype=int) >= 1).all()


def test_nothing_open_needs_no_block():
    assert greedy(5, 3, counts=np.ones((5, 5))).shape == (0, 3)
