"""What a panel repairs: thresholds against exhaustive adversaries."""

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from covote import Panel
from covote.bounds import (
    authority_correctable,
    correctable_errors,
    detectable_errors,
    pairwise_majority_error,
    times_needed,
)
from covote.errors import InputError


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
    most = authority_correctable(panel)
    assert all(authority_always_right(panel, f) for f in range(most + 1))
    assert not authority_always_right(panel, most + 1)
    assert most <= correctable_errors(panel.redundancy)


def test_an_uncovered_pair_fails_without_any_error():
    assert authority_correctable(Panel.from_blocks(3, [[0, 1], [1, 2]])) == -1
    assert authority_correctable(Panel.from_blocks(4, [[0, 1]])) == -1


@pytest.mark.parametrize("times", range(1, 12))
@pytest.mark.parametrize("missing", range(4))
def test_the_thresholds_are_those_of_a_code_with_that_distance(times, missing):
    f = correctable_errors(times, missing)
    assert times < times_needed(f + 1, missing)
    assert f == 0 or times >= times_needed(f, missing)
    assert detectable_errors(times, missing) == max(0, times - missing - 1)


def test_pairwise_majority_bound_holds_for_two_classes():
    """K = 2 is a plain majority of `times` votes; ties count as errors."""
    from math import comb

    for times in (1, 2, 5, 10):
        for e in (0.01, 0.1, 0.3):
            wrong = sum(
                comb(times, n) * e**n * (1 - e) ** (times - n) for n in range((times + 1) // 2, times + 1)
            )
            assert wrong <= pairwise_majority_error(2, 2, times, e) + 1e-12


def test_pairwise_majority_bound_by_enumeration_of_one_rival():
    """Three outcomes per common expert: truth, rival, somebody else."""
    K, R, times, e = 10, 4, 4, 0.1
    for colluding in (False, True):
        rival = e if colluding else e / (R - 1)
        wrong = 0.0
        for outcome in product((1, -1, 0), repeat=times):
            if sum(outcome) <= 0:
                wrong += np.prod([{1: 1 - e, -1: rival, 0: e - rival}[x] for x in outcome])
        assert (K - 1) * wrong <= pairwise_majority_error(K, R, times, e, colluding=colluding)


def test_nothing_is_promised_when_errors_prevail():
    assert pairwise_majority_error(10, 4, 9, 0.9) == 1.0
    assert pairwise_majority_error(10, 4, 9, 0.5, colluding=True) == 1.0


def test_counts_that_make_no_sense():
    with pytest.raises(InputError, match="-1"):
        correctable_errors(-1)
    with pytest.raises(InputError, match="-2"):
        times_needed(1, missing=-2)
    with pytest.raises(InputError, match=r"1\.5"):
        pairwise_majority_error(10, 4, 3, 1.5)
