"""Properties of asking one expert at a time."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from covote import Panel, compiled
from covote.asking import Asker, Posterior, Repair
from tests.plain_asking import coin_table


@st.composite
def covering_panels(draw, times=1):
    """Return a small panel on which every pair has `times` common experts, in random order with extras."""
    classes = draw(st.integers(2, 7))
    blocks = draw(st.lists(st.sets(st.integers(0, classes - 1), min_size=1), max_size=6))
    for _ in range(times):
        left = {(a, b) for a in range(classes) for b in range(a + 1, classes)}
        while left:
            a, b = min(left)
            more = draw(st.sets(st.integers(0, classes - 1), max_size=classes // 2))
            block = more | {a, b}
            left -= {(x, y) for x in block for y in block}
            blocks.append(block)
    order = draw(st.permutations(range(len(blocks))))
    return Panel.from_blocks(classes, [sorted(blocks[i]) for i in order])


def answers_of(draw, panel, truth, wrong=0):
    """Let an adversary answer for everybody who does not know the truth, and for a few who do."""
    erring = set(
        draw(st.lists(st.sampled_from(np.flatnonzero(panel.knows[:, truth]).tolist()), max_size=wrong))
    )
    return [
        truth if row[truth] and i not in erring else draw(st.sampled_from(np.flatnonzero(row).tolist()))
        for i, row in enumerate(panel.knows)
    ]


def settle(asker, said):
    while len(questions := asker.next()):
        asker.tell_all(questions, np.array([said[i] for i in questions.expert]))


@settings(max_examples=60)
@given(st.data())
def test_elimination_is_never_wrong(data):
    panel = data.draw(covering_panels())
    truth = data.draw(st.integers(0, len(panel.classes) - 1))
    with compiled.kernel_mode("plain"):
        asker = Asker(panel, 1, seed=data.draw(st.integers(0, 99)))
        settle(asker, answers_of(data.draw, panel, truth))
        assert asker.done[0]
        assert asker.labels().index[0] == truth
        assert asker.answers <= len(panel.classes) - 1


@settings(max_examples=40)
@given(st.data(), st.integers(1, 2))
def test_repair_is_never_wrong_within_its_promise(data, wrong):
    panel = data.draw(covering_panels(times=2 * wrong + 1))
    truth = data.draw(st.integers(0, len(panel.classes) - 1))
    with compiled.kernel_mode("plain"):
        asker = Asker(panel, 1, Repair(wrong=wrong))
        settle(asker, answers_of(data.draw, panel, truth, wrong))
        assert asker.done[0]
        assert asker.labels().index[0] == truth


@settings(max_examples=40)
@given(st.data())
def test_the_posterior_is_that_of_bayes(data):
    panel = data.draw(covering_panels())
    classes = len(panel.classes)
    accuracy = data.draw(st.floats(0.5, 0.99))
    prior = np.array(data.draw(st.lists(st.floats(0.1, 1), min_size=classes, max_size=classes)))
    prior /= prior.sum()
    said = answers_of(data.draw, panel, 0, wrong=2)
    with compiled.kernel_mode("plain"):
        asker = Asker(panel, 1, Posterior(coin_table(panel, accuracy, (0, 0)), 1e-9, prior))
        settle(asker, said)
        asked = asker.votes().ragged.expert.tolist()
        confidence = float(asker.labels().confidence[0])
    posterior = prior.copy()
    for i in asked:
        size = int(panel.knows[i].sum())
        wrong = (1 - accuracy) / max(size - 1, 1)
        right = accuracy if size > 1 else 1.0
        posterior *= np.where(panel.knows[i], np.where(np.arange(classes) == said[i], right, wrong), 1 / size)
    assert abs(confidence - (posterior / posterior.sum()).max()) < 1e-3
