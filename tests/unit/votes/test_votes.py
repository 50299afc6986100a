import itertools

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covote import CovoteError, Panel, Votes, decode
from covote.votes import NONE_OF_MINE, NOT_ASKED
from covote.votes.arrays import repeated

PANEL = Panel(["cat", "dog", "fox"], [[1, 1, 0], [0, 1, 1], [1, 0, 1]], ["ann", "bob", "cy"])
ROWS = np.array([[0, 1, 0], [1, -1, -2], [-1, -1, -1], [1, 2, 2]])


@pytest.fixture(params=["dense", "ragged"])
def votes(request):
    dense = Votes.from_dense(ROWS, PANEL, items=["w", "x", "y", "z"])
    return dense if request.param == "dense" else dense.to_ragged()


def test_the_two_codes_are_not_the_same():
    assert (NOT_ASKED, NONE_OF_MINE) == (-1, -2)


def test_both_layouts_say_the_same(votes):
    assert (votes.dense == ROWS).all()
    assert votes.answers == 8
    assert votes.ragged.indptr.tolist() == [0, 3, 5, 5, 8]
    assert votes.ragged.expert.tolist() == [0, 1, 2, 0, 2, 0, 1, 2]
    assert votes.ragged.label.tolist() == [0, 1, 0, 1, -2, 1, 2, 2]
    assert votes.items.tolist() == ["w", "x", "y", "z"]


def test_a_part_of_a_part_is_still_right(votes):
    inner = votes.part(1, 4).part(1, 3)
    assert (inner.dense == ROWS[2:4]).all()
    assert inner.ragged.indptr.tolist() == [0, 0, 3]
    assert inner.items.tolist() == ["y", "z"]
    assert inner.to_ragged().items.tolist() == inner.to_dense().items.tolist() == ["y", "z"]


def test_parts_cover_all_items_once(votes):
    parts = list(votes.parts(3))
    assert [len(part) for part in parts] == [3, 1]
    assert (np.concatenate([part.dense for part in parts]) == ROWS).all()


def test_a_subset_by_position_or_mask(votes):
    assert (votes.subset([3, 0]).dense == ROWS[[3, 0]]).all()
    assert votes.subset([3, 0]).items.tolist() == ["z", "w"]
    assert (votes.subset([True, False, False, True]).dense == ROWS[[0, 3]]).all()
    assert len(votes.subset([])) == 0
    assert (votes.part(1, 4).subset([2]).dense == ROWS[[3]]).all()


@pytest.mark.parametrize("rows", [[0, 1, 3], [1, 2], [3, 1, 0], [0, 1, 2, 3], [2]])
def test_a_subset_of_ragged_votes_has_the_same_answers(votes, rows):
    for ragged, first in ((votes.to_ragged(), 0), (votes.to_ragged().part(1, 4), 1)):
        some = [row for row in rows if row < len(ragged)]
        assert (ragged.subset(some).dense == ROWS[first + np.array(some, int)]).all()


@pytest.mark.parametrize("rows", [[4], [-1], [[0]], [True], [0.5]])
def test_a_subset_of_items_that_do_not_exist(votes, rows):
    with pytest.raises(CovoteError):
        votes.subset(rows)


def test_arrays_of_the_right_type_are_not_copied():
    array = np.zeros((5, 3), dtype=np.int8, order="F")
    array[:, 1] = 1
    assert np.shares_memory(Votes.from_dense(array, PANEL).by_expert, array)
    with pytest.raises(ValueError, match="read-only"):
        Votes.from_dense(array, PANEL).dense[0, 0] = 1


@pytest.mark.parametrize(("classes", "kind"), [(2, "int8"), (128, "int8"), (129, "int16"), (10_000, "int16")])
def test_the_smallest_integer_type(classes, kind):
    panel = Panel(classes, np.ones((2, classes)))
    votes = Votes.from_dense(np.full((3, 2), classes - 1), panel)
    assert votes.by_expert.dtype == kind
    assert votes.dense[0, 0] == classes - 1


