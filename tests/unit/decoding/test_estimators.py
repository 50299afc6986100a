import numpy as np
import pytest

from covote import Panel, Votes, decode, simulate
from covote.decoding import DECODERS, InMemory, Statistics, learn_weights
from covote.decoding.gold import gold_rows
from covote.errors import FileError, InputError, TooLargeError
from covote.votes.patterns import row_parts
from tests.methods import LEARNING

FANO = Panel.from_blocks(7, [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]])
quiet = pytest.mark.filterwarnings("ignore:.*of the answers seem")


def crowd(items=400, experts=7, classes=4, accuracy=(0.9, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4), seed=0):
    """People who know every class and err independently."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, classes, items)
    noise = rng.integers(0, classes, (items, experts))
    votes = np.where(rng.random((items, experts)) < accuracy, truth[:, None], noise)
    return Votes.from_dense(votes, Panel(classes, np.ones((experts, classes), dtype=bool))), truth


def similar(panel, items=2000, seed=0):
    """Experts that answer what they do not know by similarity: k looks like the nearest class they know."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, len(panel.classes), items)
    columns = []
    for known in panel.knows:
        mine = np.flatnonzero(known)
        like = mine[np.abs(truth[:, None] - mine).argmin(axis=1)]
        columns.append(np.where(rng.random(items) < 0.95, like, mine[rng.integers(0, len(mine), items)]))
    return Votes.from_dense(np.stack(columns, axis=1), panel), truth


def test_em_learns_who_is_good():
    votes, truth = crowd()
    weights = learn_weights(InMemory(votes), DECODERS["em"]())
    expected = np.array([0.9, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4]) * 0.75 + 0.25
    np.testing.assert_allclose(weights.parameters, expected, atol=0.06)
    majority = (decode(votes, method="authority").index == truth).mean()
    assert (decode(votes, method="em").index == truth).mean() > majority
    assert (decode(votes, method="dawid-skene").index == truth).mean() > majority


def test_dawid_skene_warns_about_classifiers():
    votes, _ = similar(FANO, items=300)
    with pytest.warns(UserWarning, match="classes that their expert does not know"):
        decode(votes, method="dawid-skene")


@pytest.mark.parametrize("method", LEARNING)
def test_gold_items_teach(method):
    # Two experts that always disagree: only known classes can tell which one is right.
    panel = Panel(2, np.ones((2, 2), dtype=bool))
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 200)
    votes = Votes.from_dense(np.stack([truth, 1 - truth], axis=1), panel, items=[f"i{n}" for n in range(200)])
    names = {f"i{n}": int(truth[n]) for n in range(100)}
    by_position = np.where(np.arange(200) < 100, truth, -1)
    for gold in (names, by_position):
        labels = decode(votes, method=method, gold=gold)
        assert (labels.index == truth).all()


@pytest.mark.parametrize("ids", [[7, 3, 9, 12], ["7", "3", "9", "12"], [1.5, 3.0, 9.0, 2.0]])
def test_gold_is_found_by_any_kind_of_id(ids):
    panel = Panel(["cat", "dog"], np.ones((2, 2), dtype=bool))
    votes = Votes.from_dense(np.zeros((4, 2), dtype=int), panel, items=ids)
    rows, truth = gold_rows({ids[2]: "dog", ids[1]: "cat", "nobody": "cat"}, votes)
    assert rows.tolist() == [1, 2]
    assert truth.tolist() == [0, 1]
    rows, truth = gold_rows({ids[3]: "dog"}, votes)
    assert (rows.tolist(), truth.tolist()) == ([3], [1])


def test_gold_must_name_classes_and_items():
    votes, truth = crowd(20)
    with pytest.raises(InputError, match="one class index per item"):
        decode(votes, method="em", gold=truth[:3])
    with pytest.raises(InputError, match="gold class 9 of item 0"):
        decode(votes, method="em", gold=np.full(20, 9))
    with pytest.raises(LookupError, match="no class 'cow'"):
        decode(votes, method="em", gold={0: "cow"})


@quiet
@pytest.mark.parametrize("method", LEARNING)
def test_statistics_are_saved_and_continued(method, tmp_path):
    votes, _ = similar(FANO, items=300)
    monday = learn_weights(InMemory(votes.part(0, 150)), DECODERS[method]()).statistics
    monday.save(tmp_path / "monday.json")
    loaded = Statistics.load(tmp_path / "monday.json")
    assert loaded.method == monday.method
    assert loaded.panel == monday.panel
    assert loaded.items == 150
    assert (loaded.share == monday.share).all()
    assert (loaded.counts == monday.counts).all()
    tuesday = decode(votes.part(150, 300), method=method, past=loaded)
    assert (tuesday.index == decode(votes.part(150, 300), method=method, past=monday).index).all()


def test_later_votes_are_added_to_what_was_learned_before():
    votes, _ = similar(FANO.without("expert-1"), items=300)
    monday = learn_weights(InMemory(votes.part(0, 250)), DECODERS["learned"]()).statistics
    tuesday = learn_weights(InMemory(votes.part(250, 300)), DECODERS["learned"](past=monday)).statistics
    assert tuesday.items == 300
    assert tuesday.held_out.answers == monday.held_out.answers + votes.part(250, 300).answers
    assert (tuesday.counts >= monday.counts).all()
    later, together = decode(votes.part(250, 300), past=monday).index, decode(votes).index[250:]
    labelled = (later >= 0) & (together >= 0)
    assert labelled.mean() > 0.85
    assert (later == together)[labelled].mean() > 0.95


