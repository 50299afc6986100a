"""Exact answers about asking, for panels of a few classes, and a model of how experts answer."""

import numpy as np


def coin_table(panel, accuracy=0.95, none=(0.02, 0.5)):
    """Return the logarithm of the probability of each answer to each class, for Posterior.

    An expert who knows the class is right with this accuracy, or wrong evenly; others answer evenly. `none`
    are the rates of "none of mine" of the two.
    """
    classes, rows = len(panel.classes), []
    for known in panel.knows:
        mine = np.flatnonzero(known)
        wrong = (1 - accuracy) / max(len(mine) - 1, 1)
        right = accuracy if len(mine) > 1 else 1.0
        for k in mine:
            says = np.where(np.arange(classes) == k, right, wrong) * (1 - none[0])
            rows.append(np.where(known, says, (1 - none[1]) / len(mine)))
        rows.append(np.where(known, none[0], none[1]))
    return np.log(np.maximum(rows, 1e-9))


def fewest_answers(panel):
    """Return how many answers the best strategy needs in the worst case, by dynamic programming.

    The state is the set of alive classes; to name a class that is not alive only helps, so the worst answer
    is an alive one. Every pair of classes must be covered.
    """
    experts = sorted({sum(1 << int(k) for k in row.nonzero()[0]) for row in panel.knows})
    known = {}

    def answers(alive):
        if alive & (alive - 1) == 0:
            return 0
        if alive not in known:
            useful = {alive & expert for expert in experts if (alive & expert).bit_count() > 1}
            known[alive] = 1 + min(worst(alive, asked) for asked in useful)
        return known[alive]

    def worst(alive, asked):
        rest, most = alive & ~asked, 0
        while asked:
            named = asked & -asked
            most = max(most, answers(rest | named))
            asked ^= named
        return most

    return answers((1 << len(panel.classes)) - 1)
