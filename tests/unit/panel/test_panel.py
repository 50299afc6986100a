"""What a panel knows of itself."""

import io
import pickle
import tomllib

import numpy as np
import pytest

from covote import Panel
from covote.errors import CovoteError, FileError, InputError, UnknownNameError

PAPER = Panel.from_blocks(5, [[0, 1, 2], [0, 3, 4], [1, 2, 3], [1, 2, 4]])
FANO = Panel.from_blocks(7, [[0, 1, 2], [0, 3, 4], [0, 5, 6], [1, 3, 5], [1, 4, 6], [2, 3, 6], [2, 4, 5]])


def test_the_papers_example_covers_and_loses_that_without_any_expert():
    assert PAPER.covers()
    for name in PAPER.names:
        rest = PAPER.without(name)
        assert not rest.covers()
        assert rest.uncovered()


def test_pair_counts_are_the_gram_matrix_of_knows():
    knows = PAPER.knows.astype(int)
    assert np.array_equal(PAPER.pair_counts(), knows.T @ knows)


def test_the_fano_plane_knows_every_pair_once_and_every_class_three_times():
    counts = FANO.pair_counts()
    assert np.array_equal(counts, np.ones((7, 7), int) + 2 * np.eye(7, dtype=int))
    assert FANO.redundancy == 1
    assert FANO.correctable() == 0
    assert FANO.detectable() == 0


def test_three_copies_repair_one_wrong_answer():
    copies = FANO
    for turn in "bc":
        copies = copies + FANO.renamed([f"{turn}{i}" for i in range(7)])
    assert copies.covers(3)
    assert not copies.covers(4)
    assert (copies.correctable(), copies.detectable()) == (1, 2)


def test_uncovered_pairs_are_named_once():
    panel = Panel(["a", "b", "c"], [[1, 1, 0]])
    assert panel.uncovered() == [("a", "c"), ("b", "c")]
    assert panel.uncovered(redundancy=2) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert panel.correctable() == 0


def test_a_panel_may_have_no_experts_or_a_single_class():
    empty = Panel(3, np.zeros((0, 3), bool))
    assert not empty.covers()
    assert len(empty.uncovered()) == 3
    assert Panel(["only"], [[True]]).covers(5)
    assert Panel(2, []).uncovered() == [(0, 1)]


def test_knows_and_cost_are_read_only():
    with pytest.raises(ValueError):
        PAPER.knows[0, 0] = False
    with pytest.raises(ValueError):
        PAPER.cost[0] = 2


def test_a_panel_does_not_share_memory_with_its_input():
    knows = np.ones((1, 2), bool)
    panel = Panel(2, knows)
    knows[0, 0] = False
    assert panel.knows.all()


def test_only_and_without_part_the_experts():
    left, right = PAPER.only("expert-1", "expert-3"), PAPER.without("expert-1", "expert-3")
    assert left.names == ("expert-1", "expert-3")
    assert set(left.names) | set(right.names) == set(PAPER.names)


def test_adding_panels_joins_their_classes():
    joined = Panel(["a", "b"], [[1, 1]], ["x"]) + Panel(["c", "b"], [[1, 1]], ["y"], [3])
    assert joined.classes == ("a", "b", "c")
    assert joined.blocks() == [("a", "b"), ("b", "c")]
    assert joined.cost.tolist() == [1, 3]


def test_integers_and_their_texts_are_different_classes():
    panel = Panel([1, "1"], [[1, 0], [1, 1]])
    assert panel.authorities(1) == ("expert-1", "expert-2")
    assert panel.authorities("1") == ("expert-2",)
    with pytest.raises(UnknownNameError, match="there is 1, of type int"):
        Panel([1, 2], [[1, 1]]).authorities("1")


