"""The best experts for a budget, beside every choice there is."""

from itertools import combinations, product

import numpy as np
import pytest

from covote import Panel, select
from covote.bounds import confusion_bound, exact_error
from covote.errors import InputError


def pool(seed, experts=8, classes=6):
    rng = np.random.default_rng(seed)
    blocks = [rng.choice(classes, rng.integers(1, 5), replace=False).tolist() for _ in range(experts)]
    return Panel.from_blocks(classes, blocks, cost=rng.integers(1, 6, experts).tolist())


def answer(panel, i, k, accuracy):
    """Return how likely expert i gives each answer to an item of class k."""
    known = panel.knows[i]
    size = int(known.sum())
    if size == 1:
        return known.astype(float)
    if not known[k]:
        return known / size
    chances = known * (1 - accuracy) / (size - 1)
    chances[k] = accuracy
    return chances


def plain_bound(panel, accuracy, prior):
    """Return the bound from the answers themselves, pair by pair."""
    total = 0.0
    for k, j in combinations(range(len(panel.classes)), 2):
        alike = [
            np.sqrt(answer(panel, i, k, accuracy[i]) * answer(panel, i, j, accuracy[i])).sum()
            for i in range(len(panel))
        ]
        total += np.sqrt(prior[k] * prior[j]) * np.prod(alike)
    return min(1.0, total)


def error_of_best_decoder(panel, accuracy, prior):
    """Return 1 - sum of the largest prior x likelihood over all answers that can be given."""
    right = 0.0
    for given in product(*(np.flatnonzero(row) for row in panel.knows)):
        likely = prior.copy()
        for i, said in enumerate(given):
            likely *= [answer(panel, i, k, accuracy[i])[said] for k in range(len(panel.classes))]
        right += likely.max()
    return 1 - right


@pytest.mark.parametrize("seed", range(6))
def test_the_bound_equals_the_plain_way_and_holds(seed):
    rng = np.random.default_rng(seed)
    panel = pool(seed, experts=5)
    accuracy = rng.uniform(0.5, 1, 5)
    prior = rng.dirichlet(np.ones(6))
    bound = confusion_bound(panel, accuracy, prior)
    assert bound == pytest.approx(plain_bound(panel, accuracy, prior))
    assert error_of_best_decoder(panel, accuracy, prior) <= bound + 1e-12
    assert exact_error(panel) <= confusion_bound(panel) + 1e-12


@pytest.mark.parametrize("accuracy", [1.0, 0.9])
@pytest.mark.parametrize("seed", range(8))
def test_beside_every_choice(seed, accuracy):
    panel = pool(seed)
    budget = 0.4 * float(panel.cost.sum())
    found = select(panel, budget=budget, accuracy=accuracy)
    assert found.cost.sum() <= budget
    proof = found.certificate
    assert proof.size == pytest.approx(confusion_bound(found, accuracy))
    every = [
        confusion_bound(panel.only(*names), accuracy)
        for size in range(len(panel) + 1)
        for names in combinations(panel.names, size)
        if sum(panel.cost[panel.expert_index(name)] for name in names) <= budget
    ]
    assert proof.size == pytest.approx(min(every))
    assert proof.optimal
    # Greedy choices alone are guaranteed 1 - 1/sqrt(e) of what can be gained, and a bound that holds.
    fast = select(panel, budget=budget, accuracy=accuracy, effort="fast").certificate
    start = confusion_bound(panel.only(), accuracy)
    assert start - fast.size >= (1 - np.exp(-0.5)) * (start - min(every)) - 1e-12
    assert fast.lower <= min(every) + 1e-12


def test_who_must_stay_stays_and_who_is_free_comes():
    panel = Panel.from_blocks(
        ["a", "b", "c", "d"], [["a", "b"], ["c", "d"], ["a", "c"], ["b", "d"]], cost=[3, 1, 0, 2]
    )
    found = select(panel, budget=3, keep=["expert-1"])
    assert found.names == ("expert-1", "expert-3")
    assert select(panel, budget=0).names == ("expert-3",)
    assert select(panel, budget=100).names == panel.names


def test_enough_money_covers():
    panel = Panel.from_blocks(4, [[0, 1], [2, 3], [0, 2], [1, 3], [0, 3], [1, 2]])
    found = select(panel, budget=6)
    assert found.covers()
    assert (found.certificate.size, found.certificate.optimal, found.certificate.redundancy) == (0, True, 1)


def test_likely_classes_are_told_apart_first():
    panel = Panel.from_blocks(4, [[0, 1], [2, 3]])
    assert select(panel, budget=1, prior=[0.4, 0.4, 0.1, 0.1]).names == ("expert-1",)
    assert select(panel, budget=1, prior=[0.1, 0.1, 0.4, 0.4]).names == ("expert-2",)
    assert select(panel, budget=1, accuracy=[0.6, 0.9]).names == ("expert-2",)


def test_mistakes_are_told():
    panel = Panel.from_blocks(3, [[0, 1], [1, 2]], cost=[2, 2])
    with pytest.raises(InputError, match="budget=-1"):
        select(panel, budget=-1)
    with pytest.raises(InputError, match="cost 2, more than the budget of 1"):
        select(panel, budget=1, keep=["expert-1"])
    with pytest.raises(InputError, match="give a budget"):
        select(panel, accuracy=0.9)
    with pytest.raises(InputError, match="redundancy cannot be promised"):
        select(panel, budget=3, redundancy=2)
    with pytest.raises(InputError, match=r"accuracy 1\.5"):
        select(panel, budget=3, accuracy=1.5)


def test_a_large_pool_takes_seconds_and_gets_better_with_money():
    rng = np.random.default_rng(0)
    blocks = [rng.choice(200, 30, replace=False).tolist() for _ in range(300)]
    panel = Panel.from_blocks(200, blocks, cost=rng.integers(1, 10, 300).tolist())
    errors = [select(panel, budget=b, accuracy=0.95, effort="fast").certificate for b in (50, 150, 300)]
    assert errors[0].size > errors[1].size > errors[2].size
    assert all(proof.lower <= proof.size for proof in errors)
