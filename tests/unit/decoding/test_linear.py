"""The sums of the decoders, next to loops over single answers."""

import math

import numpy as np
import pytest

from covote import Panel, Votes
from covote.decoding import linear
from covote.decoding.linear import NO_EVIDENCE, ONE, UNIT
from covote.votes import patterns as rows_module
from tests.plain_decoders import heard


def random_votes(seed, *, gaps=True):
    """A panel in which experts know between one class and all, and answers to 60 items."""
    rng = np.random.default_rng(seed)
    classes, experts = int(rng.integers(1, 9)), int(rng.integers(1, 9))
    knows = rng.random((experts, classes)) < 0.6
    knows[np.arange(experts), rng.integers(0, classes, experts)] = True
    panel = Panel(classes, knows)
    array = np.stack([rng.choice(np.flatnonzero(known), 60) for known in knows], axis=1)
    if gaps:
        array[rng.random(array.shape) < 0.3] = -1
        array[rng.random(array.shape) < 0.1] = -2
    votes = Votes.from_dense(array, panel)
    return votes if seed % 2 else votes.to_ragged()


def random_weights(votes, seed):
    size = len(votes.panel.layout.cells.label), len(votes.panel.classes)
    return np.random.default_rng(seed).integers(-4 * UNIT, 4 * UNIT, size)


def cells_of(panel, row):
    """The cells of a row of answers, found by name."""
    names = list(zip(panel.layout.cells.expert.tolist(), panel.layout.cells.label.tolist(), strict=True))
    return [names.index((i, len(panel.classes) if v == -2 else v)) for i, v in enumerate(row) if v != -1]


@pytest.fixture(params=["numpy", "scipy", "scipy, cells that occur"])
def way(request, monkeypatch):
    """The ways in which sums are formed: small ones, large ones, and those of panels with very many cells."""
    if request.param != "numpy":
        monkeypatch.setattr(linear, "SMALL", 0)
    if request.param == "scipy, cells that occur":
        monkeypatch.setattr(linear, "WHOLE", 0)
        monkeypatch.setattr(linear, "TABLE", 0)
        monkeypatch.setattr(rows_module, "WHOLE", 0)
    return request.param


@pytest.mark.parametrize("seed", range(12))
def test_scores_are_sums_over_answers(way, seed):
    votes = random_votes(seed, gaps=seed % 3 > 0)
    table, base = random_weights(votes, seed), np.arange(len(votes.panel.classes))
    weights = linear.precomputed(votes.panel, lambda cells: table[cells])
    assert callable(weights) == (way == "scipy, cells that occur")
    found = np.concatenate([linear.scores(piece, weights, base) for piece, _ in votes.rows.pieces()])
    found = votes.rows.spread_values(found)
    for row, score in zip(votes.dense.tolist(), found, strict=True):
        there = heard(votes.panel, row)
        sums = base + table[cells_of(votes.panel, row)].sum(axis=0)
        assert score.tolist() == [int(sums[k]) if k in there else NO_EVIDENCE for k in range(len(sums))]


@pytest.mark.parametrize("seed", range(8))
def test_authorities_and_votes_are_counted(way, seed):
    votes = random_votes(seed)
    rows = votes.rows
    asked, named = (rows.spread_values(table) for table in (linear.authorities(rows), linear.votes_for(rows)))
    for n, row in enumerate(votes.dense.tolist()):
        for k, (hits, authorities) in heard(votes.panel, row).items():
            assert (named[n, k], asked[n, k]) == (hits, authorities)


@pytest.mark.parametrize("seed", range(8))
def test_counts_are_sums_over_items(way, seed):
    votes = random_votes(seed)
    rows = votes.rows
    scores = linear.scores(rows, random_weights(votes, seed))
    part = linear.fractional_counts(linear.posterior(scores), rows.count)
    found = linear.counts(rows, part)
    found = found if way != "scipy, cells that occur" else found.toarray()
    expected = np.zeros(found.shape, dtype=object)
    per_item = rows.spread_values(
        linear.fractional_counts(linear.posterior(scores), np.ones(len(rows), np.int64))
    )
    for row, share in zip(votes.dense.tolist(), per_item, strict=True):
        for cell in cells_of(votes.panel, row):
            expected[cell] += share
    assert (found == expected.astype(np.int64)).all()


def test_posterior_is_a_softmax_of_what_was_heard():
    scores = np.array([[2, 0, NO_EVIDENCE // UNIT], [NO_EVIDENCE // UNIT] * 3]) * UNIT
    odds = math.exp(2)
    assert linear.posterior(scores) == pytest.approx(
        np.array([[odds / (odds + 1), 1 / (odds + 1), 0], [0, 0, 0]])
    )
    assert linear.posterior(scores, 2.0)[0, 0] == pytest.approx(math.e / (math.e + 1))
    assert linear.fractional_counts(np.array([[0.25, 0.75]]), np.array([3])).tolist() == [
        [ONE * 3 // 4, ONE * 9 // 4]
    ]


@pytest.mark.parametrize("classes", [1, 2, 5, 40])
def test_best_finds_the_first_two_places(classes):
    rng = np.random.default_rng(classes)
    scores = rng.integers(0, 6, (300, classes)) * UNIT
    scores[rng.random(scores.shape) < 0.3] = NO_EVIDENCE
    found, tied = linear.best(scores, linear.posterior(scores))
    listed = []
    for n, row in enumerate(scores.tolist()):
        levels = sorted({score for score in row if score > NO_EVIDENCE}, reverse=True)
        places = [[k for k in range(classes) if row[k] == level] for level in levels]
        assert found.shared[n] == (len(places[0]) if places else 0)
        assert found.chosen[n] == (places[0][0] if places else -1)
        if len(levels) > 1 and len(places[0]) == 1:
            assert found.runner_up[n] == (places[1][0] if len(places[1]) == 1 else -1)
            assert found.margin[n] * UNIT == levels[0] - levels[1]
        total = sum(math.exp((score - levels[0]) / UNIT) for score in row if score > NO_EVIDENCE)
        assert found.confidence[n] == pytest.approx(1 / total if places else 0)
        listed += places[0] if places and len(places[0]) > 1 else []
    assert tied.tolist() == listed


def test_pieces_hold_the_rows_once(monkeypatch):
    monkeypatch.setattr(rows_module, "PIECE", 40)
    votes = random_votes(6)
    pieces = list(votes.rows.pieces())
    assert len(pieces) > 1
    assert np.concatenate([piece.cell for piece, _ in pieces]).tolist() == votes.rows.cell.tolist()
    assert [len(piece) for piece, _ in pieces] == [those.stop - those.start for _, those in pieces]
    assert pieces[-1][1].stop == len(votes.rows)
