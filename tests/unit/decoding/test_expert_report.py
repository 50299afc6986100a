import numpy as np
import pytest

from covote import Panel, Votes
from covote.decoding import DECODERS, InMemory, expert_report, learned, pair_agreement
from covote.errors import InputError, TooLargeError
from tests.unit.decoding.test_estimators import crowd


def test_the_report_says_who_is_good_and_how_sure_that_is():
    votes, truth = crowd(1000)
    report = expert_report(votes, gold=truth)
    share = (votes.dense == truth[:, None]).mean(axis=0)
    np.testing.assert_allclose(report.accuracy, share, atol=1e-9)
    assert ((report.low < share) & (share < report.high)).all()
    assert (report.high - report.low < 0.07).all()
    assert (report.outside == 0).all()
    table = report.to_pandas()
    assert table.index.tolist() == list(votes.panel.names)
    assert "expert-7" in str(report)


def test_answers_outside_expertise_and_none_of_mine_are_counted():
    panel = Panel.from_blocks(3, [[0, 1], [1, 2], [0, 2]])
    votes = Votes.from_dense([[0, 1, 0], [1, 1, 2], [-2, 2, 2], [0, -1, 0]], panel)
    report = expert_report(votes)
    assert report.inside.tolist() == [3, 2, 3]
    assert report.outside.tolist() == [1, 1, 1]
    assert report.none.tolist() == [1, 0, 0]
    assert report.accuracy.tolist() == [1, 1, 1]


def test_an_expert_without_answers_is_unknown():
    panel = Panel(2, np.ones((2, 2), dtype=bool))
    report = expert_report(Votes.from_dense([[0, -1]], panel))
    assert np.isnan(report.accuracy[1])
    assert (report.low[1], report.high[1]) == (0, 1)


def test_reports_come_from_saved_statistics_too():
    votes, truth = crowd(200)
    kept = learned(InMemory(votes), DECODERS["dawid-skene"]()).statistics
    assert expert_report(statistics=kept).accuracy == pytest.approx(
        (votes.dense == truth[:, None]).mean(axis=0), abs=0.08
    )
    with pytest.raises(InputError, match="only know accuracies"):
        expert_report(statistics=learned(InMemory(votes), DECODERS["em"]()).statistics)
    with pytest.raises(InputError, match="needs votes or statistics"):
        expert_report()


def test_perfect_partial_experts_agree_on_every_pair():
    panel = Panel.from_blocks(3, [[0, 1], [1, 2], [0, 2], [0, 1, 2], [0, 1, 2]])
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    guess = [rng.choice(np.flatnonzero(known), 300) for known in panel.knows]
    rows = np.where(panel.knows[:, truth], truth, guess).T
    agreement = pair_agreement(Votes.from_dense(rows, panel))
    off = ~np.eye(3, dtype=bool)
    assert (agreement.share[off] == 1).all()
    halves = [pair_agreement(Votes.from_dense(part, panel)) for part in (rows[:100], rows[100:])]
    assert ((halves[0] + halves[1]).both == agreement.both).all()


def test_confused_classes_come_first():
    panel = Panel(["cat", "dog", "fox"], np.ones((3, 3), dtype=bool))
    votes = Votes.from_dense([[0, 0, 1]] * 6 + [[1, 1, 1]] * 3 + [[2, 2, 2]] * 5, panel)
    worst = pair_agreement(votes).worst(1)
    assert worst[0][:2] == ("cat", "dog")
    # Six items with one agreeing and two disagreeing pairs of answers, three items with three agreeing ones.
    assert worst[0][2] == pytest.approx((6 + 9) / (18 + 9))
    with pytest.raises(TooLargeError):
        pair_agreement(Votes.from_dense([[0]], Panel(4000, np.ones((1, 4000), dtype=bool))))