def test_numpy_names_become_plain_ones():
    panel = Panel(np.array([3, 5]), [[1, 1]], np.array(["ann"]))
    assert [type(name) for name in panel.classes + panel.names] == [int, int, str]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Panel([], []), "at least one class"),
        (lambda: Panel(0, []), "at least one class"),
        (lambda: Panel(True, []), "not True"),
        (lambda: Panel("abc", [[1, 1, 1]]), "list of strings"),
        (lambda: Panel(["a", "a"], [[1, 1]]), "'a' appears twice"),
        (lambda: Panel(["a", 1.5], [[1, 1]]), "1.5 is a float"),
        (lambda: Panel(["a", " "], [[1, 1]]), "is empty"),
        (lambda: Panel(["a", "\ud800"], [[1, 1]]), "UTF-8"),
        (lambda: Panel(2, [[1, 1], [0, 0]]), "'expert-2' knows no class"),
        (lambda: Panel(2, [[1, 1, 1]]), "2 columns"),
        (lambda: Panel(2, [[1, 2]]), r"knows\[0, 1\] is"),
        (lambda: Panel(2, [[1, 1], [1]]), "unequal lengths"),
        (lambda: Panel(2, [[1, 1]], ["x", "y"]), "2 names for 1 experts"),
        (lambda: Panel(2, [[1, 1], [1, 1]], ["x", "x"]), "'x' appears twice"),
        (lambda: Panel(2, [[1, 1]], cost=[-1]), "costs -1.0"),
        (lambda: Panel(2, [[1, 1]], cost=[float("nan")]), "costs nan"),
        (lambda: Panel(2, [[1, 1]], cost=[1, 2]), "one number per expert"),
        (lambda: Panel(2, [[1, 1]], cost=["dear"]), "one number per expert"),
        (lambda: Panel.from_blocks(["cat", "dog"], [["cat", "dgo"]]), "did you mean 'dog'"),
        (lambda: Panel.from_blocks({"ann": ["cat"], "bob": "dog"}), r"give a list of classes: \['dog'\]"),
        (lambda: PAPER.without("expert-9"), "no expert 'expert-9'"),
        (lambda: PAPER.authorities(5), "no class 5"),
        (lambda: PAPER.covers(0), "at least 1, not 0"),
        (lambda: PAPER + PAPER, "both panels have an expert"),
    ],
)
def test_a_mistake_is_named_with_its_value(build, words):
    with pytest.raises(CovoteError, match=words):
        build()


def test_equality_is_about_content_not_proofs():
    same = Panel.from_blocks(5, PAPER.blocks())
    assert same == PAPER
    assert hash(same) == hash(PAPER)
    assert same != Panel.from_blocks(5, PAPER.blocks(), cost=[1, 1, 1, 2])
    assert same != "panel"


def test_the_repr_says_what_is_covered():
    assert repr(PAPER) == "Panel(4 experts, 5 classes, size 3, covers every pair)"
    assert (
        repr(Panel(3, [[1, 1, 0], [1, 1, 1]]))
        == "Panel(2 experts, 3 classes, sizes 2 to 3, covers every pair)"
    )
    assert "2 pairs uncovered" in repr(Panel(3, [[1, 1, 0]]))


def test_the_notebook_picture_escapes_names():
    assert "<b>x" not in Panel(["<b>x", "y"], [[1, 1]])._repr_html_()


@pytest.mark.parametrize("classes", [2, 5, 40])
def test_the_title_of_a_picture_has_its_room(classes):
    axes = Panel(classes, np.ones((3, classes))).plot()
    figure = axes.get_figure()
    figure.savefig(io.BytesIO())
    title = axes.title.get_window_extent()
    assert title.x0 >= 0
    assert title.x1 <= figure.bbox.width


def test_plot_draws_every_expert_and_class():
    axes = PAPER.plot()
    assert np.array_equal(axes.images[0].get_array(), PAPER.knows)
    assert [text.get_text() for text in axes.get_yticklabels()] == list(PAPER.names)


@pytest.mark.parametrize("ending", ["toml", "json", "csv"])
def test_a_file_gives_back_the_same_panel(tmp_path, ending):
    names = ["Zoë", "7", 7, 'a "quoted" one', "'apostrophe", "line\r\nbreak\r", "tab\t\x7f", " blanks "]
    panel = Panel(names, np.eye(8) + np.eye(8, k=1), names=reversed(names), cost=np.arange(8) / 3)
    panel.save(tmp_path / f"panel.{ending}")
    assert Panel.load(tmp_path / f"panel.{ending}") == panel


