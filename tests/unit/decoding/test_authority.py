from fractions import Fraction

import numpy as np
import pyarrow.parquet as pq
import pytest

from covote import CovoteError, Panel, Votes, decode
from covote.files import decode_file
from tests import plain_decoders as plain
from tests.methods import FROM_GOLD


def two_rivals(a, b):
    """A panel in which a experts know {0, 2} and b experts know {1, 3}."""
    return Panel.from_blocks(4, [[0, 2]] * a + [[1, 3]] * b)


@pytest.mark.parametrize(("a", "b"), [(3, 6), (7, 49), (10, 15), (49, 98), (3, 90), (100, 181), (120, 300)])
def test_equal_shares_tie_exactly_whatever_floats_would_say(a, b):
    panel = two_rivals(a, b)
    rows = []
    for n in range(a + 1):
        for m in (n * b // a - 1, n * b // a, n * b // a + 1):
            if 0 <= m <= b:
                rows.append([0] * n + [2] * (a - n) + [1] * m + [3] * (b - m))
    dense = Votes.from_dense(rows, panel)
    gap = Votes.from_dense([[*row[:-1], -1] for row in rows], panel)
    for votes in (dense, dense.to_ragged(), gap, gap.to_ragged()):
        labels = decode(votes, method="authority")
        for n, row in enumerate(votes.dense):
            best = plain.authority(panel, row)
            assert labels.tied[n] == (len(best) > 1)
            assert labels.index[n] == (min(best) if len(best) == 1 else -1)


def test_a_single_tied_item_stays_open_and_never_goes_to_the_first_class():
    panel = Panel.from_blocks(4, [[0, 2], [1, 3], [1, 3]])
    votes = Votes.from_dense([[0, 1, 1]], panel)
    assert decode(votes, method="authority").index.tolist() == [-1]
    assert decode(votes, odds=9).index.tolist() == [-1]  # one authority more is not nine times as likely
    assert decode(votes, odds=9).status.tolist() == ["tied"]
    even = decode(Votes.from_dense([[0, 1]], Panel.from_blocks(4, [[0, 2], [1, 3]])), odds=1)
    assert even.index.tolist() == [-1]


def test_only_authorities_that_answered_count():
    panel = Panel.from_blocks(2, [[0, 1]] * 3)
    labels = decode(Votes.from_dense([[0, -1, -1], [0, 1, -1], [0, -2, -2]], panel), method="authority")
    assert labels.index.tolist() == [0, -1, 0]
    assert labels.violations.tolist() == [0, 1, 2]


def test_a_class_nobody_was_asked_about_cannot_win():
    panel = Panel.from_blocks(3, [[0, 1], [1, 2], [0, 2]])
    labels = decode(Votes.from_dense([[-2, -1, -1], [0, -1, -1]], panel), method="authority")
    assert labels.index.tolist() == [-1, 0]
    assert labels.tied_classes(0) == (0, 1)
    assert labels.status.tolist() == ["tied", "incomplete"]


def test_a_class_without_authorities_is_left_out():
    panel = Panel.from_blocks(3, [[0, 1], [0, 1]])
    labels = decode(Votes.from_dense([[0, 0], [0, 1]], panel), odds=9)
    assert labels.index.tolist() == [0, -1]
    assert labels.status.tolist() == ["incomplete", "incomplete"]  # the third class explains any votes


def test_one_class():
    panel = Panel.from_blocks(1, [[0], [0]])
    labels = decode(Votes.from_dense([[0, 0], [-2, -2], [-1, -1]], panel))
    assert labels.index.tolist() == [0, 0, -1]
    assert labels.status.tolist() == ["agreed", "conflict", "incomplete"]
    assert np.isnan(labels.margin).all()


@pytest.mark.parametrize("classes", [100, 128, 129, 1000, 10_000])
def test_many_classes(classes):
    rng = np.random.default_rng(0)
    knows = rng.random((60, classes)) < 12 / classes
    knows[np.arange(60), rng.integers(classes, size=60)] = True
    panel = Panel(classes, knows)
    members = [np.flatnonzero(row) for row in knows]
    rows = np.stack([rng.choice(m, 50) for m in members], axis=1)
    rows[rng.random(rows.shape) < 0.5] = -1
    rows[rng.random(rows.shape) < 0.02] = -2
    votes = Votes.from_dense(rows, panel)
    for form in (votes, votes.to_ragged(), votes.part(7, 50), votes.to_ragged().part(7, 50)):
        labels = decode(form, method="authority")
        for n, row in enumerate(form.dense[: 5 if classes > 200 else 50]):
            best = plain.authority(panel, row)
            assert labels.tied[n] == (len(best) > 1)
            assert labels.index[n] == (min(best) if len(best) == 1 else -1)


def test_the_score_is_the_papers_equation_4():
    rng = np.random.default_rng(1)
    panel = Panel(8, rng.random((9, 8)) < 0.6)
    rows = np.stack([rng.choice(np.flatnonzero(known), 5000) for known in panel.knows], axis=1)
    labels = decode(Votes.from_dense(rows, panel), method="authority")
    d = panel.knows.sum(axis=0)
    for n, row in enumerate(rows[:500]):
        share = [Fraction(int((row == k).sum()), int(d[k])) for k in range(8) if d[k]]
        top, second = sorted(share)[-1], sorted(share)[-2]
        assert labels.margin[n] == pytest.approx(float(top - second), abs=1e-6)
        assert labels.tied[n] == (top == second)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "plurality"}, "no method 'plurality'.*; choose one of learned, majority, authority"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"ties": "report"}, "'learned' has no option 'ties'"),
        ({"method": "likelihood", "accuracy": 1.5}, "accuracy 1.5 of expert 'expert-1'"),
        ({"method": "likelihood", "accuracy": [0.5]}, r"shape \(1,\)"),
        ({"method": "likelihood", "accuracy": {"expert-1": 0.5}}, "no accuracy for expert 'expert-2'"),
        ({"method": "likelihood", "prior": [0, 0]}, "0 for every class"),
        ({"method": "likelihood", "prior": [1, -1]}, "prior -1.0 of class 1"),
        ({"method": "likelihood", "false_none": 1.0}, "false_none=1.0"),
        ({"method": "likelihood", "false_alarm": 0.0}, "false_alarm=0.0"),
        ({"method": "authority", "depth": 3}, "depth"),
        ({"method": "authority", "past": None}, "'authority' has no option 'past'; it has: none"),
    ],
)
def test_mistakes_are_named(options, message):
    panel = Panel.from_blocks(2, [[0, 1], [0, 1]])
    with pytest.raises(CovoteError, match=message):
        decode(Votes.from_dense([[0, 1]], panel), **options)


