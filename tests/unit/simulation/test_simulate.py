"""Votes from known truth."""

import numpy as np
import pytest

from covote import Panel, decode
from covote.errors import InputError, UnknownNameError
from covote.simulation import Similar, simulate
from covote.votes import NONE_OF_MINE, NOT_ASKED

PANEL = Panel.from_blocks(
    ["ant", "bee", "cow", "dog", "elk"],
    [["ant", "bee", "cow"], ["ant", "dog", "elk"], ["bee", "cow", "dog"], ["bee", "cow", "elk"]],
)
ITEMS = 60_000


def truth(seed=0, size=ITEMS, classes=5):
    return np.random.default_rng(seed).integers(0, classes, size)


def inside(panel, classes):
    return panel.knows[:, classes].T


def near(share, expected, count):
    """Within five standard errors: such a test fails by chance less than once in a million runs."""
    return abs(share - expected) <= 5 * np.sqrt(max(expected * (1 - expected), 1e-12) / count)


def test_perfect_experts_name_the_truth_inside_their_expertise():
    votes, true = simulate(PANEL, truth()).dense, truth()
    known = inside(PANEL, true)
    assert (votes[known] == np.broadcast_to(true[:, None], votes.shape)[known]).all()


def test_uniform_noise_names_every_known_class_equally_often():
    true = truth()
    votes = simulate(PANEL, true, seed=5).dense
    for i, row in enumerate(PANEL.knows):
        outside = votes[~row[true], i]
        for k in np.flatnonzero(row):
            assert near((outside == k).mean(), 1 / 3, len(outside))


def test_duplicate_experts_have_noise_of_their_own():
    panel = Panel.from_blocks(4, [[0, 1, 2], [0, 1, 2], [3, 0]])
    votes = simulate(panel, np.full(ITEMS, 3), seed=2).dense
    assert near((votes[:, 0] == votes[:, 1]).mean(), 1 / 3, ITEMS)


@pytest.mark.parametrize("accuracy", [0.0, 0.7, [0.5, 0.6, 0.7, 0.8]])
def test_accuracy_is_how_often_experts_are_right(accuracy):
    true = truth()
    votes = simulate(PANEL, true, accuracy=accuracy, seed=1).dense
    for i, expected in enumerate(np.broadcast_to(accuracy, 4)):
        known = PANEL.knows[i, true]
        assert near((votes[known, i] == true[known]).mean(), expected, known.sum())
        wrong = known & (votes[:, i] != true)
        if wrong.any():
            # The two other classes it knows share the errors evenly.
            known = np.flatnonzero(PANEL.knows[i])
            first = votes[wrong, i] == np.where(known[0] == true[wrong], known[1], known[0])
            assert near(first.mean(), 0.5, wrong.sum())


def test_missing_and_none_rates():
    true = truth()
    votes = simulate(PANEL, true, missing=0.2, none_rate=(0.1, 0.5), seed=2).dense
    known = inside(PANEL, true)
    asked = votes != NOT_ASKED
    assert near((~asked).mean(), 0.2, votes.size)
    assert near((votes[asked & known] == NONE_OF_MINE).mean(), 0.1, (asked & known).sum())
    assert near((votes[asked & ~known] == NONE_OF_MINE).mean(), 0.5, (asked & ~known).sum())


def test_everything_missing_and_everyone_silent():
    assert (simulate(PANEL, truth(size=50), missing=1.0).dense == NOT_ASKED).all()
    assert (simulate(PANEL, truth(size=50), none_rate=(1.0, 1.0)).dense == NONE_OF_MINE).all()


def test_similar_noise_is_sticky_and_follows_the_similarity():
    similarity = -np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)) + 0.1)
    true = truth(size=2_000)
    votes = simulate(PANEL, true, noise=Similar(similarity), seed=9).dense
    for n, k in enumerate(true):
        for i, row in enumerate(PANEL.knows):
            known = np.flatnonzero(row)
            expected = k if row[k] else known[np.argmax(similarity[k, known])]
            assert votes[n, i] == expected
    again = simulate(PANEL, true, noise=Similar(similarity), seed=10).dense
    assert (votes == again).all()


def test_similar_noise_with_a_temperature_spreads_by_softmax():
    similarity = np.zeros((5, 5))
    similarity[3, 0] = np.log(3)
    true = np.full(ITEMS, 3)
    votes = simulate(PANEL, true, noise=Similar(similarity, temperature=1.0)).dense[:, 0]
    assert near((votes == 0).mean(), 3 / 5, ITEMS)
    assert near((votes == 1).mean(), 1 / 5, ITEMS)


def test_adversarial_noise_never_beats_a_cover_but_is_as_close_as_it_can_be():
    assert PANEL.covers()
    votes = simulate(PANEL, np.arange(5), noise="adversarial", seed=1)
    labels = decode(votes, method="authority")
    assert labels.index.tolist() == list(range(5))
    together, degrees = PANEL.pair_counts(), PANEL.knows.sum(axis=0)
    for k in range(5):
        closest = min(together[k, j] / degrees[j] for j in range(5) if j != k)
        assert labels.margin[k] == pytest.approx(closest)


def test_adversarial_noise_ties_where_a_pair_is_uncovered():
    panel = Panel.from_blocks(3, [[0, 1], [1, 2]])
    labels = decode(simulate(panel, [0, 2], noise="adversarial"), method="authority")
    assert labels.tied.all()


def test_truth_by_name_and_by_index():
    names = [PANEL.classes[k] for k in truth(size=200)]
    assert (simulate(PANEL, names).dense == simulate(PANEL, truth(size=200)).dense).all()
    numbers = Panel.from_blocks([10, 20, 30], [[10, 20], [20, 30]])
    assert simulate(numbers, [10, 30, 20]).dense[:, 0].tolist()[::2] == [0, 1]
    with pytest.raises(UnknownNameError, match="no class 0"):
        simulate(numbers, [0])


def test_one_class_one_expert_and_nothing():
    one = Panel(["only"], [[1]])
    assert simulate(one, ["only"] * 3, accuracy=0.0).dense.tolist() == [[0], [0], [0]]
    assert simulate(one, ["only"], noise="adversarial").dense.tolist() == [[0]]
    assert len(simulate(PANEL, [])) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": "loud"}, "unknown noise 'loud'"),
        ({"accuracy": 1.5}, "accuracy is 1.5"),
        ({"missing": float("nan")}, "missing is nan"),
        ({"none_rate": (0.1, 0.2, 0.3)}, "a pair"),
        ({"noise": Similar([[1]])}, "shape"),
        ({"noise": Similar(temperature=-1)}, "temperature"),
        ({"noise": 7}, "unknown noise 7"),
        ({"truth": [7]}, "truth of item 0 is 7"),
        ({"truth": [[1]]}, "one class per item"),
        ({"truth": [0.5]}, "names or indices"),
    ],
)
def test_mistakes_are_explained(options, message):
    true = options.pop("truth", [3] * 10)
    with pytest.raises(InputError, match=message):
        simulate(PANEL, true, **options)
