"""Items with several labels: every set of labels, and everything that experts may answer, on small panels."""

from itertools import chain, combinations, product

import numpy as np
import pytest

from covote import Panel, decode, design, simulate
from covote.bounds import cover_free_bound
from covote.errors import CoverError, CovoteError
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
MODELS = [("all", False), ("all", True), ("one", False), ("one", True)]


def subsets(classes, most=None):
    most = len(classes) if most is None else most
    return [frozenset(some) for size in range(1, most + 1) for some in combinations(sorted(classes), size)]


def answers(known, labels, report, forced):
    """What an expert may answer, as sets of classes."""
    mine = frozenset(known) & labels
    if mine:
        return [mine] if report == "all" else [frozenset(k) for k in mine]
    if not forced:
        return [frozenset()]
    return subsets(known) if report == "all" else [frozenset(k) for k in known]


def possible_sets(blocks, classes, report, forced, count):
    """All sets of labels that an item may have, by the answers."""
    sets = subsets(classes, count)
    if count is not None and report == "one" and forced:
        sets = [labels for labels in sets if len(labels) == count]
    fitting = {}
    for labels in sets:
        for said in product(*(answers(known, labels, report, forced) for known in blocks)):
            fitting.setdefault(said, []).append(labels)
    return fitting


@pytest.mark.parametrize("count", [None, 1, 2, 3])
@pytest.mark.parametrize(("report", "forced"), MODELS)
@pytest.mark.parametrize("blocks", PANELS, ids=",".join)
def test_the_condition_is_exact_and_the_decoder_reaches_it(blocks, report, forced, count):
    classes = sorted(set(chain.from_iterable(blocks)) | set("abc"))
    panel = Panel.from_blocks(classes, blocks)
    fitting = possible_sets(blocks, classes, report, forced, count)
    unique = all(len(sets) == 1 for sets in fitting.values())
    support = panel.supports(count, report=report, forced=forced)
    assert bool(support) == unique
    if not support:
        pair = {frozenset(support.first), frozenset(support.second)}
        assert len(pair) == 2
        assert any(pair <= set(sets) for sets in fitting.values())
    said = list(fitting)
    reports = Reports.from_lists(said, panel)
    options = {"report": report, "forced": forced, "count": count}
    if report == "all" and forced and not panel.covers():
        with pytest.raises(CoverError, match="need a common expert for every pair"):
            decode(reports, labels="several", **options)
        return
    found = decode(reports, labels="several", **options)
    assert not found.conflict.any()
    for answer, labels, complete in zip(said, found.value, found.complete, strict=True):
        certain = frozenset.intersection(*fitting[answer])
        if unique or (report == "one" and forced):
            assert frozenset(labels) == certain
        assert frozenset(labels) <= certain
        if complete:
            assert fitting[answer] == [frozenset(labels)]
        elif unique:
            assert count is None  # the size must be given for the labels to be all


@pytest.mark.parametrize(("report", "forced"), MODELS)
def test_answers_that_no_labels_fit_are_a_conflict(report, forced):
    blocks = ["abc", "abd", "acd", "bcd"]
    panel = Panel.from_blocks(list("abcd"), blocks)
    count = 2 if report == "one" else None
    fitting = possible_sets(blocks, "abcd", report, forced, count)
    sizes = [1] if report == "one" else [1, 2, 3]
    every = [[frozenset(c) for size in sizes for c in combinations(block, size)] for block in blocks]
    said = list(product(*(some if forced else [*some, frozenset()] for some in every)))
    found = decode(
        Reports.from_lists(said, panel), labels="several", report=report, forced=forced, count=count
    )
    assert found.conflict.tolist() == [answer not in fitting for answer in said]
    assert not (found.complete & found.conflict).any()


@pytest.mark.parametrize(("report", "forced"), MODELS)
def test_simulated_experts_answer_as_the_model_allows(report, forced):
    blocks = ["abc", "abd", "acd", "bcd", "a"]
    panel = Panel.from_blocks(list("abcd"), blocks)
    rng = np.random.default_rng(0)
    truth = [sorted(rng.choice(list("abcd"), rng.integers(1, 4), replace=False)) for _ in range(400)]
    reports = simulate(panel, truth, labels="several", report=report, forced=forced, missing=0.1, seed=3)
    seen = [set() for _ in blocks]
    for labels, row in zip(truth, reports.lists(), strict=True):
        for i, said in enumerate(row):
            if said is not None:
                assert frozenset(said) in answers(blocks[i], frozenset(labels), report, forced)
                seen[i].add(said)
    assert all(
        len(said) >= (len(block) if report == "one" else 1) for block, said in zip(blocks, seen, strict=True)
    )
    assert 0.07 < 1 - reports.asked.mean() < 0.13
    again = simulate(panel, truth, labels="several", report=report, forced=forced, missing=0.1, seed=3)
    assert again.lists() == reports.lists()
    erring = simulate(panel, truth, labels="several", report=report, forced=forced, accuracy=0.5, seed=3)
    right = [
        frozenset(said) in answers(blocks[i], frozenset(labels), report, forced)
        for labels, row in zip(truth, erring.lists(), strict=True)
        for i, said in enumerate(row[:4])
    ]
    assert 0.45 < np.mean(right) < 0.9


def test_most_authorities_decide_where_full_reports_contradict_each_other():
    panel = Panel.from_blocks(list("ab"), ["ab", "ab", "a", "b"])
    found = decode(Reports.from_lists([["a", "ab", "a", ""]], panel), labels="several", report="all")
    assert (found.value, found.conflict.tolist(), found.complete.tolist()) == ([("a",)], [True], [False])


