"""The accuracy that an incomplete panel guarantees: a plain linear program, and noise of every kind."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from covote import Panel, design
from covote.bounds import worst_case, worst_case_accuracy


def random_panel(rng, classes):
    knows = rng.random((rng.integers(1, classes + 2), classes)) < rng.choice([0.3, 0.5, 0.7])
    knows[np.arange(len(knows)), rng.integers(0, classes, len(knows))] = True
    return Panel(classes, knows)


def groups(panel):
    """Return all sets of classes of which no expert knows two."""
    classes = range(len(panel.classes))
    every = [set(some) for size in range(1, len(classes) + 1) for some in combinations(classes, size)]
    return [some for some in every if panel.knows[:, sorted(some)].sum(axis=1).max() <= 1]


def plain_program(panel):
    """Return the fractional chromatic number of the covered pairs per class, and the weights of groups."""
    every = groups(panel)
    member = np.array([[k in some for some in every] for k in range(len(panel.classes))], dtype=float)
    solved = linprog(np.ones(len(every)), A_ub=-member, b_ub=-np.ones(len(member)), method="highs")
    return solved.fun / len(member), list(zip(every, solved.x, strict=True))


@pytest.mark.parametrize("seed", range(200))
def test_it_is_what_a_plain_linear_program_finds(seed):
    rng = np.random.default_rng(seed)
    panel = random_panel(rng, int(rng.integers(2, 9)))
    assert worst_case_accuracy(panel) == pytest.approx(plain_program(panel)[0], abs=1e-7)


def best_accuracy(panel, noise):
    """Return the accuracy of the best decoder; noise[k] has the probabilities of answers to class k."""
    likely = {}
    for answers in noise:
        for said, chance in answers.items():
            likely[said] = max(likely.get(said, 0.0), chance)
    return sum(likely.values()) / len(panel.classes)


@pytest.mark.parametrize("seed", range(30))
def test_no_noise_is_worse_and_one_is_as_bad(seed):
    rng = np.random.default_rng(seed)
    panel = random_panel(rng, int(rng.integers(2, 6)))
    bound = worst_case_accuracy(panel)
    for _ in range(20):
        noise = []
        for k in range(len(panel.classes)):
            options = [[k] if row[k] else np.flatnonzero(row).tolist() for row in panel.knows]
            every = list(product(*options))
            noise.append(
                dict(zip(every, rng.dirichlet(np.full(len(every), rng.choice([0.05, 1.0]))), strict=True))
            )
        assert best_accuracy(panel, noise) >= bound - 1e-9
    # The proof's noise: pick a group that contains the class, and let each expert name the member they know.
    noise = [{} for _ in panel.classes]
    for some, weight in plain_program(panel)[1]:
        said = tuple(
            next((k for k in sorted(some) if row[k]), int(np.flatnonzero(row)[0])) for row in panel.knows
        )
        for k in some:
            noise[k][said] = noise[k].get(said, 0.0) + weight
    noise = [{said: chance / sum(one.values()) for said, chance in one.items()} for one in noise]
    assert best_accuracy(panel, noise) <= bound + 1e-7


def test_a_full_cover_guarantees_everything_and_no_common_expert_nothing():
    assert worst_case_accuracy(design(10, 4, effort="fast")) == 1.0
    assert worst_case_accuracy(Panel.from_blocks(4, [[0], [1]])) == pytest.approx(0.25)
    assert worst_case_accuracy(Panel(1, [[1]])) == 1.0


def test_sixty_classes_take_moments_and_a_short_search_gives_less(monkeypatch):
    rng = np.random.default_rng(0)
    panel = Panel(60, np.stack([rng.permutation(np.arange(60) < 12) for _ in range(20)]))
    found = worst_case_accuracy(panel)
    assert 12 / 60 < found < 1  # the classes of one expert are covered with each other
    monkeypatch.setattr(worst_case, "MOST_STEPS", 50)
    monkeypatch.setattr(worst_case, "MOST_ROUNDS", 5)
    assert worst_case_accuracy(panel) <= found + 1e-9