def test_floats_with_gaps_are_indices():
    assert Votes.from_dense([[0.0, np.nan, 2.0]], PANEL).dense.tolist() == [[0, -1, 2]]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0, 1, 1]], "item 0: expert 'cy' answered 'dog', which it does not know (it knows: cat, fox)"),
        ([[0, 1, 0], [1, 1, 1], [2, 1, 0]], "item 1: expert 'cy'"),
        ([[0, 1, 3]], "item 0, expert 'cy': 3 is not a class index"),
        ([[0, 1, 256]], "256 is not a class index"),
        ([[0, -3, 0]], "-3 is not a class index"),
        ([[0.5, 1, 0]], "0.5 is not a class index"),
        ([["cat", "dog", "cat"]], "use Votes.from_table"),
        ([[0, 1]], "3 columns"),
        ([[0, 1], [0]], "unequal lengths"),
        ([0, 1, 0], "one row per item"),
    ],
)
def test_bad_votes_are_named(rows, message):
    with pytest.raises(CovoteError) as caught:
        Votes.from_dense(rows, PANEL)
    assert message in str(caught.value)


def test_no_items():
    for votes in (Votes.from_dense([], PANEL), Votes.from_dense(np.empty((0, 3), int), PANEL)):
        assert len(votes) == votes.answers == 0
        assert votes.dense.shape == (0, 3)
        assert votes.ragged.indptr.tolist() == [0]


def test_ids_of_mixed_types_stay_what_they_are():
    ids = Votes.from_dense(ROWS[:2], PANEL, items=[1, "1"]).items
    assert ids.tolist() == [1, "1"]
    with pytest.raises(CovoteError, match="3 item ids for 2 items"):
        Votes.from_dense(ROWS[:2], PANEL, items=[1, 2, 3])


class TestRagged:
    def test_it_is_checked(self):
        votes = Votes.from_ragged([0, 2, 2], [0, 1], [0, 1], PANEL)
        assert votes.dense.tolist() == [[0, 1, -1], [-1, -1, -1]]

    @pytest.mark.parametrize(
        ("indptr", "expert", "label", "message"),
        [
            ([0, 2], [0, 0], [0, 1], "expert 'ann' answers item 0 again"),
            ([0, 1], [3], [0], "3 is not an index of a expert"),
            ([0, 1], [0], [-1], "-1 is not an index of a class"),
            ([0, 1], [0], [2], "expert 'ann' answered 'fox', which it does not know"),
            ([0, 2], [0], [0], "indptr ends at 2"),
            ([1, 1], [0], [0], "indptr must start at 0"),
        ],
    )
    def test_mistakes_are_named(self, indptr, expert, label, message):
        with pytest.raises(CovoteError) as caught:
            Votes.from_ragged(indptr, expert, label, PANEL)
        assert message in str(caught.value)


class TestProbabilities:
    FULL = np.array([[[0.7, 0.3, 0], [0, 0.6, 0.4], [0.9, 0, 0.1]]] * 4)

    def test_per_vote(self):
        votes = Votes.from_dense(ROWS, PANEL, probabilities=np.full((4, 3), 0.5))
        assert votes.soft
        assert votes.vote_probability.shape == (3, 4)
        assert votes.to_ragged().vote_probability.tolist() == [0.5] * 8
        assert (votes.to_ragged().to_dense().vote_probability == votes.vote_probability).all()

    def test_per_class_in_three_shapes(self):
        votes = Votes.from_dense(ROWS, PANEL, probabilities=self.FULL)
        flat = Votes.from_dense(ROWS, PANEL, probabilities=self.FULL[:, *np.nonzero(PANEL.knows)])
        assert votes.class_probability[:, 0] == pytest.approx([0.7, 0.3, 0.6, 0.4, 0.9, 0.1])
        assert (votes.class_probability == flat.class_probability).all()
        ragged = votes.to_ragged()
        assert ragged.class_probability[:6] == pytest.approx([0.7, 0.3, 0.6, 0.4, 0.9, 0.1])
        assert ragged.class_start[-1] == 16
        assert (ragged.to_dense().class_probability == votes.class_probability).all()

    def test_subsets_and_parts_keep_them(self):
        full = self.FULL * np.array([1, 0.5, 1, 0.25])[:, None, None]
        votes = Votes.from_dense(ROWS, PANEL, probabilities=full)
        for layout in (votes, votes.to_ragged()):
            some = layout.subset([3, 1]).to_dense()
            assert (some.class_probability == votes.class_probability[:, [3, 1]]).all()
            part = layout.part(1, 4).to_dense()
            inner = part.class_probability[:, part.start : part.stop]
            assert (inner == votes.class_probability[:, 1:4]).all()

    @pytest.mark.parametrize("bad", [-0.1, 1.1, np.inf])  # NaN: an answer without a probability
    def test_what_is_no_probability(self, bad):
        given = np.full((4, 3), 0.5)
        given[3, 1] = bad
        with pytest.raises(CovoteError, match=r"item 3, expert 'bob': .* not a probability"):
            Votes.from_dense(ROWS, PANEL, probabilities=given)

    def test_what_was_not_asked_needs_none(self):
        given = np.full((4, 3), 0.5)
        given[ROWS == NOT_ASKED] = np.nan
        assert Votes.from_dense(ROWS, PANEL, probabilities=given).soft

    def test_a_wrong_shape(self):
        with pytest.raises(CovoteError, match=r"shape \(4, 2\)"):
            Votes.from_dense(ROWS, PANEL, probabilities=np.zeros((4, 2)))


