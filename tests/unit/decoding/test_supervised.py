"""What gold items teach beyond the default, from votes with probabilities and without."""

import numpy as np
import pytest

from covote import Panel, Votes, decode
from covote.decoding import DECODERS, InMemory, learned
from covote.decoding.fusion import FLOOR, log_given
from covote.decoding.lessons import Lessons
from covote.decoding.methods import supervised
from covote.errors import InputError
from tests.unit.decoding.test_estimators import FANO, similar

# Nobody tells 0 and 3 apart, and nobody knows 4.
PANEL = Panel(5, [[1, 1, 1, 0, 0], [0, 1, 1, 1, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 0]])


def habits(items, seed=0, sharp=3.0):
    """Return votes with probabilities and the truth; experts answer by the same habit whatever they know."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 5, items)
    like = sharp * np.eye(5)
    like[3, :3] = (1.5, 0.5, 0.0)  # a 3 looks a little like a 0 to those who do not know it
    like[4, :4] = (0.3, 1.5, 0.0, 1.5)
    scores = like[truth][:, None, :] + rng.normal(size=(items, len(PANEL), 5))
    chances = np.where(PANEL.knows, np.exp(scores), 0)
    chances /= chances.sum(axis=2, keepdims=True)
    return Votes.from_dense(chances.argmax(axis=2), PANEL, probabilities=chances), truth


def labelled(truth, count):
    return np.where(np.arange(len(truth)) < count, truth, -1)


def right(labels, truth, rest):
    return (labels.index == truth)[rest].mean()


def test_habits_are_learned_even_about_a_class_that_nobody_knows():
    votes, truth = habits(4000)
    rest = np.arange(4000) >= 1000
    default = decode(votes)
    found = decode(votes, method="supervised", gold=labelled(truth, 1000))
    assert right(found, truth, rest) > right(default, truth, rest) + 0.05
    assert (found.index == 4).any()
    assert not (default.index == 4).any()
    # The confidence is honest: its mean is the share of right labels, known here to about 0.01.
    assert found.confidence[rest].mean() == pytest.approx(right(found, truth, rest), abs=0.03)


def test_where_there_is_nothing_to_learn_the_default_stays():
    panel = Panel.from_blocks(3, [[0, 1], [1, 2], [0, 2]])
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 900)
    chances = np.where(panel.knows, rng.random((900, 3, 3)) + 4 * np.eye(3)[truth][:, None, :], 0)
    chances /= chances.sum(axis=2, keepdims=True)
    votes = Votes.from_dense(chances.argmax(axis=2), panel, probabilities=chances)
    gold = labelled(truth, 300)
    found, default = decode(votes, method="supervised", gold=gold), decode(votes, gold=gold)
    assert (found.index == default.index).all()
    assert found.confidence.tobytes() == default.confidence.tobytes()


@pytest.mark.parametrize("gold", [1, 10, 60])
def test_a_few_gold_items_leave_the_labels_to_the_default(gold):
    votes, truth = similar(FANO.without("expert-1", "expert-2"), items=400)
    found = decode(votes, method="supervised", gold=labelled(truth, gold))
    assert (
        right(found, truth, np.arange(400) >= gold)
        > right(decode(votes), truth, np.arange(400) >= gold) - 0.03
    )
    weights = learned(InMemory(votes), DECODERS["supervised"](gold=labelled(truth, gold)))
    assert weights.statistics.items == 400
    assert gold > 10 or isinstance(weights, Lessons)


@pytest.mark.parametrize("soft", [True, False])
def test_what_stands_behind_a_learned_label_is_about_that_label(soft):
    votes, truth = habits(2000)
    if not soft:
        votes = Votes.from_dense(votes.dense, PANEL)
    found = decode(votes, method="supervised", gold=labelled(truth, 600), proba=True)
    assert (found.index != decode(votes, gold=labelled(truth, 600)).index).any()  # or the test shows nothing
    assert (found.index != found.runner_up_index).all()
    asked = found.status != "given"
    assert (found.margin[asked] >= 0).all()
    assert ((found.confidence > 0) & (found.confidence <= 1)).all()
    np.testing.assert_allclose(found.proba.sum(axis=1), 1, atol=1e-5)
    for n in np.flatnonzero(found.status == "agreed"):
        experts = PANEL.knows[:, found.index[n]]
        assert (votes.dense[n, experts] == found.index[n]).all()


@pytest.mark.parametrize("soft", [True, False])
def test_layout_parts_and_silence_change_nothing(soft):
    votes, truth = habits(1500)
    asked = np.random.default_rng(1).random((1500, 4)) < 0.9
    asked[700] = False
    chances = np.where(asked[:, :, None], votes_given(votes), 0)
    votes = Votes.from_dense(np.where(asked, votes.dense, -1), PANEL, probabilities=chances if soft else None)
    gold = labelled(truth, 500)
    one = decode(votes, method="supervised", gold=gold)
    for other in (
        decode(votes.to_ragged(), method="supervised", gold=gold),
        decode(votes, method="supervised", gold=gold, workers=3),
    ):
        assert (one.index == other.index).all()
        np.testing.assert_allclose(one.confidence, other.confidence, atol=1e-5)
    assert one.index[700] == -1
    assert one.status[700] == "incomplete"


def votes_given(votes):
    """Return the probabilities (items x experts x classes) of complete dense votes."""
    found = np.zeros((len(votes), len(PANEL), 5))
    found[:, PANEL.knows] = votes.class_probability.T
    return found


def test_two_classes_are_enough():
    panel = Panel(["no", "yes"], [[1, 1]] * 2)
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 400)
    first = np.where(truth == 1, 0.95, 0.6) + rng.uniform(-0.04, 0.04, 400)  # always leans to yes
    chances = np.stack([np.stack([1 - first, first], axis=1)] * 2, axis=1)
    votes = Votes.from_dense(chances.argmax(axis=2), panel, probabilities=chances)
    found = decode(votes, method="supervised", gold=labelled(truth, 100))
    rest = np.arange(400) >= 100
    assert right(decode(votes), truth, rest) < 0.6
    assert right(found, truth, rest) > 0.95


def test_what_was_given_equals_the_plain_way():
    votes, _ = habits(60)
    none = votes.dense.copy()
    none[5, 1], none[6, 2] = -1, -2
    per_vote = np.random.default_rng(0).uniform(0.4, 1, none.shape)
    for some in (Votes.from_dense(none, PANEL, probabilities=per_vote), votes):
        for layout in (some, some.to_ragged(), some.part(3, 40)):
            table = log_given(layout)
            for n in range(len(layout)):
                assert table[n] == pytest.approx(plainly(layout, n), abs=1e-5)


def plainly(votes, n):
    """Return a row of `log_given`, answer by answer."""
    row = []
    dense, item = votes.to_dense(), n + votes.to_dense().start
    for i in range(len(PANEL)):
        size, said = int(PANEL.sizes[i]), dense.dense[n, i]
        if said == -1:
            row += [0.0] * size
            continue
        if dense.class_probability is not None:
            at = int(PANEL.sizes[:i].sum())
            given = dense.class_probability[at : at + size, item].astype(float)
        else:
            p = float(dense.vote_probability[i, item])
            known = np.flatnonzero(PANEL.knows[i])
            given = (
                np.full(size, (1 - p) / size)
                if said < 0
                else np.where(known == said, p, (1 - p) / (size - 1))
            )
        logs = np.log(given + FLOOR)
        row += (logs - logs.mean()).tolist()
    return row


def test_labels_are_learned_from_the_answers_and_from_what_the_default_finds_likely():
    votes = Votes.from_dense(habits(300)[0].dense, PANEL)
    lessons = learned(InMemory(votes), DECODERS["learned"]())
    found = votes.rows.spread_values(supervised.features(votes.rows, lessons, lessons.scores(votes.rows)))
    likely = decode(votes, proba=True).proba
    for n, answers in enumerate(votes.dense.tolist()):
        said = []
        for answer, known in zip(answers, PANEL.knows, strict=True):
            said += [0.3 * (answer == k) for k in np.flatnonzero(known)] + [0.0]  # "none of mine" last
        assert found[n].tolist() == pytest.approx([*said, *(3 * likely[n])], abs=1e-5)


def test_what_takes_too_long_is_left_to_the_default(monkeypatch):
    monkeypatch.setattr(supervised, "LARGEST", 1000)
    votes, truth = habits(1500)
    gold = labelled(truth, 500)
    found = decode(votes, method="supervised", gold=gold)
    assert (found.index == decode(votes, gold=gold).index).all()


def test_it_asks_for_gold_items():
    votes, _ = habits(20)
    with pytest.raises(InputError, match="needs gold items; give them with gold"):
        decode(votes, method="supervised")