def apart(blocks, classes, w, others):
    """Whether every w classes have, beside any others, an expert that knows them and none of these."""
    return all(
        any(set(mine) <= set(block) and not set(rest) & set(block) for block in blocks)
        for mine in combinations(range(classes), w)
        for rest in combinations([k for k in range(classes) if k not in mine], others)
    )


@pytest.mark.parametrize("effort", ["fast", "normal"])
@pytest.mark.parametrize(
    ("classes", "size", "count", "forced"),
    [(5, 5, 2, False), (6, 3, 2, False), (9, 3, 3, False), (12, 6, 3, False), (17, 9, 4, False),
     (30, 4, 3, False), (40, 20, 2, False), (4, 3, 2, True), (6, 3, 3, True), (9, 4, 2, True),
     (13, 5, 2, True), (11, 2, 4, True)],
)  # fmt: skip
def test_designed_panels_tell_several_labels_by_a_count_of_their_own(classes, size, count, forced, effort):
    panel = design(classes, size, labels="several", count=count, forced=forced, effort=effort)
    assert panel.sizes.max() <= size
    assert apart(panel.blocks(), classes, 2 if forced else 1, count - 1)
    proof = panel.certificate
    assert proof.lower == cover_free_bound(classes, size, count, forced=forced)[0] <= proof.size == len(panel)
    assert len(panel) <= classes * (classes - 1) // 2 if forced else len(panel) <= classes


@pytest.mark.parametrize(("classes", "size"), [(3, 2), (4, 2), (4, 3), (5, 3), (5, 4), (5, 5)])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("forced", [False, True])
def test_the_bound_on_experts_is_never_above_the_smallest_panel(classes, size, count, forced):
    if count > classes - 1:
        return
    lower = cover_free_bound(classes, size, count, forced=forced)[0]
    blocks = [b for r in range(1, size + 1) for b in combinations(range(classes), r)]
    w, others = (2 if forced else 1), count - 1
    left = 1 if count == 1 and not forced else 0  # one class may be known to nobody
    for fewer in range(1, min(lower, 6)):
        for some in combinations(blocks, fewer):
            assert not apart(some, classes - left, w, others)
    panel = design(classes, size, labels="several", count=count, forced=forced)
    assert len(panel) >= lower


def test_full_reports_need_every_class_once_or_a_cover():
    panel = design(10, 4, labels="several", report="all")
    assert (len(panel), panel.knows.sum(axis=0).tolist()) == (3, [1] * 10)
    assert len(design(10, 4, labels="several", report="all", forced=True)) == 9


def test_the_certain_labels_of_unknown_number_are_the_terminal_component():
    panel = Panel.from_blocks(list("abc"), ["ab", "bc", "ac"])
    votes = Votes.from_dense([[0, 1, 2], [0, 1, 0], [1, 1, 0]], panel)
    found = decode(votes, labels="several", forced=True)
    assert found.value == [("a", "b", "c"), ("a",), ("b",)]
    assert not found.complete.any()


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
    for table in (lists, joined, wide, rows, Reports.from_table(rows, panel).to_table()):
        found = decode(Reports.from_table(table, panel), labels="several", report="all")
        assert found.to_table().to_pydict() == {
            "item": ["x", "y"], "labels": [["cat", "dog"], ["fox"]], "complete": [True, True],
            "conflict": [False, False],
        }  # fmt: skip


def test_who_was_not_asked_leaves_the_labels_incomplete():
    panel = Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]])
    found = decode(Reports.from_lists([[["cat"], None]], panel), labels="several", report="all")
    assert (found.value, found.complete.tolist()) == ([("cat",)], [False])


def long(label):
    return {"item": ["x"], "expert": ["expert-1"], "label": [label]}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda panel, votes: panel.supports(0), "count must be at least 1"),
        (lambda panel, votes: panel.supports(9), "count=9 labels for 3 classes"),
        (lambda panel, votes: panel.supports(2, report="some"), "report='some' is not known"),
        (lambda panel, votes: decode(votes, labels="many"), "labels"),
        (lambda panel, votes: decode(votes, labels="several", x=1), "'x' says nothing"),
        (lambda panel, votes: decode(votes, method="em", labels="several"), "method='em' says nothing"),
        (lambda panel, votes: Reports.from_lists([[["fox"], []]], panel), "named 'fox' for item 0, which it"),
        (lambda panel, votes: Reports.from_lists([[[]]], panel), "has 1 reports of 2 experts"),
        (
            lambda panel, votes: Reports.from_table({"item": ["x"], "no": [1]}, panel),
            "no column is an expert",
        ),
        (lambda panel, votes: Reports.from_table(long("cat; fox"), panel), "'expert-1' answered 'fox'"),
        (
            lambda panel, votes: Reports.from_table(long(["cat", "owl"]), panel),
            "'owl', which is not",
        ),
        (
            lambda panel, votes: Reports.from_table(long("cat; none of mine"), panel),
            "row 1: .* named 'cat' .*none",
        ),
        (lambda panel, votes: design(9, 3, labels="several"), "say how many with count"),
        (lambda panel, votes: design(9, 3, labels="several", count=9, forced=True), "has all classes"),
        (lambda panel, votes: design(9, 3, count=2), "go with labels='several'"),
        (lambda panel, votes: design(9, [3, 4], labels="several", count=2), "designed for one size"),
        (lambda panel, votes: simulate(panel, ["cat"], labels="several"), "give a list of classes"),
        (lambda panel, votes: simulate(panel, [[]], labels="several"), "item 0 has no label"),
        (lambda panel, votes: simulate(panel, ["cat"], forced=True), "go with labels='several'"),
        (lambda panel, votes: simulate(panel, [["cat"]], labels="several", noise="similar"), "by report and"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(call, words):
    panel = Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]])
    with pytest.raises(CovoteError, match=words):
        call(panel, Votes.from_dense(np.array([[0, 1]]), panel))
