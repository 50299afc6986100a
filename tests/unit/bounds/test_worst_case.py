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
    return [some for some in every if panel.knows[:, sorted(some)].sum(axis=1).max(initial=0) <= 1]


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


@pytest.mark.parametrize(
    ("classes", "blocks"),
    [
        (1, []),  # no experts at all
        (2, []),
        (6, []),
        (1, [[0]]),
        (2, [[0], [1]]),
        (2, [[0, 1]]),
        (5, [[0, 1, 2]] * 3),  # duplicates, and two classes that no expert knows
        (6, [[0, 1, 2], [3, 4, 5]]),  # two separate panels
        (6, [[0, 1, 2, 3, 4, 5], [2]]),
        (7, [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], [5, 6], [6, 0]]),  # 7/3
    ],
)
def test_panels_at_the_edge(classes, blocks):
    panel = Panel.from_blocks(classes, blocks)
    assert worst_case_accuracy(panel) == pytest.approx(plain_program(panel)[0], abs=1e-9)


def test_a_full_cover_guarantees_everything_and_no_common_expert_nothing():
    assert worst_case_accuracy(design(10, 4, effort="fast")) == 1.0
    assert worst_case_accuracy(Panel.from_blocks(4, [[0], [1]])) == pytest.approx(0.25)
    assert worst_case_accuracy(Panel(1, [[1]])) == 1.0


def sixty(kind):
    """Return a panel of 60 classes: random pairs of a density, or random experts who know 6 or 12 classes."""
    rng = np.random.default_rng(0)
    if isinstance(kind, float):
        return Panel.from_blocks(60, np.argwhere(np.triu(rng.random((60, 60)) < kind, 1)).tolist())
    return Panel(60, np.stack([rng.permutation(np.arange(60) < kind) for _ in range(240 // kind)]))


def kneser(n, k):
    """Return subsets of size k of n, with an edge between disjoint ones: fractional chromatic number n/k."""
    subsets = [set(some) for some in combinations(range(n), k)]
    return np.array([[not one & other for other in subsets] for one in subsets]), n / k


def ring(n, reach):
    """Return n classes in a ring, an edge up to a distance; transitive, so n over the largest group."""
    distance = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    near = np.minimum(distance, n - distance) <= reach
    return near & ~np.eye(n, dtype=bool), n / (n // (reach + 1))


def mycielski(times):
    """Return a graph without triangles, whose number x becomes x + 1/x (Larsen, Propp and Ullman, 1995)."""
    graph, number = ring(5, 1)
    for _ in range(times):
        n = len(graph)
        graph, old = np.zeros((2 * n + 1, 2 * n + 1), dtype=bool), graph
        graph[:n, :n] = graph[:n, n : 2 * n] = graph[n : 2 * n, :n] = old
        graph[n : 2 * n, -1] = graph[-1, n : 2 * n] = True
        number += 1 / number
    return graph, number


@pytest.mark.parametrize(
    ("graph", "number"),
    [kneser(7, 3), kneser(8, 3), kneser(11, 2), ring(59, 2), ring(60, 10), ring(61, 25), mycielski(3)],
    ids=["K(7,3)", "K(8,3)", "K(11,2)", "59 in a ring", "60 in a ring", "61 in a ring", "Mycielski"],
)
def test_graphs_whose_number_is_known(graph, number):
    panel = Panel.from_blocks(len(graph), np.argwhere(np.triu(graph)).tolist())
    assert worst_case_accuracy(panel) == pytest.approx(number / len(graph), abs=1e-9)


@pytest.mark.parametrize("kind", [0.1, 0.2, 0.3, 0.5, 6])
def test_sixty_classes_are_searched_to_the_end(kind, monkeypatch):
    found = worst_case_accuracy(sixty(kind))
    left = []
    search = worst_case._dearer_groups
    monkeypatch.setattr(worst_case, "_dearer_groups", lambda *given: left.append(search(*given)) or left[-1])
    assert worst_case_accuracy(sixty(kind)) == found
    groups, _, steps = left[-1]
    assert groups == []
    assert steps > 0.6 * worst_case.MOST_STEPS


def test_a_search_that_is_cut_short_gives_less(monkeypatch):
    found = worst_case_accuracy(sixty(12))
    assert 12 / 60 < found < 1  # the classes of one expert are covered with each other
    monkeypatch.setattr(worst_case, "MOST_STEPS", 50)
    assert worst_case_accuracy(sixty(12)) <= found + 1e-9
