"""The paper's Corollary 1 holds for the default: a full cover and perfect experts give the truth."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from covote import Panel, Votes, decode, design
from covote.files import Output, decode_file

COVERS = [
    design(classes, size) for classes, size in ((2, 2), (3, 2), (5, 3), (7, 4), (8, 8), (6, 2), (10, 2))
]
COVERS.append(Panel.from_blocks(4, [[0, 1], [0, 1, 2], [0, 1, 2, 3], [2, 3], [1, 3]]))  # unequal sizes


@st.composite
def perfect_votes(draw):
    """Return votes on a full cover, right inside expertise, anything outside, and the truth."""
    panel = draw(st.sampled_from(COVERS))
    dice = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth = dice.integers(0, len(panel.classes), draw(st.sampled_from([1, 2, 5, 40])))
    if draw(st.booleans()):
        truth[:] = truth[0]
    favourite = dice.integers(0, len(panel.classes))  # what outsiders say, all of them where they can
    votes = np.empty((len(truth), len(panel)), np.int64)
    given = np.zeros((len(truth), len(panel), len(panel.classes)))
    surest = draw(st.sampled_from([1.0, 5.0, 50.0]))
    for i, known in enumerate(panel.knows):
        classes = np.flatnonzero(known)
        wild = favourite if known[favourite] else dice.choice(classes, len(truth))
        votes[:, i] = np.where(known[truth], truth, wild)
        # Insiders are hardly sure, outsiders as sure as can be.
        sureness = np.where(known[truth], 1e-6, surest)[:, None]
        score = dice.random((len(truth), len(classes))) * 1e-9
        score += sureness * (classes == votes[:, [i]])
        share = np.exp(score - score.max(axis=1, keepdims=True))
        given[:, i, classes] = share / share.sum(axis=1, keepdims=True)
    return panel, votes, given, truth


@settings(max_examples=60, deadline=None)
@given(perfect_votes(), st.sampled_from(["plain", "probability", "probabilities"]))
def test_a_full_cover_and_perfect_experts_give_the_truth_whatever_the_probabilities(case, kind):
    panel, votes, given, truth = case
    own = np.take_along_axis(given, votes[:, :, None], axis=2)[:, :, 0]
    probabilities = {"plain": None, "probability": own, "probabilities": given}[kind]
    whole = Votes.from_dense(votes, panel, probabilities=probabilities)
    for some in (whole, whole.to_ragged()):
        assert decode(some).index.tolist() == truth.tolist()
        assert decode(some, odds=1).index.tolist() == truth.tolist()
        assert decode(some, workers=2, evidence=False).index.tolist() == truth.tolist()


@pytest.mark.parametrize("layout", ["long", "wide"])
def test_so_does_a_file(tmp_path, layout):
    panel = design(7, 3)
    truth = np.arange(70) % 7
    outside = np.where(panel.knows[:, [0]].T, 0, np.argmax(panel.knows, axis=1)[None])
    votes = np.where(panel.knows[:, truth].T, truth[:, None], outside)
    Votes.from_dense(votes, panel).save(tmp_path / "votes.csv", layout)
    decode_file(tmp_path / "votes.csv", Output(tmp_path / "labels.parquet"), panel)
    assert parquet.read_table(tmp_path / "labels.parquet")["label"].to_pylist() == truth.tolist()
