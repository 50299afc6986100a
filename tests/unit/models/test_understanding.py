"""What a model says, and what its expert is understood to answer."""

import numpy as np
import pytest

from covote.errors import ExpertError, InputError
from covote.models import NO_ANSWER, open_expert
from covote.votes import NONE_OF_MINE

KNOWS = ("skin", "eye", "ear")
ROWS = np.arange(3.0)


def saying(said, knows=KNOWS, **options):
    """Return the answers of an expert whose model says this about three items."""
    expert = open_expert("ann", knows, lambda batch: said)
    expert = type(expert)(expert.name, expert.knows, expert.model, **options)
    return expert.answer(ROWS)


@pytest.mark.parametrize(
    "said",
    [["ear", "skin", "eye"], np.array(["ear", "skin", "eye"]), np.array([["ear"], ["skin"], ["eye"]]),
     np.array([b"ear", b"skin", b"eye"], dtype=object)],
)  # fmt: skip
def test_labels_are_understood_however_they_are_written(said):
    answers = saying(said)
    assert answers.label.tolist() == [2, 0, 1]
    assert answers.probability is None
    assert answers.note == ""


@pytest.mark.parametrize("said", [[7, 8, 8], [7.0, 8.0, 8.0], ["7", "8", "8"], np.array([7, 8, 8], np.int32)])
@pytest.mark.parametrize("knows", [(8, 7), ("8", "7")])
def test_numbers_and_their_text_are_the_same_label_where_that_is_unambiguous(said, knows):
    assert saying(said, knows).label.tolist() == [1, 0, 0]


def test_a_number_and_its_text_are_two_labels_where_the_expert_knows_both():
    assert saying([7, "7", 8], (7, "7", 8)).label.tolist() == [0, 1, 2]


def test_other_names_are_mapped_and_several_may_mean_one_class():
    labels = {"naevus": "skin", "melanoma": "skin", "0": "eye"}
    assert saying(["naevus", "melanoma", 0], labels=labels).label.tolist() == [0, 0, 1]


def test_none_of_mine_is_an_answer_and_nothing_is_none():
    labels = {"background": "none of mine"}
    answers = saying(["none of mine", "background", None], labels=labels)
    assert answers.label.tolist() == [NONE_OF_MINE, NONE_OF_MINE, NO_ANSWER]
    assert answers.note == ""


def test_a_label_that_the_expert_does_not_know_is_no_answer_and_is_named():
    answers = saying(["skin", "lung", float("nan")])
    assert answers.label.tolist() == [0, NO_ANSWER, NO_ANSWER]
    assert "'lung'" in answers.note
    assert "row 1" in answers.note
    assert "skin, eye, ear" in answers.note


def test_a_mapping_to_a_class_that_the_expert_does_not_know_is_refused():
    with pytest.raises(InputError, match="'naevus' to 'lung'"):
        saying([], labels={"naevus": "lung"})


def test_probabilities_come_in_the_order_of_the_panel_whatever_the_order_of_the_model():
    said = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.2, 0.5, 0.3]])
    answers = saying(said, classes=["ear", "skin", "eye"])
    assert answers.label.tolist() == [2, 1, 0]
    np.testing.assert_allclose(answers.probability, said[:, [1, 2, 0]], rtol=1e-6)
    assert answers.probability.dtype == np.float32


def test_probabilities_of_classes_with_one_name_add_up():
    said = np.array([[0.3, 0.3, 0.4], [0.1, 0.2, 0.7], [0.6, 0.2, 0.2]])
    answers = saying(
        said, classes=["naevus", "melanoma", "eye"], labels={"naevus": "skin", "melanoma": "skin"}
    )
    assert answers.label.tolist() == [0, 1, 0]
    np.testing.assert_allclose(answers.probability[:, 0], said[:, :2].sum(axis=1), rtol=1e-6)
    assert (answers.probability[:, 2] == 0).all()


def test_a_class_outside_that_is_most_probable_is_no_answer_or_none_of_mine():
    said = np.array([[0.3, 0.7], [0.6, 0.4], [0.5, 0.5]])
    strange = saying(said, classes=["skin", "lung"])
    assert strange.label.tolist() == [NO_ANSWER, 0, 0]
    assert "'lung'" in strange.note
    assert strange.probability[0].tolist() == [0, 0, 0]
    mapped = saying(said, classes=["skin", "lung"], labels={"lung": "none of mine"})
    assert mapped.label.tolist() == [NONE_OF_MINE, 0, 0]
    assert mapped.note == ""


def test_scores_before_softmax_are_turned_into_probabilities():
    said = np.array([[1000.0, 0.0, -1000.0], [0.0, 0.0, 3.0], [1.0, 2.0, 3.0]])
    answers = saying(said, logits=True)
    expected = np.exp(said[1:] - 3) / np.exp(said[1:] - 3).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(answers.probability[1:], expected, rtol=1e-6)
    np.testing.assert_allclose(answers.probability.sum(axis=1), 1, rtol=1e-6)


