from itertools import combinations

import numpy as np
import pytest

from covote import Panel, select
from covote.covers.selecting import cost_unit
from covote.covers.set_cover.local_search import WeightedSearch
from covote.covers.set_cover.problem import pool_cover
from covote.covers.set_cover.proofs import cheaper_cover, lagrangian_bound
from covote.errors import CoverError, InputError, UnknownNameError
from covote.progress import Work


def random_pool(classes, size, experts, seed):
    rng = np.random.default_rng(seed)
    knows = np.zeros((experts, classes), dtype=bool)
    for row in knows:
        row[rng.choice(classes, size, replace=False)] = True
    return Panel(classes, knows, cost=rng.integers(50, 151, experts))


def plain_greedy(panel, times=1):
    """Most newly covered pairs per cost, the first on ties, again and again; redundant ones stay."""
    need = dict.fromkeys(combinations(range(len(panel.classes)), 2), times)
    left = set(range(len(panel)))
    total = 0.0
    while any(need.values()):
        pairs = {i: list(combinations(np.flatnonzero(panel.knows[i]).tolist(), 2)) for i in left}
        best = max(sorted(left), key=lambda i: sum(need[p] > 0 for p in pairs[i]) / panel.cost[i])
        for pair in pairs[best]:
            need[pair] = max(0, need[pair] - 1)
        left.remove(best)
        total += panel.cost[best]
    return total


def problem_of(panel, times=1):
    need = np.full((len(panel.classes),) * 2, times, dtype=np.int32)
    return pool_cover(panel.knows, need, panel.cost)


def test_the_search_begins_with_the_greedy_cover():
    for seed in range(5):
        pool = random_pool(12, 5, 60, seed)
        assert WeightedSearch(problem_of(pool), 0).total == plain_greedy(pool)


@pytest.mark.parametrize("times", [1, 2])
def test_scores_stay_what_they_mean(times):
    """After a long walk, the tables of the search equal those computed from nothing."""
    pool = random_pool(12, 6, 60, 1)
    problem = problem_of(pool, times)
    search = WeightedSearch(problem, 3)
    search.run(2_000, Work(0))
    t = search._tables
    held = np.zeros(len(problem.demand), dtype=int)
    for j in np.flatnonzero(t.inside):
        held[problem.column_rows[problem.column_start[j] : problem.column_start[j + 1]]] += 1
    assert np.array_equal(held, t.held)
    assert set(t.needy[: t.needs[0]].tolist()) == set(np.flatnonzero(held < problem.demand).tolist())
    assert t.totals[0] == problem.cost[t.inside].sum()
    for j in range(len(problem.cost)):
        rows = problem.column_rows[problem.column_start[j] : problem.column_start[j + 1]]
        matters = held[rows] <= problem.demand[rows] if t.inside[j] else held[rows] < problem.demand[rows]
        assert t.score[j] == t.weight[rows[matters]].sum()


def test_cheap_proofs_are_made_and_said():
    for seed in range(3):
        chosen = select(random_pool(15, 6, 80, seed))
        assert chosen.covers()
        assert chosen.certificate.optimal
        assert chosen.certificate.bound == "integer programming"


def test_a_large_pool_beats_greedy_and_reports_its_gap():
    pool = random_pool(50, 10, 500, 7)
    chosen = select(pool, effort="fast")
    proof = chosen.certificate
    assert chosen.covers()
    assert proof.size == chosen.cost.sum() < 0.95 * plain_greedy(pool)
    assert 2500 < proof.lower < proof.size
    assert not proof.optimal


def test_the_bound_is_the_value_of_a_linear_programme():
    from scipy.optimize import linprog

    pool = random_pool(20, 8, 60, 4)
    problem = problem_of(pool)
    matrix = np.zeros((len(problem.demand), len(pool)))
    for j in range(len(pool)):
        matrix[problem.column_rows[problem.column_start[j] : problem.column_start[j + 1]], j] = 1
    exact = linprog(pool.cost, A_ub=-matrix, b_ub=-problem.demand, bounds=(0, 1)).fun
    bound = lagrangian_bound(problem, exact * 1.3, 2000, Work(0))
    assert 0.98 * exact <= bound <= exact + 1e-6


