import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from covote.decoding import decode
from covote.panel import Panel
from covote.votes import Votes
from tests import plain_decoders as plain


@st.composite
def panels(draw, most_classes=6, most_experts=6):
    classes = draw(st.integers(1, most_classes))
    blocks = draw(
        st.lists(
            st.sets(st.integers(0, classes - 1), min_size=1).map(sorted), min_size=1, max_size=most_experts
        )
    )
    return Panel.from_blocks(classes, blocks)


@st.composite
def panels_and_votes(draw, complete=False, none=True):
    panel = draw(panels())
    codes = [] if complete else [-1, -2] if none else [-1]
    row = st.tuples(*(st.sampled_from([*np.flatnonzero(known).tolist(), *codes]) for known in panel.knows))
    rows = draw(st.lists(row, min_size=1, max_size=12))
    return panel, np.array(rows)


def check(panel, rows, labels):
    for n, row in enumerate(rows):
        best = plain.authority(panel, row)
        assert set(labels.tied_classes(n)) == best
        assert labels.tied[n] == (len(best) > 1)
        assert labels.index[n] == (best.pop() if len(best) == 1 else -1)
        assert labels.violations[n] == plain.violations(panel, row)
        assert labels.status[n] == plain.status(panel, row, labels.index[n], labels.tied[n])


@settings(max_examples=40)
@given(panels_and_votes(complete=True))
def test_complete_votes_are_decoded_as_the_plain_twin_does(case):
    panel, rows = case
    check(panel, rows, decode(Votes.from_dense(rows, panel), method="authority"))


@settings(max_examples=40)
@given(panels_and_votes())
def test_a_majority_is_the_most_votes_whoever_gave_them(case):
    panel, rows = case
    votes = Votes.from_dense(rows, panel)
    for labels in (decode(votes, method="majority"), decode(votes.to_ragged(), method="majority")):
        for n, row in enumerate(rows):
            best = plain.majority(panel, row)
            assert set(labels.tied_classes(n)) == best
            assert labels.index[n] == (best.pop() if len(best) == 1 else -1)
            assert np.isnan(labels.confidence[n])


@settings(max_examples=40)
@given(panels_and_votes())
def test_votes_with_gaps_are_decoded_as_the_plain_twin_does(case):
    panel, rows = case
    votes = Votes.from_dense(rows, panel)
    check(panel, rows, decode(votes, method="authority"))
    check(panel, rows, decode(votes.to_ragged(), method="authority"))
