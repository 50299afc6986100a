from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import Votes, decode
from tests import plain_decoders as plain
from tests.methods import LEARNING, PLAIN
from tests.property.test_decode_authority import panels_and_votes


@settings(max_examples=60)
@given(panels_and_votes(none=False), st.data())
def test_likelihood_is_the_exact_product_of_chances(case, data):
    panel, rows = case
    chances = st.sampled_from([Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)])
    accuracy = data.draw(st.lists(chances, min_size=len(panel), max_size=len(panel)))
    weights = st.integers(1, 3)
    prior = data.draw(st.lists(weights, min_size=len(panel.classes), max_size=len(panel.classes)))
    labels = decode(
        Votes.from_dense(rows, panel), method="likelihood", accuracy=[float(p) for p in accuracy], prior=prior
    )
    for n, row in enumerate(rows):
        best, posterior = plain.likelihood(panel, row, accuracy, prior)
        assert set(labels.tied_classes(n)) == best
        assert labels.index[n] == (min(best) if len(best) == 1 else -1)
        if best:
            assert labels.confidence[n] == pytest.approx(float(posterior[min(best)]), abs=1e-6)
        assert labels.violations[n] == plain.violations(panel, row)


def same(one, other, rows=slice(None), classes=None):
    index = np.append(np.arange(len(one.panel.classes)) if classes is None else classes, -1)
    assert (index[one.index][rows] == other.index).all()
    assert (one.tied[rows] == other.tied).all()
    assert (one.violations[rows] == other.violations).all()
    assert (one.status[rows] == other.status).all()
    assert (index[one.runner_up_index][rows] == other.runner_up_index).all()
    np.testing.assert_allclose(one.margin[rows], other.margin, rtol=1e-6)
    np.testing.assert_allclose(one.confidence[rows], other.confidence, rtol=1e-5)


@pytest.mark.filterwarnings("ignore:.*of the answers seem")
@pytest.mark.parametrize("method", PLAIN)
@settings(max_examples=25)
@given(panels_and_votes(), st.randoms(use_true_random=False))
def test_layout_order_and_names_change_nothing(method, case, random):
    panel, rows = case
    votes = Votes.from_dense(rows, panel)
    labels = decode(votes, method=method)
    same(labels, decode(votes.to_ragged(), method=method))

    items = random.sample(range(len(rows)), len(rows))
    same(labels, decode(votes.subset(items), method=method), rows=items)

    experts = random.sample(range(len(panel)), len(panel))
    shuffled = panel.__class__(panel.classes, panel.knows[experts], [panel.names[i] for i in experts])
    same(labels, decode(Votes.from_dense(rows[:, experts], shuffled), method=method))

    classes = np.array(random.sample(range(len(panel.classes)), len(panel.classes)))
    knows = np.empty_like(panel.knows)
    knows[:, classes] = panel.knows
    renamed = panel.__class__(panel.classes, knows, panel.names)
    moved = np.append(classes, [-2, -1])[rows]
    same(labels, decode(Votes.from_dense(moved, renamed), method=method), classes=classes)


@pytest.mark.filterwarnings("ignore:.*of the answers seem")
@pytest.mark.parametrize("method", PLAIN)
@settings(max_examples=15)
@given(panels_and_votes(), st.integers(1, 5))
def test_threads_and_parts_change_nothing(method, case, workers):
    panel, rows = case
    for votes in (Votes.from_dense(rows, panel), Votes.from_dense(rows, panel).to_ragged()):
        same(decode(votes, method=method), decode(votes, method=method, workers=workers))
        if method in LEARNING:
            continue
        inner = votes.part(len(rows) // 2, len(rows))
        whole = decode(votes, method=method)
        same(whole, decode(inner, method=method), rows=slice(len(rows) // 2, None))