def test_the_integer_program_starts_from_any_cover():
    pool = random_pool(10, 4, 60, 0)
    problem = problem_of(pool)
    everyone = np.ones(len(pool), dtype=bool)
    best, proved = cheaper_cover(problem, everyone, cost_unit(pool.cost), 1_000)
    assert proved
    assert pool.cost[best].sum() == select(pool).certificate.size


def test_experts_that_must_stay_stay():
    pool = random_pool(12, 5, 60, 2)
    free = select(pool)
    expensive = pool.names[int(pool.cost.argmax())]
    held = select(pool, keep=[expensive])
    assert expensive in held.names
    assert held.covers()
    assert held.certificate.optimal
    assert free.certificate.size <= held.certificate.size <= free.certificate.size + pool.cost.max()
    assert select(pool, keep=expensive).names == held.names


def test_redundancy():
    pool = random_pool(10, 5, 80, 3)
    chosen = select(pool, redundancy=2)
    assert chosen.covers(2)
    assert chosen.certificate.redundancy == 2
    assert chosen.certificate.optimal


def test_free_experts_are_used_but_not_without_need():
    pool = Panel.from_blocks(4, [[0, 1, 2, 3], [0, 1], [0, 1, 2, 3]], cost=[0, 0, 5])
    chosen = select(pool)
    assert chosen.names == ("expert-1",)
    assert chosen.certificate.size == 0
    assert chosen.certificate.optimal


def test_a_panel_without_spare_experts_stays_as_it_is():
    plane = Panel.from_blocks(
        7, [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]]
    )
    chosen = select(plane)
    assert chosen == plane
    assert chosen.certificate.optimal
    assert chosen.certificate.construction == "the experts all pairs need"


def test_a_pool_that_cannot_cover_names_the_pairs():
    pool = Panel.from_blocks(list("abcd"), ["abc", "abd"])
    with pytest.raises(CoverError, match=r"1 pair of .* no expert .*'c' and 'd'.*complete\(panel, size\)"):
        select(pool)
    with pytest.raises(CoverError, match=r"6 pairs .* fewer than 3 experts"):
        select(pool, redundancy=3)
    with pytest.raises(CoverError, match="no expert"):
        select(Panel(3, np.zeros((0, 3))))


def test_one_class_has_no_pairs():
    pool = Panel(["only"], [[1], [1]], cost=[3, 2])
    assert len(select(pool)) == 0
    assert select(pool, keep=["expert-2"]).names == ("expert-2",)


def test_two_classes():
    pool = Panel(2, [[1, 1], [1, 0], [1, 1]], cost=[3, 1, 2.5])
    chosen = select(pool)
    assert chosen.names == ("expert-3",)
    assert chosen.certificate.size == chosen.certificate.lower == 2.5


def test_costs_that_are_no_multiples_of_anything():
    pool = random_pool(10, 4, 60, 5)
    odd = Panel(10, pool.knows, cost=np.sqrt(pool.cost))
    chosen = select(odd)
    assert chosen.covers()
    assert chosen.certificate.optimal


def test_a_seed_is_a_choice():
    pool = random_pool(40, 8, 300, 6)
    assert select(pool, effort="fast", seed=9) == select(pool, effort="fast", seed=9)


def test_an_interrupted_search_returns_the_best_so_far():
    pool = random_pool(50, 10, 500, 8)
    calls = []

    def stop(done, total, message):
        calls.append((done, total, message))
        if len(calls) == 3:
            raise KeyboardInterrupt

    chosen = select(pool, progress=stop)
    assert len(calls) == 3
    assert chosen.covers()
    assert chosen.certificate.size <= plain_greedy(pool)


def test_bad_requests():
    pool = random_pool(10, 4, 60, 0)
    with pytest.raises(UnknownNameError, match="expert-1000"):
        select(pool, keep=["expert-1000"])
    with pytest.raises(InputError, match="keep=None"):
        select(pool, keep=None)
    with pytest.raises(InputError, match="redundancy"):
        select(pool, redundancy=0)
    with pytest.raises(InputError, match="effort"):
        select(pool, effort="heroic")
