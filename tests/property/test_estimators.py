import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import Votes, decode
from covote.decoding import DECODERS, InMemory, Statistics, learn_weights, linear
from covote.decoding.answer_model import AnswerModel
from covote.decoding.fusion import coupled
from covote.decoding.learned_weights import FitToVote
from covote.votes.patterns import each_row
from tests import plain_estimators as plain
from tests.methods import LEARNING
from tests.property.test_decode_authority import panels_and_votes

pytestmark = pytest.mark.filterwarnings("ignore:.*of the answers seem")


@settings(max_examples=60)
@given(panels_and_votes(), st.sampled_from(["none", "common", "own"]))
def test_an_answer_weighs_what_its_expert_says_inside_and_outside_expertise(case, habits):
    panel, rows = case
    votes = Votes.from_dense(rows, panel)
    model = AnswerModel(FitToVote(None, None).count(votes, None), habits)
    found = linear.scores(each_row(votes), model.table) / linear.UNIT
    n = plain.counts(panel, rows, plain.authority_shares(panel, rows))
    for row, scores in enumerate(plain.answer_scores(panel, rows, n, habits)):
        for k, score in scores.items():
            assert found[row, k] == pytest.approx(score, abs=1e-4)


@settings(max_examples=20)
@given(panels_and_votes(), st.sampled_from(["common", "own"]))
def test_large_tables_of_habits_are_sparse_and_the_same(case, habits):
    panel, rows = case
    statistics = FitToVote(None, None).count(Votes.from_dense(rows, panel), None)
    cells = np.arange(len(panel.layout.cells.label))
    expected = AnswerModel(statistics, habits).weights(cells)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(linear, "TABLE", 0)
        assert np.abs(AnswerModel(statistics, habits).weights(cells) - expected).max() <= 1


@settings(max_examples=40)
@given(panels_and_votes(none=False), st.sampled_from([0.5, 10.0]))
def test_em_equals_the_plain_twin(case, shrinkage):
    panel, rows = case
    options = {"iterations": 4, "tolerance": 0.0, "shrinkage": shrinkage}
    labels = decode(Votes.from_dense(rows, panel), method="em", **options)
    accuracy, posterior = plain.one_coin(panel, rows, 4, shrinkage)
    weights = learn_weights(InMemory(Votes.from_dense(rows, panel)), DECODERS["em"](**options))
    np.testing.assert_allclose(weights.parameters, accuracy, atol=1e-5)
    check_posterior(labels, posterior)


@settings(max_examples=40)
@given(panels_and_votes(), st.sampled_from([0.01, 0.5]))
def test_dawid_skene_equals_the_plain_twin(case, smoothing):
    panel, rows = case
    labels = decode(
        Votes.from_dense(rows, panel), method="dawid-skene", iterations=3, tolerance=0, smoothing=smoothing
    )
    check_posterior(labels, plain.dawid_skene(panel, rows, 3, smoothing))


def check_posterior(labels, posterior):
    for label, confidence, chances in zip(labels.index, labels.confidence, posterior, strict=True):
        best = {k for k, q in chances.items() if q > max(chances.values()) - 1e-4}
        assert label in best or (label == -1 and len(best) != 1)
        if label >= 0:
            assert confidence == pytest.approx(chances[label], abs=1e-3)
            assert 0 < confidence <= 1


@st.composite
def soft_votes(draw):
    # Where every expert knows one class, as many columns as experts mean one probability per vote.
    panel, rows = draw(panels_and_votes().filter(lambda case: case[0].sizes.max(initial=0) > 1))
    chance = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])
    width = int(panel.sizes.sum())
    shape = st.lists(st.lists(chance, min_size=width, max_size=width), min_size=len(rows), max_size=len(rows))
    return panel, rows, np.array(draw(shape), dtype=np.float32).reshape(len(rows), width)


def given_by(panel, row, flat):
    """{expert: {class: probability}} of the experts that answered, summing to 1 (or less with "none")."""
    start = np.cumsum(panel.sizes) - panel.sizes
    found = {}
    for i, v in enumerate(row):
        if v != -1:
            known = np.flatnonzero(panel.knows[i]).tolist()
            p = [float(x) for x in flat[start[i] : start[i] + len(known)]]
            total = sum(p)
            if total == 0:
                continue  # no probability
            if total > 1 or v >= 0:
                p = [x / total for x in p]
            found[i] = dict(zip(known, p, strict=True))
    return found


@settings(max_examples=60)
@given(soft_votes(), st.sampled_from([0.3, 1.0]))
def test_coupled_probabilities_equal_their_plain_twin(case, power):
    panel, rows, flat = case
    found = coupled(Votes.from_dense(rows, panel, probabilities=flat), power)
    for n, row in enumerate(rows):
        for k, q in plain.coupled(panel, row, given_by(panel, row, flat[n]), power).items():
            assert found[n, k] == pytest.approx(q, abs=1e-5)


@settings(max_examples=20)
@given(soft_votes())
def test_probabilities_in_both_layouts_give_the_same_labels(case):
    panel, rows, flat = case
    for probabilities in (
        flat,
        np.minimum(flat[:, : len(panel)], 1) if flat.shape[1] >= len(panel) else flat,
    ):
        votes = Votes.from_dense(rows, panel, probabilities=probabilities)
        dense, ragged = decode(votes), decode(votes.to_ragged(), workers=2)
        assert (dense.index == ragged.index).all()
        np.testing.assert_array_equal(dense.confidence, ragged.confidence)


@pytest.mark.parametrize("method", LEARNING)
@settings(max_examples=20)
@given(panels_and_votes(), st.integers(0, 12))
def test_statistics_of_parts_add_up_exactly_and_can_be_continued(method, case, cut):
    panel, rows = case
    votes = Votes.from_dense(rows, panel)
    cut = min(cut, len(rows))
    decoder = DECODERS[method]()
    weights = decoder.start(panel)
    count = decoder.passes[0].count
    whole = count(votes, weights)
    first, second = (count(part, weights) for part in (votes.part(0, cut), votes.part(cut, len(rows))))
    for added in (first + second, second + first):
        same_counts(added, whole)
    continued = learn_weights(InMemory(votes.part(cut, len(rows))), DECODERS[method](past=first))
    if method != "learned":
        same_counts(learn_weights(InMemory(votes), DECODERS[method](iterations=1)).statistics, whole)
    assert continued.statistics.items == len(rows)


def same_counts(one: Statistics, other: Statistics) -> None:
    assert one.items == other.items
    assert (one.share == other.share).all()
    assert (one.counts == other.counts).all()
