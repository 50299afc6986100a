import math

import numpy as np
import pytest

from covote import Panel, Votes, decode
from covote.decoding.methods.likelihood import Likelihood
from covote.errors import InputError


def test_a_prior_decides_where_the_votes_do_not():
    panel = Panel.from_blocks(2, [[0, 1], [0, 1]])
    votes = Votes.from_dense([[0, 1]], panel)
    assert decode(votes, method="likelihood", accuracy=0.8).index.tolist() == [-1]
    labels = decode(votes, method="likelihood", accuracy=0.8, prior={0: 1, 1: 3})
    assert labels.index.tolist() == [1]
    assert labels.confidence[0] == pytest.approx(0.75)
    assert labels.margin[0] == pytest.approx(math.log(3))


def test_a_class_of_prior_zero_cannot_win():
    panel = Panel.from_blocks(2, [[0, 1]])
    labels = decode(Votes.from_dense([[0]], panel), method="likelihood", accuracy=0.9, prior=[0, 1])
    assert labels.index.tolist() == [1]
    assert labels.status.tolist() == ["conflict"]  # the label contradicts its authority


def test_the_better_expert_is_believed():
    panel = Panel.from_blocks(2, [[0, 1], [0, 1], [0, 1]])
    votes = Votes.from_dense([[0, 1, 1]], panel)
    labels = decode(votes, method="likelihood", accuracy=[0.95, 0.6, 0.6])
    assert labels.index.tolist() == [0]
    odds = (0.95 * 0.4 * 0.4) / (0.05 * 0.6 * 0.6)
    assert labels.confidence[0] == pytest.approx(odds / (1 + odds))


def test_an_unheard_class_keeps_its_prior_in_the_posterior():
    panel = Panel.from_blocks(3, [[0, 1], [1, 2]])
    labels = decode(Votes.from_dense([[0, -1]], panel), method="likelihood")
    # P(answer 0): 1 under class 0, 0 under class 1, 1/2 under class 2.
    assert labels.index.tolist() == [0]
    assert labels.confidence[0] == pytest.approx(1 / 1.5)
    assert labels.status.tolist() == ["incomplete"]


def test_perfect_experts_that_contradict_each_other_leave_the_fewest_violations():
    panel = Panel.from_blocks(2, [[0, 1]] * 3)
    labels = decode(Votes.from_dense([[0, 0, 1]], panel), method="likelihood")
    assert labels.index.tolist() == [0]
    assert labels.status.tolist() == ["conflict"]
    assert labels.margin.tolist() == [np.inf]


def test_abstention_rates_give_the_ratios_of_the_model():
    """theory section 8, against the posterior computed from the model itself."""
    alpha, beta, p, size = 0.1, 0.3, 0.8, 2
    panel = Panel.from_blocks(4, [[0, 1], [2, 3], [0, 2]])
    rows = np.array([[0, -2, 0], [-2, -2, 2], [-2, -2, -2], [0, 2, -1]])
    labels = decode(
        Votes.from_dense(rows, panel), method="likelihood", accuracy=p, false_none=alpha, false_alarm=beta
    )

    def chance(i, v, k):
        if v == -1:
            return 1.0
        if panel.knows[i, k]:
            return alpha if v == -2 else (1 - alpha) * (p if v == k else (1 - p) / (size - 1))
        return 1 - beta if v == -2 else beta / size

    for n, row in enumerate(rows):
        weight = np.array([math.prod(chance(i, v, k) for i, v in enumerate(row)) for k in range(4)])
        posterior = weight / weight.sum()
        best = np.flatnonzero(np.isclose(posterior, posterior.max(), rtol=1e-9))
        assert labels.tied_classes(n) == tuple(best)
        assert labels.confidence[n] == pytest.approx(posterior.max(), rel=1e-5)


def test_a_none_contradicts_an_expert_that_never_says_it_falsely():
    panel = Panel.from_blocks(3, [[0, 1], [1, 2], [0, 2]])
    labels = decode(Votes.from_dense([[-2, 2, 2]], panel), method="likelihood")
    assert labels.index.tolist() == [2]
    assert labels.status.tolist() == ["agreed"]


def random_tables(rng, panel, zeros):
    """One table per expert: random probabilities of the classes it knows, some of them 0."""
    found = []
    for known in panel.knows:
        table = rng.dirichlet(np.ones(known.sum()), len(panel.classes))
        table[rng.random(table.shape) < zeros] = 0
        table[:, 0] += 1 - table.sum(axis=1)
        found.append(table)
    return found


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(5))
def test_given_tables_give_the_posterior_of_bayes(seed, zeros):
    rng = np.random.default_rng(seed)
    panel = Panel.from_blocks(5, [[0, 1, 2], [2, 3], [3, 4, 0], [1, 4]])
    tables, prior = random_tables(rng, panel, zeros), rng.dirichlet(np.ones(5))
    truth = rng.integers(0, 5, 200)
    dense = [
        [
            rng.choice(np.flatnonzero(known), p=table[k])
            for table, known in zip(tables, panel.knows, strict=True)
        ]
        for k in truth
    ]
    votes = Votes.from_dense(np.where(rng.random((200, 4)) < 0.3, -1, dense), panel)
    decoder = Likelihood(prior=prior, tables=tables)
    found = decoder.proba(votes, decoder.start(panel))
    labels = decode(votes, method=decoder)
    for n, row in enumerate(votes.dense):
        expected = prior.copy()
        for table, known, said in zip(tables, panel.knows, row, strict=True):
            if said >= 0:
                expected *= table[:, np.flatnonzero(known).tolist().index(said)]
        assert found[n] == pytest.approx(expected / expected.sum(), abs=1e-9)
        heard = panel.knows[row >= 0].any(axis=0)
        if heard.any():
            possible = np.where(heard, expected, -1)
            best = np.flatnonzero(possible >= possible.max() * (1 - 1e-9))
            assert labels.index[n] in best if len(best) == 1 else labels.index[n] in (-1, *best)


def test_tables_and_other_rates_exclude_each_other():
    panel = Panel.from_blocks(2, [[0, 1]])
    with pytest.raises(InputError, match="leave out the other rates"):
        decode(Votes.from_dense([[0]], panel), method="likelihood", accuracy=0.9, tables=[np.eye(2)])
    with pytest.raises(InputError, match="2 confusion tables for 1 experts"):
        decode(Votes.from_dense([[0]], panel), method="likelihood", tables=[np.eye(2)] * 2)