class TestOtherPanels:
    def test_without_an_expert(self, votes):
        fewer = votes.for_panel(PANEL.without("bob"), unknown="drop")
        assert (fewer.dense == ROWS[:, [0, 2]]).all()
        assert fewer.items.tolist() == votes.items.tolist()
        assert fewer.is_dense == votes.is_dense
        with pytest.raises(CovoteError, match="expert 'bob' is not in the panel"):
            votes.for_panel(PANEL.without("bob"))

    def test_other_orders(self, votes):
        other = Panel(["fox", "cat", "dog"], PANEL.knows[[2, 0, 1]][:, [2, 0, 1]], ["cy", "ann", "bob"])
        moved = votes.for_panel(other)
        assert (moved.dense == np.array([1, 2, 0, -2, -1])[ROWS][:, [2, 0, 1]]).all()

    @pytest.mark.parametrize("probabilities", [None, np.linspace(0.1, 0.9, 12).reshape(4, 3)])
    @pytest.mark.parametrize("layout", ["to_dense", "to_ragged"])
    def test_a_part_keeps_its_own_items_and_probabilities(self, layout, probabilities):
        whole = Votes.from_dense(ROWS, PANEL, ["w", "x", "y", "z"], probabilities)
        other = Panel(PANEL.classes, [*PANEL.knows, [1, 1, 1]], [*PANEL.names, "dee"])
        moved = getattr(whole, layout)().part(1, 4).for_panel(other)
        assert moved.items.tolist() == ["x", "y", "z"]
        assert (moved.dense[:, :3] == ROWS[1:]).all()
        if probabilities is not None:
            given = moved.to_dense().vote_probability[:3].T
            assert (given == np.where(ROWS[1:] == NOT_ASKED, 0, probabilities[1:]).astype(np.float32)).all()

    def test_a_class_that_is_gone(self, votes):
        other = Panel(["cat", "dog"], [[1, 1], [0, 1], [1, 0]], PANEL.names)
        with pytest.raises(CovoteError, match="answered 'fox'"):
            votes.for_panel(other)
        assert votes.for_panel(other, unknown="drop").dense[3].tolist() == [1, -1, -1]


def test_the_remedy_for_votes_of_an_expert_who_left_works():
    votes = Votes.from_dense(ROWS[:2], PANEL)
    left = PANEL.without(PANEL.names[0])
    with pytest.raises(CovoteError, match=r"votes.for_panel\(panel, unknown='drop'\)"):
        decode(votes, left)
    rest = votes.for_panel(left, unknown="drop")
    assert rest.dense.tolist() == votes.dense[:, 1:].tolist()


@pytest.mark.parametrize("ids", [["a", None], [1.5, float("nan")], pa.array(["a", None])])
def test_every_item_has_an_id(ids):
    with pytest.raises(CovoteError, match="item 1 has no id"):
        Votes.from_dense(ROWS[:2], PANEL, items=ids)


def plain_repeated(indptr, expert, label, keep_last):
    keep, differ = [True] * len(expert), False
    for first, last in itertools.pairwise(indptr):
        for p, q in itertools.combinations(range(first, last), 2):
            if expert[p] == expert[q]:
                keep[p if keep_last else q] = False
                differ |= label[p] != label[q]
    return keep, differ


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(-2, 2)), max_size=6), max_size=6),
    st.booleans(),
)
def test_answers_that_come_again(items, keep_last):
    indptr = np.cumsum([0, *map(len, items)])
    votes = np.array([vote for item in items for vote in item], dtype=np.int64).reshape(-1, 2)
    keep, differ = repeated(indptr, votes[:, 0], votes[:, 1], keep_last)
    plain = plain_repeated(indptr.tolist(), votes[:, 0].tolist(), votes[:, 1].tolist(), keep_last)
    assert (keep.tolist(), differ) == plain
