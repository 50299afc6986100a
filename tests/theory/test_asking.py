"""theory: section 6. Elimination against every adversary, and beside the best strategy."""

import itertools

import numpy as np
import pytest

from covote import Panel, Votes, design
from covote.asking import Asker, Repair
from covote.bounds import elimination_bound
from tests.plain_asking import fewest_answers


def every_answer(panel, wrong=0):
    """Return (truth, answers): all that experts can say if at most `wrong` of those that know it err."""
    truth, rows = [], []
    for k in range(len(panel.classes)):
        authorities = np.flatnonzero(panel.knows[:, k])
        for count in range(wrong + 1):
            for erring in itertools.combinations(authorities, count):
                said = [
                    [k] if row[k] and i not in erring else [v for v in np.flatnonzero(row) if v != k]
                    for i, row in enumerate(panel.knows)
                ]
                for answers in itertools.product(*said):
                    truth.append(k)
                    rows.append(answers)
    return np.array(truth), np.array(rows)


def worst_case(panel, rule, truth, answers, seed=0):
    """Ask about every row of answers; return the most questions about one item."""
    asker = Asker(panel, len(truth), rule, seed=seed)
    while len(questions := asker.next()):
        asker.tell_all(questions, answers[questions.item, questions.expert])
    assert asker.done.all()
    assert (asker.labels().index == truth).all()
    return int(np.diff(asker.votes().ragged.indptr).max())


# name: (panel, answers of the best strategy in the worst case, those of the rule)
PANELS = {
    "pairs of 4": (Panel.from_blocks(4, itertools.combinations(range(4), 2)), 3, 3),
    "pairs of 5": (Panel.from_blocks(5, itertools.combinations(range(5), 2)), 4, 4),
    "the paper's 5 by 3": (Panel.from_blocks(5, [[0, 1, 2], [0, 3, 4], [1, 2, 3], [1, 2, 4]]), 2, 3),
    "Fano plane": (Panel.from_blocks(7, [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6],
                                         [2, 4, 5]]), 4, 4),
    "6 by 3": (design(6, 3, effort="fast"), 3, 3),
    "8 by 4": (design(8, 4, effort="fast"), 3, 3),
    "9 by 3, the affine plane": (design(9, 3, effort="fast"), 5, 5),
}  # fmt: skip


@pytest.mark.parametrize("name", PANELS)
def test_elimination_is_never_wrong_and_its_worst_case_is_known(name):
    panel, best, rule = PANELS[name]
    truth, answers = every_answer(panel)
    assert worst_case(panel, "elimination", truth, answers) == rule
    assert fewest_answers(panel) == best
    assert rule <= elimination_bound(len(panel.classes), len(panel))


@pytest.mark.parametrize(
    "panel", [Panel(3, np.ones((3, 3))), Panel.from_blocks(3, [[0, 1], [0, 2], [1, 2]] * 3)]
)
def test_repair_withstands_every_wrong_answer_that_it_promises(panel):
    truth, answers = every_answer(panel, wrong=1)
    worst_case(panel, Repair(wrong=1), truth, answers)


def test_repair_withstands_two_wrong_answers():
    panel = Panel(3, np.ones((5, 3)))
    truth, answers = every_answer(panel, wrong=2)
    worst_case(panel, Repair(wrong=2), truth, answers)


def test_the_vote_is_settled_only_when_no_answer_can_change_it():
    panel = design(6, 3, effort="fast")
    answers = np.array(list(itertools.product(*(np.flatnonzero(row) for row in panel.knows))))
    asker = Asker(panel, len(answers), "vote")
    while len(questions := asker.next()):
        asker.tell_all(questions, answers[questions.item, questions.expert])
    votes = Votes.from_dense(answers, panel)
    named = np.stack([(votes.dense == k).sum(axis=1) for k in range(6)], axis=1)
    share = named / panel.knows.sum(axis=0)
    unique = (np.isclose(share, share.max(axis=1, keepdims=True))).sum(axis=1) == 1
    assert (asker.labels().index == np.where(unique, share.argmax(axis=1), -1)).all()
    assert asker.done[unique].all()
    assert not asker.done[~unique].any()
