"""Plain Python and compiled kernels give the same labels, to the last bit of confidence and margin."""

import numpy as np
import pytest

from covote import Panel, Votes, decode, expert_report, pair_agreement, simulate
from covote.compiled import running
from covote.decoding.fusion import given
from covote.decoding.shares import best_classes
from tests.methods import FROM_GOLD, PLAIN, WITH_PROBABILITIES

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
PLAIN_METHODS = {
    **{name: {} for name in PLAIN},
    **{f"{name}, gold": {"gold": GOLD} for name in FROM_GOLD},
    "likelihood, nones": {"accuracy": 0.8, "false_none": 0.1, "false_alarm": 0.7},
    "em, authority": {"gold": GOLD, "begin": "authority"},
    "dawid-skene, no smoothing": {"gold": GOLD, "iterations": 3, "smoothing": 0},
}
SOFT_METHODS = {**{name: {} for name in WITH_PROBABILITIES}, "coupling, as given": {"power": 1.0}}
CASES = [
    (shape, method)
    for shape in VOTES
    for method in (PLAIN_METHODS | SOFT_METHODS if "soft" in shape else PLAIN_METHODS)
]


def found(votes, name):
    options = (PLAIN_METHODS | SOFT_METHODS)[name]
    labels = decode(votes, method=name.split(",")[0], **options)
    return [labels.index, labels.tied, *labels.ties, *labels.evidence]


@pytest.mark.filterwarnings("ignore:.*seem to be about classes:UserWarning")
@pytest.mark.parametrize(("shape", "method"), CASES)
def test_both_ways_give_the_same_labels(shape, method):
    votes = VOTES[shape]
    with running("plain"):
        # A part of its own: what was found for votes is kept with them.
        plain = found(votes.part(0, ITEMS), method)
    with running("compiled"):
        compiled = found(votes.part(0, ITEMS), method)
    for one, other in zip(plain, compiled, strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def test_lookup_gives_the_same_labels_both_ways():
    votes = simulate(PANEL, TRUTH, seed=1)
    with running("plain"):
        plain = decode(votes.part(0, ITEMS), method="lookup")
    with running("compiled"):
        compiled = decode(votes.part(0, ITEMS), method="lookup")
    for one, other in zip(plain.evidence, compiled.evidence, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("shape", ["panel dense", "panel ragged"])
def test_both_ways_report_the_same_of_experts(shape):
    reports = []
    for mode in ("plain", "compiled"):
        with running(mode):
            votes = VOTES[shape].part(0, ITEMS)
            report, pairs = expert_report(votes), pair_agreement(votes)
            reports.append([report.accuracy, report.inside, report.none, pairs.agree, pairs.both])
    for one, other in zip(*reports, strict=True):
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("noise", ["uniform", "similar", "adversarial"])
def test_both_ways_draw_the_same_answers(noise):
    drawn = []
    for mode in ("plain", "compiled"):
        with running(mode):
            drawn.append(simulate(PANEL, TRUTH, accuracy=0.7, missing=0.1, noise=noise, seed=3).dense)
    assert np.array_equal(*drawn)


def test_probabilities_of_either_kind_and_ties_found_either_way_are_one_type_to_compile_for():
    """Otherwise the loops over probabilities, which take longest to compile, are compiled four times."""
    rng = np.random.default_rng(0)
    votes = simulate(PANEL, TRUTH, seed=1)
    soft = [rng.uniform(0.3, 1, (ITEMS, width)).astype(np.float32) for width in (7, int(PANEL.sizes.sum()))]
    pieces = [Votes.from_dense(votes.dense, PANEL, probabilities=some).to_ragged() for some in soft]
    assert {array.flags.writeable for piece in pieces for array in given(piece)} == {False}
    for mode in ("plain", "compiled"):
        with running(mode):
            assert all(array.flags.c_contiguous for array in best_classes(pieces[0].ragged, PANEL, most=2))
