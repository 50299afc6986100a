"""Items with several labels: every set of labels, and everything that experts may answer, on small panels."""

from itertools import chain, combinations, product

import numpy as np
import pytest

from covote import Panel, decode
from covote.errors import CoverError, InputError
from covote.votes import Reports, Votes

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
MODELS = [("all", True), ("all", False), ("one", True), ("one", False)]


def subsets(classes, most=None):
    most = len(classes) if most is None else most
    return [frozenset(some) for size in range(1, most + 1) for some in combinations(sorted(classes), size)]


def answers(known, labels, report, none):
    """What an expert may answer, as sets of classes."""
    mine = frozenset(known) & labels
    if mine:
        return [mine] if report == "all" else [frozenset(k) for k in mine]
    if none:
        return [frozenset()]
    return subsets(known) if report == "all" else [frozenset(k) for k in known]


def possible_sets(blocks, classes, report, none, count):
    """All sets of labels that an item may have, by the answers."""
    sets = subsets(classes, count)
    if count is not None and report == "one" and not none:
        sets = [labels for labels in sets if len(labels) == count]
    fitting = {}
    for labels in sets:
        for said in product(*(answers(known, labels, report, none) for known in blocks)):
            fitting.setdefault(said, []).append(labels)
    return fitting


@pytest.mark.parametrize("count", [None, 1, 2, 3])
@pytest.mark.parametrize(("report", "none"), MODELS)
@pytest.mark.parametrize("blocks", PANELS, ids=",".join)
def test_the_condition_is_exact_and_the_decoder_reaches_it(blocks, report, none, count):
    classes = sorted(set(chain.from_iterable(blocks)) | set("abc"))
    panel = Panel.from_blocks(classes, blocks)
    fitting = possible_sets(blocks, classes, report, none, count)
    unique = all(len(sets) == 1 for sets in fitting.values())
    support = panel.supports(count, report=report, none=none)
    assert bool(support) == unique
    if not support:
        pair = {frozenset(support.first), frozenset(support.second)}
        assert len(pair) == 2
        assert any(pair <= set(sets) for sets in fitting.values())
    said = list(fitting)
    reports = Reports.from_lists(said, panel)
    options = {"report": report, "none": none, "count": count}
    if report == "all" and not none and not panel.covers():
        with pytest.raises(CoverError, match="need a common expert for every pair"):
            decode(reports, labels="several", **options)
        return
    found = decode(reports, labels="several", **options)
    for answer, labels, complete in zip(said, found.value, found.complete, strict=True):
        certain = frozenset.intersection(*fitting[answer])
        if unique or (report == "one" and not none):
            assert frozenset(labels) == certain
        assert frozenset(labels) <= certain
        if complete:
            assert fitting[answer] == [frozenset(labels)]
        elif unique:
            assert count is None  # the size must be given for the labels to be all


def test_the_certain_labels_of_unknown_number_are_the_terminal_component():
    panel = Panel.from_blocks(list("abc"), ["ab", "bc", "ac"])
    votes = Votes.from_dense([[0, 1, 2], [0, 1, 0], [1, 1, 0]], panel)
    found = decode(votes, labels="several", none=False)
    assert found.value == [("a", "b", "c"), ("a",), ("b",)]
    assert not found.complete.any()


def test_lists_of_classes_come_from_tables_and_go_to_tables():
    panel = Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]], ["ann", "bob"])
    lists = {
        "item": ["x", "x", "y", "y"],
        "expert": ["ann", "bob"] * 2,
        "label": [["cat", "dog"], ["dog"], [], ["fox"]],
    }
    rows = {
        "item": ["x", "x", "x", "y", "y"],
        "expert": ["ann", "ann", "bob", "ann", "bob"],
        "label": ["cat", "dog", "dog", "none of mine", "fox"],
    }
    for table in (lists, rows):
        found = decode(Reports.from_table(table, panel), labels="several", report="all")
        assert found.to_table().to_pydict() == {
            "item": ["x", "y"], "labels": [["cat", "dog"], ["fox"]], "complete": [True, True],
        }  # fmt: skip


def test_who_was_not_asked_leaves_the_labels_incomplete():
    panel = Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]])
    found = decode(Reports.from_lists([[["cat"], None]], panel), labels="several", report="all")
    assert (found.value, found.complete.tolist()) == ([("cat",)], [False])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda panel, votes: panel.supports(0), "count must be at least 1"),
        (lambda panel, votes: panel.supports(9), "count=9 labels for 3 classes"),
        (lambda panel, votes: panel.supports(2, report="some"), "report='some' is not known"),
        (lambda panel, votes: decode(votes, labels="many"), "labels"),
        (lambda panel, votes: decode(votes, labels="several", ties="report", x=1), "'x' says nothing"),
        (lambda panel, votes: decode(votes, method="em", labels="several"), "method='em' says nothing"),
        (lambda panel, votes: Reports.from_lists([[["fox"], []]], panel), "named 'fox' for item 0, which it"),
        (lambda panel, votes: Reports.from_lists([[[]]], panel), "has 1 reports of 2 experts"),
        (lambda panel, votes: Reports.from_table({"item": ["x"]}, panel), "no column 'expert'"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(call, words):
    panel = Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]])
    with pytest.raises(InputError, match=words):
        call(panel, Votes.from_dense(np.array([[0, 1]]), panel))