@pytest.mark.parametrize(("said", "words"), [
    (np.array([[3.0, -1.0, 0.5]] * 3), "3 as a probability.*logits = true"),
    (np.array([[0.9, 0.9, 0.9]] * 3), "add up to 2.7.*logits = true"),
    (["skin"], "1 answers for 3 items"),
    ("skin", "one answer for 3 items"),
    (np.zeros((3, 2)), "2 columns .* for 3 classes"),
    (np.zeros((3, 3, 3)), r"shape \(3, 3, 3\)"),
    ([{}, [], ()], "failed|labels are strings"),
])  # fmt: skip
def test_what_is_no_answer_is_refused_by_name(said, words):
    with pytest.raises(ExpertError, match=f"expert 'ann' .*({words})"):
        saying(said)


def test_probabilities_that_are_no_numbers_are_missing_for_their_item_alone():
    said = np.array([[0.2, 0.3, 0.5], [np.nan, 0.5, 0.5], [np.inf, 0.0, 0.0]])
    for logits in (False, True):
        answers = saying(said, logits=logits)
        assert answers.label.tolist() == [2, NO_ANSWER, NO_ANSWER]
        assert "row 1" in answers.note
        assert np.isfinite(answers.probability).all()


def test_an_exception_is_told_with_the_name_of_the_expert():
    def broken(batch):
        raise KeyError("weights")

    with pytest.raises(ExpertError, match="expert 'ann' failed: KeyError: 'weights'"):
        open_expert("ann", KNOWS, broken).answer(ROWS)


def test_a_bound_on_the_rows_per_call_changes_nothing_but_the_calls():
    seen = []

    def model(batch):
        seen.append(len(batch))
        return [KNOWS[int(x) % 3] for x in batch]

    expert = open_expert("ann", KNOWS, model)
    small = type(expert)(expert.name, expert.knows, expert.model, batch=4)
    rows = np.arange(10.0)
    assert (small.answer(rows).label == expert.answer(rows).label).all()
    assert seen == [4, 4, 2, 10]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
@pytest.mark.parametrize(
    ("knows", "labels"),
    [((3, 1, 2), {}), (("3", "1"), {"2": "3", "0": "none of mine"}), ((3, "3", 100), {}), ((90, 3), {})],
)
def test_numbers_are_understood_one_by_one_and_all_at_once(knows, labels, kind):
    for said in ([3, 3, 3], [0, 1, 3], [1, 2, 120], [3, 100, 3], [90, 3, 90]):
        together = saying(np.array(said, dtype=kind), knows, labels=labels)
        one_by_one = saying(np.array(said, dtype=object), knows, labels=labels)
        assert together.label.tolist() == one_by_one.label.tolist()
        assert together.note == one_by_one.note


def test_numbers_below_zero_are_no_positions():
    assert saying(np.array([-1, 2, -1]), (2, -1)).label.tolist() == [1, 0, 1]
    assert "answered -1" in saying(np.array([-1, 2, -1]), (2, 3)).note


def test_one_item_one_class_and_ten_thousand_classes():
    one = open_expert("ann", ["only"], lambda batch: np.ones((len(batch), 1)))
    assert one.answer(np.zeros((1, 2))).label.tolist() == [0]
    many = open_expert("bob", range(10_000), lambda batch: np.arange(len(batch)))
    assert many.answer(np.zeros((10_000, 1))).label.tolist() == list(range(10_000))


@pytest.mark.parametrize(
    ("cell", "words"),
    [(-0.02, "-0.02 as a probability"), (1.5, "1.5 as a probability"), (0.5, "add up to 1.5")],
)
@pytest.mark.parametrize("row", [0, 1, 2])
def test_every_row_of_probabilities_is_read(row, cell, words):
    said = np.eye(3, 3, dtype=np.float32)
    assert saying(said).label.tolist() == [0, 1, 2]
    said[row, (row + 1) % 3] = cell
    with pytest.raises(ExpertError, match=words):
        saying(said)


def test_probabilities_slightly_above_one_are_one():
    said = np.array([[1.002, 0, 0], [0, 1, 0], [0, 0.5, 0.5]], dtype=np.float32)
    answers = saying(said)
    assert answers.label.tolist() == [0, 1, 1]
    assert answers.probability.max() == 1


def test_mappings_may_name_other_classes_in_every_row():
    said = [{"skin": 0.9, "eye": 0.1}, {"eye": 0.2, "ear": 0.8}, {"ear": 1.0}]
    answers = saying(said)
    assert answers.label.tolist() == [0, 2, 2]
    np.testing.assert_allclose(answers.probability, [[0.9, 0.1, 0], [0, 0.2, 0.8], [0, 0, 1]])


def test_scores_that_are_not_given_are_probabilities_of_zero():
    answers = saying([{"skin": 2.0}, {"eye": 1.0, "ear": 1.0}, {"ear": -3.0}], logits=True)
    np.testing.assert_allclose(answers.probability, [[1, 0, 0], [0, 0.5, 0.5], [0, 0, 1]])