def test_statistics_that_do_not_belong_together_are_refused(tmp_path):
    votes, _ = crowd(30)
    other, _ = crowd(30, experts=3, accuracy=(0.9, 0.8, 0.7))
    em = learn_weights(InMemory(votes), DECODERS["em"]()).statistics
    with pytest.raises(InputError, match="different panels"):
        em + learn_weights(InMemory(other), DECODERS["em"]()).statistics
    with pytest.raises(InputError, match="'em' and of 'dawid-skene'"):
        em + learn_weights(InMemory(votes), DECODERS["dawid-skene"]()).statistics
    with pytest.raises(InputError, match=r"\.json files"):
        em.save(tmp_path / "stats.csv")
    for name, text in (("no.json", "{}"), ("broken.json", "{"), ("no.npz", "PK\0")):
        (tmp_path / name).write_text(text)
        with pytest.raises(FileError, match="holds no statistics"):
            Statistics.load(tmp_path / name)
    with pytest.raises(FileError, match="no file"):
        Statistics.load(tmp_path / "missing.json")


@quiet
@pytest.mark.parametrize("method", LEARNING)
@pytest.mark.parametrize("rows", [0, 1])
def test_degenerate_votes(method, rows):
    panel = Panel.from_blocks(3, [[0], [1, 2]])  # an expert with one possible answer; uncovered pairs
    votes = Votes.from_dense(
        np.array([[0, 2]])[:rows], panel, probabilities=np.array([[0.9, 0.6]], dtype=np.float32)[:rows]
    )
    labels = decode(votes, method=method)
    assert len(labels) == rows
    assert np.isfinite(labels.confidence).all()


@quiet
@pytest.mark.parametrize("method", LEARNING)
def test_items_without_answers_and_with_none_of_mine(method):
    votes, truth = crowd(100)
    rows = votes.dense.copy()
    rows[0], rows[1] = -1, -2
    labels = decode(Votes.from_dense(rows, votes.panel), method=method)
    assert labels.index[0] == -1
    assert labels.status[0] == "incomplete"
    assert labels.confidence[0] == 0
    assert (labels.index[2:] == truth[2:]).mean() > 0.9


def test_class_sizes_may_be_given_or_learned():
    panel = Panel.from_blocks(2, [[0, 1]] * 3)
    truth = np.repeat([0, 1], [900, 100])
    votes = simulate(panel, truth, accuracy=0.7, seed=3)
    right = {
        str(prior): decode(votes, method="em", prior=prior).expected_score(truth).mean()
        for prior in (None, "learned", [9, 1], {0: 9, 1: 1})
    }
    assert right["learned"] > right["None"] + 0.05
    assert right["[9, 1]"] == right["{0: 9, 1: 1}"] > right["None"] + 0.05
    for wrong in ("equal", [1, -1], [1]):
        with pytest.raises(InputError, match="prior"):
            decode(votes, method="em", prior=wrong)


def test_options_are_checked():
    votes, _ = crowd(10)
    with pytest.raises(InputError, match="iterations"):
        decode(votes, method="em", iterations=0)
    with pytest.raises(InputError, match="smoothing"):
        decode(votes, method="dawid-skene", smoothing=-1)


def test_ten_thousand_classes():
    rng = np.random.default_rng(0)
    classes, size, experts = 10_000, 500, 60
    panel = Panel.from_blocks(classes, [rng.choice(classes, size, replace=False) for _ in range(experts)])
    items = 12
    truth = rng.choice(np.flatnonzero(panel.knows.sum(axis=0) > 1), items)
    votes = np.empty((items, experts), dtype=np.int64)
    for i, known in enumerate(panel.blocks()):
        mine = np.array(known)
        votes[:, i] = np.where(panel.knows[i, truth], truth, mine[rng.integers(0, size, items)])
    dense = Votes.from_dense(votes, panel)
    assert (decode(dense, method="em").index == truth).mean() > 0.9
    learned = DECODERS["learned"]()
    weights = learn_weights(InMemory(dense), learned)
    assert (learned.score(dense, weights, False).index == truth).mean() > 0.9
    counts = weights.statistics
    assert counts.counts.nnz < items * experts * 30  # sparse: the table would have 300 million
    more = counts + counts
    assert more.items == 2 * items
    assert (more.listed()[1] == 2 * counts.listed()[1]).all()
    with pytest.raises(TooLargeError, match="use method 'em'"):
        decode(dense, method="dawid-skene")


def test_equal_rows_are_found_once():
    votes, _ = crowd(500, experts=3, classes=2, accuracy=(0.9, 0.8, 0.7))
    ((patterns, _),) = list(row_parts(votes))
    assert len(patterns) == len(np.unique(votes.dense, axis=0))
    assert patterns.count.sum() == 500
    rows = np.empty((len(patterns), 3), dtype=int)
    for p in range(len(patterns)):
        rows[p] = patterns.ragged.label[patterns.ragged.indptr[p] : patterns.ragged.indptr[p + 1]]
    assert (patterns.spread_values(rows) == votes.dense).all()
    ((again, _),) = list(row_parts(votes))
    assert again is patterns
