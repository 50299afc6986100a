"""Exact answers about asking, for panels of a few classes."""


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
