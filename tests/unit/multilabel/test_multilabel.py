"""Items with several labels: every label set, and everything that experts may answer, on small panels."""

from itertools import chain, combinations, product

import numpy as np
import pytest

from covote import Panel, Votes
from covote.errors import CovoteError
from covote.multilabel import Reports, decode, supports
from covote.votes import NONE_OF_MINE

PANELS = [
    ["abc", "abd", "acd", "bcd"],
    ["ab", "ac", "bc", "ad", "bd", "cd"],
    ["ab", "cd", "a", "c"],
    ["abcd", "a", "b", "c"],
    ["a", "b", "c", "d"],
    ["abc", "bcd"],
    ["abc", "ad", "bd", "cd"],
    ["ab", "bc"],
    ["abcd", "abcd"],
]
WAYS = ["all", "one"]


def subsets(classes, most=None):
    most = len(classes) if most is None else most
    return [frozenset(some) for size in range(1, most + 1) for some in combinations(sorted(classes), size)]


def answers(known, labels, report):
    """What an expert may answer, as sets of classes."""
    mine = frozenset(known) & labels
    return [mine] if report == "all" or not mine else [frozenset(k) for k in mine]


def possible_sets(blocks, classes, report, count):
    """All sets of labels that an item may have, by the answers."""
    fitting = {}
    for labels in subsets(classes, count):
        for said in product(*(answers(known, labels, report) for known in blocks)):
            fitting.setdefault(said, []).append(labels)
    return fitting


def fits(known, said, labels, report):
    """Whether an expert may give an answer if these are the labels; None: the expert was not asked."""
    return said is None or said in answers(known, labels, report)


@pytest.mark.parametrize("count", [None, 1, 2, 3])
@pytest.mark.parametrize("report", WAYS)
@pytest.mark.parametrize("blocks", PANELS, ids=",".join)
def test_the_condition_is_exact(blocks, report, count):
    classes = sorted(set(chain.from_iterable(blocks)) | set("abc"))
    panel = Panel.from_blocks(classes, blocks)
    fitting = possible_sets(blocks, classes, report, count)
    support = supports(panel, count, report=report)
    assert bool(support) == all(len(sets) == 1 for sets in fitting.values())
    if not support:
        pair = {frozenset(support.first), frozenset(support.second)}
        assert len(pair) == 2
        assert any(pair <= set(sets) for sets in fitting.values())


def assert_exact(blocks, classes, said, report, count):
    """Compare the decoder with all label sets there are."""
    panel = Panel.from_blocks(classes, blocks)
    sets = subsets(classes, count)
    found = decode(Reports.from_lists(said, panel), report=report, count=count)
    rows = zip(said, found.value, found.complete.tolist(), found.conflict.tolist(), strict=True)
    for answer, labels, complete, conflict in rows:
        possible = [
            some
            for some in sets
            if all(fits(*pair, some, report) for pair in zip(blocks, answer, strict=True))
        ]
        assert (complete, conflict) == (len(possible) == 1, not possible), (blocks, answer)
        if possible:
            assert frozenset(labels) == frozenset.intersection(*possible), (blocks, answer)


