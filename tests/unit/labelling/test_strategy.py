"""Which items are in doubt once some experts have answered."""

from covote import Panel, Votes
from covote.labelling.strategy import doubtful


def test_the_word_of_one_expert_leaves_an_item_in_doubt():
    panel = Panel.from_blocks(["a", "b", "c"], [["a", "b"], ["a", "b", "c"]])
    both, one = [[0, 0], [1, 1], [1, 2]], [[-1, 0], [-1, 1], [-1, 2]]
    assert doubtful(Votes.from_dense(one, panel)).tolist() == [True, True, True]
    assert doubtful(Votes.from_dense(both, panel)).tolist() == [False, False, True]
