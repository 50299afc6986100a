"""What the paper's vote repairs on a panel, against an adversary who tries everything."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from covote import Panel


def authority_always_right(panel, errors):
    """Try every truth, every set of `errors` experts that know it and err, and every answer there can be."""
    blocks = [np.flatnonzero(row).tolist() for row in panel.knows]
    degree = panel.knows.sum(axis=0)
    for truth in range(len(panel.classes)):
        inside = [i for i, block in enumerate(blocks) if truth in block]
        for liars in combinations(inside, min(errors, len(inside))):
            options = [
                [truth] if truth in block and i not in liars else [y for y in block if y != truth] or [truth]
                for i, block in enumerate(blocks)
            ]
            for answers in product(*options):
                score = [Fraction(answers.count(k), int(degree[k])) for k in range(len(degree))]
                if any(score[k] >= score[truth] for k in range(len(degree)) if k != truth):
                    return False
    return True


PANELS = [
    Panel.from_blocks(3, [[0, 1, 2]] * 3 + [[1, 2]] * 4),
    Panel.from_blocks(3, [[0, 1, 2]] * 3),
    Panel.from_blocks(3, [[0, 1, 2]] * 5),
    Panel.from_blocks(3, [[0, 1], [1, 2], [0, 2]] * 2),
    Panel.from_blocks(4, [[0, 1, 2, 3]] * 3 + [[0, 1]]),
    Panel.from_blocks(2, [[0, 1]] * 4),
]


@pytest.mark.parametrize("panel", PANELS, ids=range(len(PANELS)))
def test_the_authority_vote_repairs_exactly_so_many_errors(panel):
    most = panel.correctable()
    assert all(authority_always_right(panel, f) for f in range(most + 1))
    assert not authority_always_right(panel, most + 1)
    assert most <= (panel.redundancy - 1) // 2


def test_many_classes_are_counted_in_blocks():
    order = 31  # so many pairs that they are counted in several blocks
    lines = [
        [x * order + (slope * x + start) % order for x in range(order)]
        for slope in range(order)
        for start in range(order)
    ]
    lines += [[x * order + y for y in range(order)] for x in range(order)]
    plane = Panel.from_blocks(order**2, lines * 3)
    assert plane.correctable() == 1
    # A class that many more know outvotes its rivals, whoever of its experts is asked.
    known_to_all = Panel(
        plane.classes, np.vstack([plane.knows, np.eye(1, order**2, dtype=bool).repeat(400, axis=0)])
    )
    assert known_to_all.correctable() == 0