def test_options_beside_a_model_belong_to_it(tmp_path):
    (tmp_path / "panel.toml").write_text(
        'classes = ["a", "b"]\n[[experts]]\nname = "x"\nknows = ["a", "b"]\nmodel = "joblib:x.joblib"\n'
        'trust = true\nlabels = { "1" = "a" }\n'
    )
    panel = Panel.load(tmp_path / "panel.toml")
    assert panel.models == ({"use": "joblib:x.joblib", "trust": True, "labels": {"1": "a"}},)
    panel.save(tmp_path / "again.json")
    assert Panel.load(tmp_path / "again.json") == panel
    with pytest.raises(InputError, match="unexpected entry 'trust'"):
        Panel.from_dict({"classes": ["a"], "experts": [{"knows": ["a"], "trust": True}]})


@pytest.mark.parametrize("ending", ["toml", "json"])
def test_models_survive_the_round_trip(tmp_path, ending):
    model = {"use": "onnx:models/skin.onnx", "classes": {"naevus": "a b", "2": 3}}
    panel = Panel(2, [[1, 1], [1, 1]], models=["sklearn:x.skops", model])
    panel.save(tmp_path / f"panel.{ending}")
    assert Panel.load(tmp_path / f"panel.{ending}").models == panel.models


def test_a_panel_can_be_written_by_hand(tmp_path):
    path = tmp_path / "panel.toml"
    path.write_text(
        'classes = ["skin", "eye", "ear"]\n'
        '[[experts]]\nname = "dr-lee"\nknows = ["skin", "eye"]\ncost = 80\n'
        '[[experts]]\nknows = ["eye", "ear"]\n'
    )
    panel = Panel.load(path)
    assert panel.names == ("dr-lee", "expert-2")
    assert panel.cost.tolist() == [80, 1]
    assert panel.uncovered() == [("skin", "ear")]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("a.toml", "classes = [", "not a TOML file"),
        ("a.toml", "x = 1", "no list of classes"),
        ("a.toml", "classes = [1, 2]\nexpert = 3", "unexpected entry 'expert'"),
        ("a.toml", "classes = [1, 2]\n[[experts]]\nknows = [3]", "knows 3, which is not among"),
        ("a.toml", "classes = [1, 2]\n[[experts]]\nknow = [1]", "unexpected entry 'know'"),
        ("a.toml", "classes = [1, 2]\n[[experts]]\nname = 'x'", "needs a list of what it knows"),
        ("a.toml", "classes = [1, 2]\n[[experts]]\nknows = []", "knows no class"),
        ("a.toml", "classes = [1, 2]\n[[experts]]\nknows = [1]\ncost = nan", "costs nan"),
        ("a.json", "[1]", "must be an object"),
        ("a.json", "{", "not a JSON file"),
        ("a.csv", "", "begins with a row"),
        ("a.csv", "photo,ann,bob,cy\n1,cat,cat,dog\n2,fox,cat,fox\n", "seem to be answers and not a panel"),
        ("a.csv", "expert,a,b\nx,1", "row 2 has 2 cells"),
        ("a.csv", "expert,a,b\nx,1,maybe", "column 'b' has 'maybe' .row 2., where a tick"),
        ("a.csv", "expert,cost,a,b\nx,dear,1,1", "cost 'dear'"),
        ("a.toml", 'classes = ["skin"]\n[[experts]]\nknows = ["SKIN "]', "did you mean 'skin'"),
        ("a.yaml", "", "ends in .toml, .json, .csv, .tsv or .xlsx"),
    ],
)
def test_a_bad_file_is_named_with_its_fault(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(CovoteError, match=words) as caught:
        Panel.load(path)
    assert str(path) in str(caught.value)


def test_files_that_cannot_be_read_or_written(tmp_path):
    with pytest.raises(FileError, match="no file"):
        Panel.load(tmp_path / "none.toml")
    (tmp_path / "latin.toml").write_bytes(b"classes = ['\xff']")
    with pytest.raises(FileError, match="UTF-8"):
        Panel.load(tmp_path / "latin.toml")
    with pytest.raises(FileError, match="cannot write"):
        PAPER.save(tmp_path / "no such folder" / "panel.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        PAPER.save(tmp_path / "folder.toml")
    with pytest.raises(InputError, match="no room for models"):
        Panel(2, [[1, 1]], models=["m"]).save(tmp_path / "panel.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.toml", "latin.toml"]


def test_a_csv_panel_as_people_write_it(tmp_path):
    path = tmp_path / "panel.csv"
    path.write_text('expert, cost, skin, " eye"\r\ndr-lee, , 1, 1\r\ndr-ng, 2.5, , 1\r\n')
    panel = Panel.load(path)
    assert panel == Panel(["skin", "eye"], [[1, 1], [0, 1]], ["dr-lee", "dr-ng"], [1, 2.5])
    panel.save(path)
    assert Panel.load(path) == panel


@pytest.mark.parametrize("share", [0.02, 0.3], ids=["small experts", "large experts"])
def test_pairs_of_many_classes_are_counted_in_blocks(share, monkeypatch):
    monkeypatch.setattr("covote.panel.pairs._CELLS", 5_000)
    knows = np.random.default_rng(1).random((40, 300)) < share
    panel = Panel(300, knows[knows.any(axis=1)])
    counts = panel.knows.T.astype(int) @ panel.knows
    assert np.array_equal(panel.pair_counts(), counts)
    for times in (1, 3):
        below = [(int(k), int(j)) for k, j in np.argwhere(np.triu(counts < times, 1))]
        assert panel.uncovered(times) == below
        assert panel.uncovered(times, most=7) == below[:7]
        assert panel.count_uncovered(times) == len(below)


def test_a_pickled_panel_carries_nothing_that_can_be_derived():
    panel = Panel(500, np.eye(500, dtype=bool))
    small = len(pickle.dumps(panel))
    assert panel.uncovered(most=1)
    assert {panel: 1}[panel] == 1
    assert panel.sizes.sum() == 500
    assert len(pickle.dumps(panel)) == small
    assert pickle.loads(pickle.dumps(panel)) == panel


def test_nested_knowledge_is_refused():
    with pytest.raises(InputError, match="expert 'ann' knows a list or table; write its classes as one flat"):
        Panel.from_blocks(["a", "b"], [[["a"], "b"]], ["ann"])


def test_nobody_is_critical_where_every_pair_has_two_experts():
    twice = Panel.from_blocks(3, [[0, 1, 2], [0, 1, 2]], ["a", "b"])
    assert twice.survives()
    assert twice.survives().critical == ()
    assert not twice.survives(2)
    assert dict(twice.survives(2).critical) == {"a": 3, "b": 3}
    with pytest.raises(InputError, match="missing must be at least 1"):
        twice.survives(0)


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_pairs_at_risk_are_those_of_a_plain_count(share):
    rng = np.random.default_rng(3)
    knows = rng.random((12, 90)) < share
    knows[np.arange(12), np.arange(12)] = True
    panel = Panel(90, knows)
    together = knows.T.astype(int) @ knows.astype(int)
    for missing in (1, 2):
        rare = np.triu((together > 0) & (together <= missing), 1)
        expected = {i: int(rare[np.ix_(row, row)].sum()) for i, row in enumerate(knows)}
        found = {panel.expert_index(name): pairs for name, pairs in panel.survives(missing).critical}
        assert found == {i: pairs for i, pairs in expected.items() if pairs}


@pytest.mark.parametrize(("experts", "share"), [(4, 0.4), (40, 0.004)])
def test_many_classes_that_the_same_experts_know_are_counted_together(experts, share):
    knows = np.random.default_rng(5).random((experts, 2500)) < share
    knows[:2, :3] = True
    panel = Panel(2500, knows)
    assert panel.layout.groups.layout is not panel.layout
    together = knows.T.astype(int) @ knows.astype(int)
    above = np.triu(np.ones_like(together, dtype=bool), 1)
    for redundancy in (1, 2, 3):
        assert panel.count_uncovered(redundancy) == np.count_nonzero((together < redundancy) & above)
    for missing in (1, 2):
        rare = (together > 0) & (together <= missing) & above
        expected = {i: int(rare[np.ix_(row, row)].sum()) for i, row in enumerate(knows)}
        found = {panel.expert_index(name): pairs for name, pairs in panel.survives(missing).critical}
        assert found == {i: pairs for i, pairs in expected.items() if pairs}


def test_seventy_thousand_classes_are_counted_at_once():
    knows = np.random.default_rng(0).random((12, 70_000)) < 0.1
    panel = Panel(70_000, knows)
    degrees = knows.sum(axis=1, dtype=object)
    pairs = 70_000 * 69_999 // 2
    # By inclusion and exclusion: pairs that nobody knows, from the sizes of all groups of experts.
    masks = (knows.T * (1 << np.arange(12))).sum(axis=1)
    kinds, sizes = np.unique(masks, return_counts=True)
    apart = (kinds[:, None] & kinds) == 0
    uncovered = (apart * np.outer(sizes, sizes)).sum()
    alone = sizes[kinds == 0].sum()
    assert panel.count_uncovered() == (uncovered - alone) // 2
    assert panel.count_uncovered() < pairs
    assert max(pairs for _, pairs in panel.survives().critical) <= max(degrees * (degrees - 1) // 2)


def test_lists_of_a_toml_file_are_read_as_toml_has_them(tmp_path):
    path = tmp_path / "panel.toml"
    for text in (
        'classes = ["a", "b", "\\u00e9"]\n[[experts]]\nknows = ["a"]\n[[experts]]\nknows = ["\\u00e9"]\n',
        'classes = [\'a\', "b"]  # two\n[[experts]]\nname = "x"\nknows = [\n"a",\n]\n',
        'classes = ["a", "b"]\n[[experts]]\nknows = ["a"]\nmodel = "python:m:f"\n'
        '[experts.options]\nknows = ["b"]\n',
        'classes = ["a", "b"]\n[[experts]]\nname = """\nknows = ["a"]\n"""\nknows = ["a", "b"]\n',
        'classes = ["a", "b"]\r\n[[experts]]\r\nknows = ["a", "b"]\r\n',
    ):
        path.write_bytes(text.encode())
        plain = Panel.from_dict(tomllib.loads(text))
        assert Panel.load(path) == plain, text
        assert Panel.load(path).models == plain.models
    for text in (
        'classes = ["a", "a"]\n',
        'classes = ["a", "b"]\nclasses = ["a", "b"]\n',
        'classes = ["a" "b"]\n',
        'classes = ["a", "b"]\n[[experts]]\nknows = ["a"]\nknows = ["b"]\n',
        'classes = ["a", "b"]\n[[experts]]\nknows = "\\u00000"\n',
    ):
        path.write_text(text)
        with pytest.raises(InputError):
            Panel.load(path)


def test_a_panel_keeps_its_knowledge_when_the_array_it_came_from_changes():
    knows = np.ones((2, 3), dtype=bool)
    panel = Panel(3, knows)
    knows[0, 0] = False
    assert panel.knows.all()
    assert Panel(3, panel.knows).knows.all()


@pytest.mark.parametrize("cost", [None, [1, 2.5]])
def test_a_panel_in_a_spreadsheet_is_read_back(tmp_path, cost):
    panel = Panel([1, "2", "Total", "skin"], [[1, 1, 0, 1], [0, 1, 1, 0]], ["'ann", "class"], cost)
    panel.save(tmp_path / "panel.xlsx")
    assert Panel.load(tmp_path / "panel.xlsx") == panel


def test_a_panel_that_a_spreadsheet_would_not_give_back_is_not_written(tmp_path):
    panel = Panel(["cost", "eye"], [[1, 0], [1, 0]])  # read back, the first column would hold costs
    with pytest.raises(InputError, match="would not give back"):
        panel.save(tmp_path / "panel.xlsx")
    assert not list(tmp_path.iterdir())