@pytest.mark.parametrize("count", [None, 1, 2, 3])
@pytest.mark.parametrize("report", WAYS)
@pytest.mark.parametrize("blocks", PANELS, ids=",".join)
def test_labels_are_those_in_every_set_that_fits(blocks, report, count):
    classes = sorted(set(chain.from_iterable(blocks)) | set("abc"))
    said = list(possible_sets(blocks, classes, report, count))
    said = said[:: 1 + len(said) // 400]
    assert_exact(blocks, classes, said, report, count)


@pytest.mark.parametrize("seed", range(60))
def test_answers_of_any_kind_are_decided_as_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    classes = list("abcde"[: rng.integers(1, 6)])
    chosen = rng.random((rng.integers(1, 5), len(classes))) < 0.6
    chosen[np.arange(len(chosen)), rng.integers(0, len(classes), len(chosen))] = True
    blocks = [
        "".join(name for name, is_known in zip(classes, row, strict=True) if is_known) for row in chosen
    ]
    report = WAYS[seed % 2]
    count = [None, *range(1, len(classes) + 1)][rng.integers(0, len(classes) + 1)]
    said = []
    for _ in range(150):
        mode, truth = rng.integers(0, 3), frozenset(rng.choice(classes, rng.integers(1, len(classes) + 1)))
        row = []
        for known in blocks:
            # True answers, then answers that one expert or all may have got wrong, and experts not asked.
            right = answers(known, truth, report)
            wild = [frozenset(), *subsets(known, 1 if report == "one" and rng.random() < 0.9 else None)]
            guess = wild[rng.integers(len(wild))] if mode == 2 or rng.random() < 0.3 * mode else None
            picked = right[rng.integers(len(right))] if guess is None else guess
            row.append(None if rng.random() < 0.2 else picked)
        said.append(row)
    assert_exact(blocks, classes, said, report, count)


def test_a_full_count_makes_missing_answers_harmless():
    panel = Panel.from_blocks(list("abcd"), ["ab", "cd", "ac"])
    found = decode(Reports.from_lists([["a", None, "c"], ["a", None, "a"]], panel), count=2)
    assert (found.value, found.complete.tolist()) == ([("a", "c"), ("a",)], [True, False])


def test_several_classes_where_one_is_due_are_a_conflict():
    panel = Panel.from_blocks(list("abc"), ["ab", "bc", "ac"])
    reports = Reports.from_lists([["ab", "b", "a"]], panel)
    assert decode(reports).conflict.all()
    assert reports.count_several() == 1
    assert decode(reports, report="all").complete.all()


def test_votes_are_answers_that_name_one_label():
    panel = Panel.from_blocks(list("abc"), ["ab", "bc", "ac"])
    votes = Votes.from_dense([[0, 1, 0], [1, 1, NONE_OF_MINE]], panel)
    found = decode(votes)
    assert (found.value, found.complete.tolist()) == ([("a", "b"), ("b",)], [False, True])


def test_most_authorities_decide_where_full_reports_contradict_each_other():
    panel = Panel.from_blocks(list("ab"), ["ab", "ab", "a", "b"])
    found = decode(Reports.from_lists([["a", "ab", "a", ""]], panel), report="all")
    assert (found.value, found.conflict.tolist(), found.complete.tolist()) == ([("a",)], [True], [False])


def test_lists_of_classes_come_from_tables_and_go_to_tables():
    panel = Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]], ["ann", "bob"])
    lists = {
        "item": ["x", "x", "y", "y"],
        "expert": ["ann", "bob"] * 2,
        "label": [["cat", "dog"], ["dog"], [], ["fox"]],
    }
    joined = {**lists, "label": ["cat; dog", "dog", "none of mine", "fox"]}
    wide = {"item": ["x", "y"], "ann": ["cat;dog", "None of mine"], "bob": ["dog", "fox"]}
    rows = {
        "item": ["x", "x", "x", "y", "y"],
        "expert": ["ann", "ann", "bob", "ann", "bob"],
        "label": ["cat", "dog", "dog", "none of mine", "fox"],
    }
    for table in (lists, joined, wide, rows):
        found = decode(Reports.from_table(table, panel), report="all")
        assert found.to_table().to_pydict() == {
            "item": ["x", "y"], "labels": [["cat", "dog"], ["fox"]], "complete": [True, True],
            "conflict": [False, False],
        }  # fmt: skip


def test_who_was_not_asked_leaves_the_labels_incomplete():
    panel = Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]])
    found = decode(Reports.from_lists([[["cat"], None]], panel), report="all")
    assert (found.value, found.complete.tolist()) == ([("cat",)], [False])


def long(label):
    return {"item": ["x"], "expert": ["expert-1"], "label": [label]}


def test_an_empty_table_of_items_has_no_labels():
    panel = Panel.from_blocks(list("ab"), ["ab"])
    assert len(decode(Reports.from_lists([], panel))) == 0
    silent = Reports.from_lists([[[]], [None]], panel)
    assert silent.count_several() == 0
    assert decode(silent).conflict.tolist() == [True, False]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda panel: supports(panel, 0), "count must be at least 1"),
        (lambda panel: supports(panel, 9), "count=9 labels for 3 classes"),
        (lambda panel: supports(panel, 2, report="some"), "report='some' is unknown"),
        (lambda panel: decode([["cat"]]), "make Reports first"),
        (lambda panel: Reports.from_lists([[["fox"], []]], panel), "named 'fox' for item 0, which is not"),
        (lambda panel: Reports.from_lists([[[]]], panel), "has 1 answers from 2 experts"),
        (lambda panel: Reports(panel, [0], [5], [0], [[True, True]], (7,)), "expert 5 is out of range"),
        (lambda panel: Reports(panel, [0], [0], [2], [[True, True]], (7,)), "named 'fox' for item 7"),
        (lambda panel: Reports(panel, [0, 1], [0], [0], [[True, True]], (7,)), "different lengths"),
        (lambda panel: Reports(panel, [0], [0], [0], [[True]], (7,)), "asked has shape"),
        (lambda panel: Reports.from_table({"item": ["x"], "no": [1]}, panel), "no column is an expert"),
        (lambda panel: Reports.from_table(long("cat; fox"), panel), "'expert-1' said 'fox'"),
        (lambda panel: Reports.from_table(long(["cat", "owl"]), panel), "not classes of the panel .*'owl'"),
        (lambda panel: Reports.from_table(long("cat; none of mine"), panel), "row 1: .* named 'cat' .*none"),
        (
            lambda panel: Reports.from_table({"item": ["x", "y", "x"], "expert-1": ["cat"] * 3}, panel),
            "row 3: item 'x' already occurs in row 1",
        ),
    ],
)
def test_mistakes_are_explained(call, words):
    with pytest.raises(CovoteError, match=words):
        call(Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]]))
