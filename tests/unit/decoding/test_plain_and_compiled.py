"""Plain Python and compiled kernels give the same labels, to the last bit of confidence and margin."""

import numpy as np
import pytest

from covote import Panel, Votes, decode, simulate
from covote.compiled import kernel_mode
from covote.decoding.fusion import given

PANEL = Panel.from_blocks(7, [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]])
CROWD = Panel.from_blocks(3, [range(3)] * 5)
ITEMS = 40
TRUTH = np.arange(ITEMS) % 3
GOLD = np.where(np.arange(ITEMS) % 2 == 0, TRUTH, -1)


def shapes(panel):
    """Yield (name, votes): everybody answers, with gaps, as lists of answers, with probabilities."""
    rng = np.random.default_rng(1)
    whole = simulate(panel, TRUTH, accuracy=0.8, seed=1)
    gaps = simulate(panel, TRUTH, accuracy=0.8, missing=0.3, none_rate=(0.1, 0.3), seed=2)
    sure = rng.uniform(0.3, 1, whole.dense.shape).astype(np.float32)
    yield "dense", whole
    yield "gaps", gaps
    yield "ragged", gaps.to_ragged()
    yield "soft", Votes.from_dense(whole.dense, panel, probabilities=sure)
    yield "soft ragged", Votes.from_dense(gaps.dense, panel, probabilities=sure).to_ragged()


VOTES = {
    f"{name} {shape}": votes
    for name, panel in {"panel": PANEL, "crowd": CROWD}.items()
    for shape, votes in shapes(panel)
}
SOFT_METHODS = {"learned": {}, "learned, gold": {"gold": GOLD}}


def both_ways(task):
    """Return what a task finds as plain Python and compiled."""
    with kernel_mode("plain"):
        plain = task()
    with kernel_mode("compiled"):
        return plain, task()


@pytest.mark.parametrize("shape", [shape for shape in VOTES if "soft" in shape])
@pytest.mark.parametrize("method", SOFT_METHODS)
def test_both_ways_give_the_same_labels_by_probabilities(shape, method):
    def found():
        votes, options = VOTES[shape].part(0, ITEMS), SOFT_METHODS[method]
        labels = decode(votes, method=method.split(",")[0], **options)
        return [array.tobytes() for array in (labels.index, labels.tied, *labels.ties, *labels.evidence)]

    plain, compiled = both_ways(found)
    assert plain == compiled


def test_probabilities_of_either_kind_are_one_type_to_compile_for():
    """Otherwise the loops over probabilities, which take longest to compile, are compiled twice."""
    rng = np.random.default_rng(0)
    votes = simulate(PANEL, TRUTH, seed=1)
    soft = [rng.uniform(0.3, 1, (ITEMS, width)).astype(np.float32) for width in (7, int(PANEL.sizes.sum()))]
    pieces = [Votes.from_dense(votes.dense, PANEL, probabilities=some).to_ragged() for some in soft]
    kinds = [[(array.dtype, array.flags.writeable) for array in given(piece)] for piece in pieces]
    assert kinds[0] == kinds[1]
