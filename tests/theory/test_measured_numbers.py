"""Numbers that were measured once are measured again, with stated tolerances.

Simulations draw a fixed number of items from a fixed seed; tolerances are about four standard errors.
"""

from itertools import combinations

import numpy as np
import pytest

from covote import Panel
from covote.bounds import (
    confusion_bound,
    converse_bound,
    exact_error,
    fano_bound,
    random_panel_bound,
    random_panel_error,
    random_panel_experts,
)
from tests.plain_asking import fewest_answers


def affine_plane(order):
    """The lines of the affine plane of prime order, one parallel class after the other."""
    lines = [
        [x * order + (slope * x + start) % order for x in range(order)]
        for slope in range(order)
        for start in range(order)
    ]
    return lines + [[x * order + y for y in range(order)] for x in range(order)]


def lexicographic_greedy(classes, size):
    """The paper's greedy set cover, over all experts of this size."""
    blocks = list(combinations(range(classes), size))
    open_pairs = set(combinations(range(classes), 2))
    chosen = []
    while open_pairs:
        best = max(blocks, key=lambda block: len(open_pairs.intersection(combinations(block, 2))))
        chosen.append(best)
        open_pairs.difference_update(combinations(best, 2))
    return Panel.from_blocks(classes, chosen)


def simulated_error(knows, items, rng):
    """Mean error of maximum likelihood, as one minus the mean chance that it names the truth.

    All experts have one size. The truth is always alive; of the alive classes, those with most authorities
    are the likeliest.
    """
    authorities = knows.sum(axis=0)
    blocks = np.array([np.flatnonzero(row) for row in knows])
    right = 0.0
    for truth in rng.integers(knows.shape[1], size=items):
        noise = np.take_along_axis(blocks, rng.integers(blocks.shape[1], size=(len(blocks), 1)), axis=1)[:, 0]
        answers = np.where(knows[:, truth], truth, noise)
        alive = np.bincount(answers, minlength=knows.shape[1]) == authorities
        right += share(np.where(alive, authorities, -1), truth)
    return 1 - right / items


def share(scores, truth):
    """Chance that the truth is named when the best scores tie and one is drawn."""
    best = scores == scores.max()
    return best[truth] / best.sum()


def random_knows(rng, classes, size, experts):
    knows = np.zeros((experts, classes), dtype=bool)
    for row in knows:
        row[rng.choice(classes, size=size, replace=False)] = True
    return knows


@pytest.mark.parametrize(
    ("classes", "size", "fano", "converse", "thm5", "random"),
    [(100, 12, 13, 15, 95, 41), (1000, 40, 42, 48, 308, 138)],
)
def test_experts_for_one_percent_error(classes, size, fano, converse, thm5, random):
    """`random` was found by simulation; the union bound may be up to 6% above it."""
    assert fano_bound(classes, size) == fano
    assert converse_bound(classes, size) == converse
    assert random_panel_bound(classes, size) == thm5
    assert random <= random_panel_experts(classes, size) <= 1.06 * random


def test_41_random_experts_reach_one_percent_at_100_classes():
    """Measured .010; 300 panels of 10 items, so about 0.002 of standard error."""
    rng = np.random.default_rng(1)
    errors = [simulated_error(random_knows(rng, 100, 12, 41), 10, rng) for _ in range(300)]
    assert np.mean(errors) == pytest.approx(0.010, abs=0.006)
    assert np.mean(errors) <= random_panel_error(100, 12, 41) + 0.006


@pytest.mark.parametrize(("parallel", "measured"), [(2, 0.333), (3, 0.033), (4, 0.003)])
def test_an_anytime_panel_of_121_classes(parallel, measured):
    """Errors .333, .033, .003 after 22, 33, 44 experts of the affine plane of order 11."""
    panel = Panel.from_blocks(121, affine_plane(11)[: 11 * parallel])
    items = 4000
    error = simulated_error(panel.knows, items, np.random.default_rng(parallel))
    assert error == pytest.approx(measured, abs=4 * (0.5 * measured / items) ** 0.5 + 0.0005)
    assert error <= confusion_bound(panel) + 0.003


def test_the_full_plane_is_perfect():
    assert Panel.from_blocks(121, affine_plane(11)).covers()
    assert confusion_bound(Panel.from_blocks(121, affine_plane(11))) == 0


@pytest.mark.parametrize("experts", [6, 9, 12])
def test_the_exact_error_agrees_with_simulation(experts):
    rng = np.random.default_rng(experts)
    knows = random_knows(rng, 20, 5, experts)
    panel = Panel(20, knows)
    assert simulated_error(knows, 4000, rng) == pytest.approx(exact_error(panel), abs=0.03)


def test_ten_classes_take_four_answers_of_nine_experts_and_nine_of_45():
    greedy = lexicographic_greedy(10, 4)
    assert len(greedy) == 9
    assert fewest_answers(greedy) == 4
    assert fewest_answers(lexicographic_greedy(10, 2)) == 9


def authority_and_pairwise_errors(panel, coordinated, items, rng):
    """Errors of the authority vote and of pairwise majority: 10% uniform errors inside expertise.

    Outside, experts answer uniformly, or (coordinated) all name the same wrong class where they know it.
    Pairwise majority takes the class whose worst duel is best.
    """
    knows = panel.knows
    classes, degree = len(panel.classes), panel.knows.sum(axis=0)
    blocks = [np.flatnonzero(row) for row in knows]
    right = np.zeros(2)
    for truth in rng.integers(classes, size=items):
        rival = rng.choice(np.delete(np.arange(classes), truth))
        duels = np.zeros((classes, classes), dtype=int)
        named = np.zeros(classes)
        for row, block in zip(knows, blocks, strict=True):
            if row[truth]:
                answer = truth if rng.random() > 0.1 else rng.choice(block[block != truth])
            else:
                answer = rival if coordinated and row[rival] else rng.choice(block)
            named[answer] += 1
            duels[answer, block] += 1
            duels[block, answer] -= 1
        np.fill_diagonal(duels, 0)
        worst = np.where(np.eye(classes, dtype=bool), classes, duels).min(axis=1)
        right += share(named / degree, truth), share(worst, truth)
    return 1 - right / items


def test_uniform_noise_and_single_cover_favour_the_authority_vote():
    """25 classes, every pair known once: authority .027, pairwise majority .444."""
    panel = Panel.from_blocks(25, affine_plane(5))
    authority, pairwise = authority_and_pairwise_errors(panel, False, 1000, np.random.default_rng(5))
    assert authority == pytest.approx(0.027, abs=0.02)
    assert pairwise == pytest.approx(0.444, abs=0.06)


def test_coordinated_noise_and_triple_cover_favour_pairwise_majority():
    """25 classes, every pair known three times: authority .208, pairwise majority .009."""
    panel = Panel.from_blocks(25, affine_plane(5) * 3)
    authority, pairwise = authority_and_pairwise_errors(panel, True, 700, np.random.default_rng(6))
    assert authority == pytest.approx(0.208, abs=0.06)
    assert pairwise == pytest.approx(0.009, abs=0.012)
