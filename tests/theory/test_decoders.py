"""What the paper and theory section 3 prove about decoders, on every answer vector of small panels."""

import numpy as np
import pytest

from covote import Panel, Votes, decode
from tests import plain_decoders as plain

COVERS = {
    "triangle": Panel.from_blocks(3, [[0, 1], [0, 2], [1, 2]]),
    "all pairs of 4": Panel.from_blocks(4, [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]),
    "the paper's greedy 5, 3": Panel.from_blocks(5, [[0, 1, 2], [0, 3, 4], [1, 2, 3], [1, 2, 4]]),
    "Fano plane": Panel.from_blocks(
        7, [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]
    ),
    "unequal sizes": Panel.from_blocks(5, [[0, 1, 2, 3], [3, 4], [0, 4], [1, 4], [2, 4], [0, 1]]),
    "one expert": Panel.from_blocks(3, [[0, 1, 2]]),
}

PANELS = {
    **COVERS,
    "three on a pair": Panel.from_blocks(2, [[0, 1]] * 3),
    "six on a pair": Panel.from_blocks(2, [[0, 1]] * 6),
    "triangle three times": Panel.from_blocks(3, [[0, 1], [0, 2], [1, 2]] * 3),
    "the counterexample": Panel.from_blocks(3, [[0, 1, 2]] * 3 + [[1, 2]] * 4),
    "unequal authorities": Panel.from_blocks(3, [[0, 1, 2]] * 3 + [[0, 1]] * 2 + [[1, 2]]),
    "uncovered pair": Panel.from_blocks(4, [[0, 1, 2], [1, 2, 3], [0, 1], [2, 3]]),
}


@pytest.mark.parametrize("name", COVERS)
def test_lookup_authority_and_likelihood_agree_on_every_vector_of_a_cover(name):
    panel = COVERS[name]
    vectors = plain.all_vectors(panel)
    votes = Votes.from_dense(vectors, panel)
    wrong = plain.violation_matrix(panel, vectors)
    possible = (wrong == 0).sum(axis=1)
    assert possible.max() == 1  # Thm 1: the output sets of a cover are disjoint
    table = [plain.lookup(panel, vector) for vector in vectors.tolist()]
    told = np.array([len(classes) == 1 for classes in table])
    answer = np.array([min(classes, default=-1) for classes in table])
    for labels in (
        decode(votes),
        decode(votes, method="authority"),
        decode(votes.to_ragged(), method="authority"),
        decode(votes, method="likelihood"),
    ):
        assert (labels.index[told] == answer[told]).all()
        assert (labels.violations == wrong.min(axis=1)).all()
        # One expert cannot agree with itself.
        proved = "agreed" if len(panel) > 1 else "incomplete"
        assert ((labels.status == proved) == told).all()
        assert set(labels.status[~told]) <= {"conflict", "tied"}


@pytest.mark.parametrize("name", PANELS)
def test_uncovered_pairs_are_exactly_where_the_lookup_ties(name):
    panel = PANELS[name]
    vectors = plain.all_vectors(panel)
    tied = [len(plain.lookup(panel, vector)) > 1 for vector in vectors.tolist()]
    assert any(tied) == (not panel.covers())


def always_right(decided, wrong, f):
    """Whether every class wins on every vector that f wrong answers can make of it."""
    return all((decided[wrong[:, k] <= f] == k).all() for k in range(wrong.shape[1]))


@pytest.mark.parametrize("f", [0, 1, 2])
@pytest.mark.parametrize("name", PANELS)
def test_what_f_wrong_answers_can_do(name, f):
    panel = PANELS[name]
    vectors = plain.all_vectors(panel)
    votes, wrong = Votes.from_dense(vectors, panel), plain.violation_matrix(panel, vectors)
    together = panel.pair_counts()
    pairs = [(k, j) for k in range(len(panel.classes)) for j in range(len(panel.classes)) if j != k]
    correctable = all(together[k, j] >= 2 * f + 1 for k, j in pairs)
    d = together.diagonal()
    authority_reaches = all(f * d[j] < (together[k, j] - f) * d[k] for k, j in pairs)
    assert authority_reaches == (f <= panel.correctable() and panel.covers())

    fewest = np.where((wrong == wrong.min(axis=1)[:, None]).sum(axis=1) == 1, wrong.argmin(axis=1), -1)
    assert always_right(fewest, wrong, f) == correctable
    assert always_right(decode(votes, method="authority").index, wrong, f) == authority_reaches
    # Perfect accuracy is the limit in which violations count first.
    assert always_right(decode(votes, method="likelihood").index, wrong, f) >= correctable

    detectable = all(together[k, j] >= f + 1 for k, j in pairs)
    unnoticed = (wrong.min(axis=1) == 0) & (np.sort(wrong, axis=1)[:, 1] <= f)
    assert detectable == (not unnoticed.any())


def test_the_counterexample_to_the_authority_vote():
    panel = PANELS["the counterexample"]
    votes = Votes.from_dense([[0, 0, 1, 1, 1, 1, 1]], panel)  # truth 0, one of three authorities errs
    labels = decode(votes, method="authority")
    assert labels.value.tolist() == [1]
    assert labels.margin[0] == pytest.approx(5 / 7 - 2 / 3)
    assert labels.violations.tolist() == [1]


def test_more_authorities_is_maximum_likelihood_for_perfect_experts_of_equal_size():
    panel = Panel.from_blocks(6, [[0, 1, 2], [2, 3, 4], [0, 4, 5], [1, 3, 5], [0, 1, 5]])
    vectors = plain.all_vectors(panel)
    consistent = vectors[(plain.violation_matrix(panel, vectors) == 0).any(axis=1)]
    votes = Votes.from_dense(consistent, panel)
    vote, likely = decode(votes, method="authority"), decode(votes, method="likelihood")
    authorities = panel.knows.sum(axis=0)
    for n in range(len(votes)):
        tied = [panel.classes.index(name) for name in vote.tied_classes(n)]
        most = [k for k in tied if authorities[k] == max(authorities[j] for j in tied)]
        assert likely.index[n] == (most[0] if len(most) == 1 else -1)