def test_a_panel_beside_the_votes():
    panel = Panel.from_blocks(2, [[0, 1]] * 3)
    votes = Votes.from_dense([[0, 0, 1]], panel)
    assert decode(votes, panel).index.tolist() == [0]
    with pytest.raises(CovoteError, match="is not in the panel"):
        decode(votes, panel.without("expert-1"))


def test_what_is_no_votes_is_told():
    panel = Panel(2, [[1, 1]])
    for votes in ([[0]], np.array([[0]])):
        with pytest.raises(CovoteError, match=r"make Votes of them first, with Votes.from_dense"):
            decode(votes, panel)


@pytest.mark.parametrize("method", FROM_GOLD)
@pytest.mark.filterwarnings("ignore:.*answers seem to be about classes:UserWarning")
def test_gold_that_names_no_item_is_told(tmp_path, method):
    panel = Panel.from_blocks(3, [[0, 1], [1, 2], [0, 2]])
    votes = Votes.from_dense([[0, 1, 2]] * 30, panel)
    gold = {str(n): 0 for n in range(30)}  # text, where the votes have integers
    with pytest.raises(CovoteError, match=r"none of the 30 items whose class is known has votes .*'0', '1'"):
        decode(votes, method=method, gold=gold)
    pq.write_table(votes.to_arrow(), tmp_path / "votes.parquet")
    with pytest.raises(CovoteError, match="none of the 1 items"):
        decode_file(tmp_path / "votes.parquet", tmp_path / "labels.csv", panel, method=method, gold={77: 0})
    assert not (tmp_path / "labels.csv").exists()
