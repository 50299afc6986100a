"""A chooser: how many answers and rounds it takes, with and without a prior."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covote.asking import Chooser
from covote.bounds import adaptive_answers, knockout_answers, knockout_rounds
from covote.errors import FileError, InputError


def choose(chooser, truth, rng, none=False):
    """Let somebody choose who is right if possible and names anything otherwise; return the rounds."""
    rounds = 0
    while len(choices := chooser.next()):
        offered = choices.classes
        right = (offered == truth[choices.item][:, None]).any(axis=1)
        sizes = (offered >= 0).sum(axis=1)
        anything = offered[np.arange(len(offered)), rng.integers(0, sizes)]
        chooser.tell(choices, np.where(right, truth[choices.item], -2 if none else anything))
        rounds += 1
    return rounds


@given(st.integers(2, 40), st.integers(2, 40), st.booleans())
def test_one_at_a_time_takes_the_fewest_answers_possible(classes, size, none):
    size = min(classes, size)
    truth = np.arange(classes)
    chooser = Chooser(classes, size, classes)
    choose(chooser, truth, np.random.default_rng(0), none)
    assert (chooser.labels() == truth).all()
    if none:
        assert chooser.answers <= classes * adaptive_answers(classes, size)
    else:
        assert chooser.answers == classes * adaptive_answers(classes, size)


@given(st.integers(2, 60), st.integers(2, 10))
def test_all_groups_at_once_are_a_knockout(classes, size):
    size = min(classes, size)
    truth = np.arange(classes)
    chooser = Chooser(classes, size, classes, batch=classes)
    assert choose(chooser, truth, np.random.default_rng(0)) == knockout_rounds(classes, size)
    assert (chooser.labels() == truth).all()
    assert chooser.answers <= classes * knockout_answers(classes, size)


@given(st.integers(3, 30), st.integers(2, 6), st.integers(1, 5), st.integers(0, 1000))
def test_with_a_prior_labels_are_wrong_no_more_often_than_promised(classes, size, batch, seed):
    rng = np.random.default_rng(seed)
    items, error = 300, 0.1
    prior = rng.dirichlet(np.full(classes, 0.3), items)
    truth = (prior.cumsum(axis=1) > rng.random((items, 1))).argmax(axis=1)
    chooser = Chooser(classes, min(size, classes), items, prior=prior, error=error, batch=batch)
    choose(chooser, truth, rng)
    assert chooser.done.all()
    assert (chooser.labels() != truth).mean() <= error + 4 * np.sqrt(error / items)


def test_likely_classes_are_offered_first():
    chooser = Chooser(5, 2, 1, prior=[0.1, 0.4, 0.05, 0.3, 0.15])
    assert chooser.next().classes.tolist() == [[1, 3]]


def test_a_class_that_is_probable_enough_needs_no_answer():
    chooser = Chooser(3, 2, 1, prior=[0.005, 0.99, 0.005], error=0.02)
    assert len(chooser.next()) == 0
    assert chooser.labels().tolist() == [1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": [0.5, 0.4, 0.3]}, "prior of item 0 sums to 1.2"),
        ({"prior": [0.5, 0.5]}, "give 3 probabilities"),
        ({"error": 1}, "error 1 must be"),
        ({"size": 4}, "size 4"),
    ],
)
def test_terms_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        Chooser(3, options.pop("size", 2), 1, **options)


def test_answers_that_were_not_offered_or_come_twice_are_refused_and_change_nothing():
    chooser = Chooser(5, 2, 1)
    choices = chooser.next()
    with pytest.raises(InputError, match="none of the classes that were offered"):
        chooser.tell(choices, [4])
    chooser.tell(choices, [1])
    with pytest.raises(InputError, match="does not wait"):
        chooser.tell(choices, [1])
    assert chooser.answers == 1
    assert chooser.next().classes.tolist() == [[1, 2]]


def test_a_saved_chooser_goes_on_where_it_was(tmp_path):
    truth = np.arange(30) % 12
    prior = np.random.default_rng(0).dirichlet(np.ones(12), 30)
    whole, stopped = (Chooser([f"c{k}" for k in range(12)], 3, 30, prior=prior, batch=2) for _ in range(2))

    def answer(chooser, offered):
        right = (offered.classes == truth[offered.item][:, None]).any(axis=1)
        chooser.tell(offered, np.where(right, truth[offered.item], offered.classes[:, 0]))

    while len(offered := whole.next()):
        answer(whole, offered)
    answer(stopped, stopped.next(20))
    awaited = stopped.next()  # saved while answers are awaited
    stopped.save(tmp_path / "state.npz")
    again = Chooser.load(tmp_path / "state.npz")
    assert (again.classes, again.answers) == (stopped.classes, stopped.answers)
    answer(again, awaited)
    while len(offered := again.next()):
        answer(again, offered)
    assert (again.labels() == truth).all()
    assert again.answers == whole.answers


def test_files_that_hold_no_chooser_are_refused_in_a_line(tmp_path):
    chooser = Chooser(5, 2, 3)
    chooser.save(tmp_path / "state.npz")
    with np.load(tmp_path / "state.npz") as stored:
        arrays = dict(stored)
    (tmp_path / "text.npz").write_text("no")
    np.savez(tmp_path / "short.npz", **{**arrays, "offered": arrays["offered"][:1]})
    np.savez(tmp_path / "far.npz", **{**arrays, "alive": arrays["alive"] + 99})
    for name in ("text.npz", "short.npz", "far.npz"):
        with pytest.raises(FileError, match="state of a Chooser"):
            Chooser.load(tmp_path / name)
    with pytest.raises(FileError, match="cannot read"):
        Chooser.load(tmp_path / "nothing.npz")
