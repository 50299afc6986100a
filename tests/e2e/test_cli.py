"""The commands as a person types them."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from covote import Panel, design
from covote.cli.app import ADVANCED, COMMANDS, PANELS
from covote.errors import InputError

ROOT = Path(__file__).parents[2]


def test_design_prints_a_proof_and_writes_what_it_says(covote, tmp_path):
    ran = covote("design", 13, 4, "-o", "panel.toml", "--plot", "panel.png")
    assert ran.status == 0
    assert "13 experts who each know 4 of 13 classes cover all 78 pairs." in ran.out
    assert "Fewer than 13 experts cannot suffice." in ran.out
    assert ran.out.count("■") == 52
    panel = Panel.load(tmp_path / "panel.toml")
    assert len(panel) == 13
    assert panel.covers()
    assert (tmp_path / "panel.png").read_bytes().startswith(b"\x89PNG")


def test_design_takes_classes_from_a_file(covote, tmp_path):
    (tmp_path / "classes.txt").write_text("skin\neye\n\nZoë's ear\n")
    ran = covote("design", "classes.txt", 2, "--json")
    data = json.loads(ran.out)
    assert data["classes"] == ["skin", "eye", "Zoë's ear"]
    assert data["certificate"] | {"construction": ""} == {
        "size": 3, "lower": 3, "bound": data["certificate"]["bound"], "optimal": True, "gap": 0,
        "construction": "", "redundancy": 1,
    }  # fmt: skip


def test_integers_in_a_classes_file_stay_integers(covote, tmp_path):
    (tmp_path / "classes.txt").write_text("10\n20\n30\n")
    assert json.loads(covote("design", "classes.txt", 2, "--json").out)["classes"] == [10, 20, 30]


def test_the_papers_greedy_cover_from_the_command_line(covote):
    data = json.loads(covote("design", 5, 3, "--method", "paper", "--json").out)
    assert [expert["knows"] for expert in data["experts"]] == [[0, 1, 2], [0, 3, 4], [1, 2, 3], [1, 2, 4]]


def test_capacities_from_the_command_line(covote):
    data = json.loads(covote("design", 6, "3x4", "--json").out)
    assert [len(expert["knows"]) <= 4 for expert in data["experts"]] == [True] * 3
    ran = covote("design", 10, "2x4")
    assert ran.status == 2


def test_check_names_what_is_missing_and_complete_supplies_it(covote, tmp_path):
    Panel.from_blocks(["a", "b", "c", "d"], [["a", "b", "c"], ["c", "d"]]).save(tmp_path / "panel.csv")
    ran = covote("check", "panel.csv")
    assert ran.status == 1
    assert "Not covered: (a, d), (b, d)." in ran.out
    ran = covote("complete", "panel.csv", 3, "-o", "full.json")
    assert ran.status == 0
    assert "1 more expert makes the panel complete" in ran.out
    full = Panel.load(tmp_path / "full.json")
    assert full.only("expert-1", "expert-2") == Panel.load(tmp_path / "panel.csv")
    ran = covote("check", "full.json")
    assert ran.status == 0
    assert json.loads(covote("check", "full.json", "--json").out)["uncovered"] == []


def test_select_keeps_who_must_stay(covote, tmp_path):
    pool = Panel.from_blocks(3, [[0, 1, 2], [0, 1], [1, 2], [0, 2]], ["all", 7, "y", "z"], [9, 1, 1, 1])
    pool.save(tmp_path / "pool.toml")
    data = json.loads(covote("select", "pool.toml", "--json").out)
    assert [expert["name"] for expert in data["experts"]] == [7, "y", "z"]
    assert data["certificate"]["optimal"]
    data = json.loads(covote("select", "pool.toml", "--keep", "all", "--keep", "7", "--json").out)
    assert [expert["name"] for expert in data["experts"]] == ["all", 7]
    assert data["cost"] == 10


def test_a_pool_that_cannot_cover_points_to_complete(covote, tmp_path):
    Panel.from_blocks(3, [[0, 1], [1, 2]]).save(tmp_path / "pool.toml")
    ran = covote("select", "pool.toml")
    assert ran.status == 2
    assert "complete" in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("design", 10, 1), "1"),
        (("design", 10, 11), "11"),
        (("design", 0, 2), "0"),
        (("design", "none.txt", 2), "no file none.txt; give a number of classes, a file with one class"),
        (("design", 10, "four"), "cannot parse size 'four'"),
        (("design", 10, 4, "--redundancy", 0), "0"),
        (("design", 10, 4, "--method", "magic"), "magic"),
        (("design", 10, 4, "--effort", "none"), "none"),
        (("design", 10, 4, "-o", "panel.yaml"), ".toml, .json, .csv or .xlsx"),
        (("design", 10, 4, "-o", "no/such/folder/panel.toml"), "there is no folder"),
        (("design", 10, 4, "-o", "/"), "not in ''"),
        (("design", 10, 4, "--plot", "no/such/folder/panel.png"), "there is no folder"),
        (("design", 10, 4, "--plot", "panel.xyz"), ".png"),
        (("design", 50_000, 20), "memory"),
        (("check", "none.toml"), "no file none.toml"),
        (("select", "none.toml"), "no file none.toml"),
        (("complete", "none.toml", 3), "no file none.toml"),
        (("check", "."), ". is a folder; give a file inside it"),
        (("check", "no/panel.toml"), "no file no/panel.toml: there is no folder no"),
        (("bounds", 10, 1), "1"),
        (("design",), "missing argument 'CLASSES'; see "),
        (("design", 10, 4, "--effort"), "option '--effort' requires an argument; see "),
        (("design", 10, 4, "--effort", "lots"), "'lots' is not one of fast, normal, max"),
        (("design", 10, 4, "--seed", -1), "the seed must be 0 or a positive integer, not -1"),
        (("design", 10, 4, "--sed", 1), "no option '--sed' (did you mean '--seed'?)"),
    ],
)
def test_a_mistake_is_one_line_and_status_two(covote, tmp_path, arguments, words):
    ran = covote(*arguments)
    assert ran.status == 2
    assert words in ran.err
    assert len(ran.err.strip().splitlines()) == 1
    assert "Traceback" not in ran.err
    assert list(tmp_path.iterdir()) == []


def test_long_class_names_have_numbers_and_a_legend(covote, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    birds = ["Certhia familiaris", "Erithacus rubecula", "Sitta europaea", "Corvus corax"]
    Path("birds.txt").write_text("\n".join(birds))
    lines = covote("design", "birds.txt", 3, "-o", "panel.toml").out.splitlines()
    assert "            0 1 2 3" in lines
    assert "  0 Certhia familiaris, 1 Erithacus rubecula, 2 Sitta europaea, 3 Corvus corax" in lines
    again = covote("design", "panel.toml", 3).out.splitlines()  # the classes of a panel
    assert again[:8] == lines[:8]


def test_letters_that_a_picture_lacks_are_told_in_a_line(covote):
    Path("birds.txt").write_text("日本\n鳥\nx\n", encoding="utf-8")
    ran = covote("design", "birds.txt", 2, "--plot", "panel.png")
    assert ran.status == 0
    assert "Warning: panel.png shows boxes for characters that matplotlib's font lacks; use .svg" in ran.err
    assert ran.err.count("Warning") == 1
    ran = covote("design", "birds.txt", 2, "--plot", "panel.svg")
    assert (ran.status, ran.err.count("Warning")) == (0, 0)
    assert "日本" in Path("panel.svg").read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_is_refused_before_any_work(covote, monkeypatch):
    monkeypatch.setattr(
        sys.modules["covote.covers"], "design", lambda *_, **__: pytest.fail("worked for nothing")
    )
    ran = covote("design", 30, 7, "-o", "no/such/folder/panel.toml")
    assert (ran.status, ran.out) == (2, "")
    ran = covote("design", 30, 7, "--model", "chatt:http://localhost:8080/v1")
    assert (ran.status, ran.out) == (2, "")
    assert "chatt" in ran.err


def test_designing_starts_without_libraries_that_it_does_not_use():
    unused = ("numba", "scipy", "pandas", "pyarrow", "sklearn", "matplotlib", "covote.models")
    code = f"""
import sys
from covote.cli.app import app
app(["design", "10", "4"], standalone_mode=False)
print([name for name in {unused} if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ran.stdout.splitlines()[-1:] == ["[]"], ran.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("design", 10, 4, "--redundancy", "two"), "'two' is not a whole number"),
        (("bounds", "ten", 4), "'ten' is not a whole number"),
        (("bounds", 10, 4, "--error", "1%"), "'1%' is not a number"),
        (("simulate", "panel.toml", "--seed", 1.5), "'1.5' is not a whole number"),
    ],
)
def test_what_is_no_number_is_repeated(covote, arguments, words):
    ran = covote(*arguments)
    assert ran.status == 2
    assert words in ran.err


def test_a_negative_seed_is_refused(covote):
    for arguments in (("design", 40, 6), ("simulate", "panel.toml")):
        ran = covote(*arguments, "--seed", -1)
        assert ran.status == 2
        assert "--seed" in ran.err
    with pytest.raises(InputError, match="seed must be at least 0, not -1"):
        design(10, 4, method="random", seed=-1)


def test_one_expert_and_none_are_spoken_of_as_such(covote):
    ran = covote("design", 2, 2, "-o", "one.toml")
    assert "1 expert who knows 2 of 2 classes covers the only pair." in ran.out
    assert "Losing 'expert-1' leaves 1 pair uncovered" in ran.out
    Panel.from_blocks(["a", "b", "c"], []).save("none.toml")
    ran = covote("check", "none.toml")
    assert ran.out.startswith("No experts yet for 3 classes.")
    assert "Next: covote complete none.toml 2 -o complete.toml" in ran.out


def test_version_and_help(covote):
    assert covote("--version").out.startswith("covote ")
    assert "design" in covote("--help").out


def test_check_draws_the_graph_of_covered_pairs(covote, tmp_path):
    Panel.from_blocks(["a", "b", "c", "d"], ["abc", "cd"]).save(tmp_path / "panel.toml")
    ran = covote("check", "panel.toml", "--plot-pairs", "pairs.svg")
    assert "Wrote pairs.svg." in ran.out
    assert "4 pairs covered, 2 not (dashed)" in (tmp_path / "pairs.svg").read_text()


def test_the_worst_of_several_losses_is_told_with_the_number_of_all_experts(covote):
    panel = design(37, 7)
    worst = [pairs for _, pairs in panel.survives().critical]
    most = worst.count(worst[0])
    assert 3 < most < len(panel)
    told = covote("design", 37, 7).out
    assert f"Losing any of {most} of the {len(panel)} experts leaves {worst[0]} pairs uncovered" in told


def test_check_lists_the_single_points_of_failure(covote, tmp_path):
    panel = Panel.from_blocks(["a", "b", "c"], ["abc", "ab"], ["ann", "bob"])
    panel.save(tmp_path / "panel.toml")
    told = covote("check", "panel.toml").out
    assert "Losing 'ann' leaves 2 pairs uncovered" in told
    Panel.from_blocks(["a", "b", "c"], ["ab", "ac", "bc", "bc"], ["ann", "bob", "cy", "dee"]).save("two.toml")
    assert "Losing 'ann' or 'bob' leaves 1 pair uncovered" in covote("check", "two.toml").out
    (panel + Panel.from_blocks(["b", "c"], ["bc"], ["eve"])).save(tmp_path / "three.toml")
    data = json.loads(covote("check", "three.toml", "--json").out)
    # Without ann, a and c look alike: one of the three classes may be lost, two of three items are right.
    (lost,) = data["single_points_of_failure"]
    assert (lost["expert"], lost["pairs"]) == ("ann", 1)
    assert lost["worst_case_accuracy"] == pytest.approx(2 / 3)
    Panel.from_blocks(["a", "b", "c", "d"], ["abc", "cd"], ["ann", "bob"]).save(tmp_path / "gaps.toml")
    told = covote("check", "gaps.toml").out.split("If one expert is away:\n")[1].splitlines()
    assert told[0].split("  ")[1:2] == ["away"]
    assert [line.split() for line in told[1:3]] == [["ann", "3", "50%"], ["bob", "1", "75%"]]


def test_with_many_classes_check_says_which_are_covered_worst(covote, tmp_path):
    knows = np.zeros((4, 30), dtype=bool)
    for i in range(4):
        knows[i, 7 * i : 7 * i + 9] = True
    knows[:, 29] = False
    knows[0, 29] = True
    Panel([f"species {k}" for k in range(30)], knows).save(tmp_path / "panel.toml")
    told = covote("check", "panel.toml", "--plot-pairs", "pairs.svg")
    table = told.out.split("Classes that are covered worst:\n")[1].splitlines()
    assert table[0].split() == ["class", "experts", "pairs", "not", "covered", "with"]
    counts = Panel.load(tmp_path / "panel.toml").pair_counts()
    missing = (counts == 0).sum(axis=1) - (counts.diagonal() == 0)
    name, *_, pairs, _ = re.split(r"\s{2,}", table[1].strip())
    assert int(pairs) == missing.max()
    first = int(name.split()[1])
    assert missing[first] == missing.max()
    same = (knows[:, first] == Panel.load(tmp_path / "panel.toml").knows.T).all(axis=1).sum()
    assert name == f"species {first} and {same - 1} more"  # those that the same experts know
    assert "more class" not in told.out
    assert (
        "species 29</text>" in Path("pairs.svg").read_text() or "species 29" in Path("pairs.svg").read_text()
    )
    assert "(red)" in Path("pairs.svg").read_text()


def test_checked_answers_show_which_uncovered_pairs_are_confused(covote, tmp_path):
    Panel.from_blocks(["cat", "dog", "fox"], [["cat", "dog"], ["dog", "fox"]], ["ann", "bob"]).save("p.toml")
    Path("votes.csv").write_text("item,ann,bob\n1,cat,fox\n2,cat,fox\n3,dog,dog\n4,cat,dog\n")
    told = covote("check", "p.toml", "votes.csv").out
    table = told.split("No expert knows both of these classes, and some items were given both answers:\n")[1]
    assert [line.split() for line in table.splitlines()[:2]] == [
        ["class", "and", "items"],
        ["cat", "fox", "2"],
    ]
    Path("fine.csv").write_text("item,ann,bob\n1,dog,dog\n")
    assert "No expert knows both" not in covote("check", "p.toml", "fine.csv").out


def test_new_experts_are_marked_in_the_picture(covote, tmp_path):
    Panel.from_blocks(4, [[0, 1], [2, 3]]).save(tmp_path / "p.toml")
    assert covote("complete", "p.toml", 2, "--plot", "new.svg").status == 0
    assert "4 new: red" in Path("new.svg").read_text()
    axes = Panel.from_blocks(4, [[0, 1], [2, 3]]).plot(new=1)
    assert axes.images[0].get_array().tolist() == [[1, 1, 0, 0], [0, 0, 2, 2]]


def test_select_reads_accuracies_and_priors_from_tables(covote, tmp_path):
    pool = Panel.from_blocks(list("abc"), ["ab", "ab", "bc"], ["ann", "bob", "eve"], cost=[1, 1, 1])
    pool.save(tmp_path / "pool.toml")
    (tmp_path / "right.csv").write_text("expert,accuracy\nann,0.6\nBob,0.95\neve,0.9\n")
    (tmp_path / "often.csv").write_text("a,50\nb,45\nc,5\n")
    (tmp_path / "rare.csv").write_text("a,0.02\nb,0.49\nc,0.49\n")
    for priors, chosen in (("often.csv", "bob"), ("rare.csv", "eve")):
        ran = covote(
            "select", "pool.toml", "--budget", 1, "--accuracy", "right.csv", "--prior", priors, "--json"
        )
        assert [expert["name"] for expert in json.loads(ran.out)["experts"]] == [chosen], ran.err
    for name, text, words in (
        ("right.csv", "ann,0.6\nbob,0.9\n", "no accuracy for eve"),
        ("right.csv", "ann,0.6\nbob,high\n", "row 2: accuracy 'high' is not a number"),
        ("right.csv", "ann,0.6\nbib,0.9\neve,1\n", "row 2: 'bib' is not in the panel"),
        ("right.csv", "ann,0.6\nbob,1.5\neve,1\n", "accuracy 1.5 of expert 'bob'"),
        ("often.csv", "a,1\nb,-1\nc,1\n", "prior -1.0 of class 'b'"),
    ):
        before = (tmp_path / name).read_text()
        (tmp_path / name).write_text(text)
        ran = covote("select", "pool.toml", "--budget", 1, "--accuracy", "right.csv", "--prior", "often.csv")
        assert ran.status == 2
        assert words in ran.err
        assert len(ran.err.strip().splitlines()) == 1
        (tmp_path / name).write_text(before)


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("covote decode v.csv --method a", {"authority", "auto"}),
        ("covote design 7 3 --effort ", {"fast", "normal", "max"}),
        ("covote label d.npy --ask d", {"doubtful"}),
        ("covote simulate p.toml --noise s", {"similar"}),
    ],
)
def test_values_complete_in_the_shell(words, completed):
    place = str(len(words.split(" ")) - 1)
    ran = subprocess.run(
        [sys.executable, "-c", "import sys; sys.argv[0] = 'covote'; from covote.cli import main; main()"],
        env={**os.environ, "_COVOTE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert set(ran.stdout.split()) == completed


@pytest.mark.parametrize("command", [(), ("decode",), ("label",)])
def test_flags_have_no_type_in_the_help(covote, command):
    assert "<bool>" not in covote(*command, "--help").out


def test_help_groups_the_commands_and_gives_each_one_line(covote, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = covote("--help").out.splitlines()
    assert [line.split("─")[1].strip() for line in lines if "─ " in line] == ["Options", *PANELS]
    rows = [line.strip("│ ") for line in lines if line.startswith("│") and "--" not in line]
    assert [row.split()[0] for row in rows if row.split()[0] in COMMANDS] == list(COMMANDS)
    assert all(len(row.split(maxsplit=1)[1]) <= 60 for row in rows if row.split()[0] in COMMANDS)
    assert "130" in covote("--help").out
    assert "Exit status" in covote("check", "--help").out


def test_complete_marks_fillers_and_prices_new_experts(covote, tmp_path):
    Panel.from_blocks(6, [[0, 1, 2, 3], [2, 3, 4, 5]], cost=[30, 50]).save(tmp_path / "pool.toml")
    ran = covote("complete", "pool.toml", 5)
    assert "new-1: 0, 1, (3), 4, 5" in ran.out
    assert "Classes in brackets are optional." in ran.out
    assert "A new expert is priced at 40, the mean of the others; --new-cost changes it." in ran.out
    data = json.loads(covote("complete", "pool.toml", 5, "--new-cost", 70, "--json").out)
    assert data["experts"][-1]["cost"] == 70
    assert data["fillers"]["new-1"]


def test_pictures_do_not_obey_settings_of_the_working_folder(covote, tmp_path):
    Path("classes.txt").write_text("$\\frac$\n$x$\n$5\ncat\n")
    Path("votes.csv").write_text("item,ann,bob\n1,cat,$x$\n2,cat,cat\n3,$x$,$x$\n")

    def pictures():
        for more in (("design", "classes.txt", 2, "-o", "panel.toml", "--plot", "panel.svg"),
                     ("check", "panel.toml", "--plot-pairs", "pairs.svg"),
                     ("bounds", 10, 4, "--plot", "bounds.svg"),
                     ("decode", "votes.csv", "--panel", "all", "-o", "labels.csv", "--report", "report.html"),
                     ):  # fmt: skip
            command = [sys.executable, "-m", "covote", *map(str, more)]
            ran = subprocess.run(command, capture_output=True, text=True, check=False)
            assert (ran.returncode, "matplotlibrc" in ran.stderr) == (0, False), ran.stderr
        names = ("panel.svg", "pairs.svg", "bounds.svg", "report.html")
        return [re.sub("<dc:date>.*", "", Path(name).read_text(encoding="utf-8")) for name in names]

    before = pictures()
    assert all(">$\\frac$<" in picture for picture in before[:2])
    Path("matplotlibrc").write_text(
        "text.usetex: True\nfont.size: 40\nfigure.facecolor: red\naxes.grid: True\n"
    )
    assert pictures() == before


def test_the_help_ends_with_options_that_no_tutorial_uses(covote):
    pages = [ROOT / "docs" / f"{name}.md" for name in ("tutorial", "models-tutorial", "hospitals")]
    commands = re.findall(
        r"covote [a-z].*", "".join(page.read_text() for page in [*pages, ROOT / "README.md"])
    )
    assert not [option for option in ADVANCED if any(option in line.split() for line in commands)]
    text = covote("decode", "--help").out
    boxes = re.findall(r"\u256d\u2500 (.*?) \u2500", text)
    assert (boxes[:2], boxes[-1]) == (["Arguments", "Options"], "Advanced")
    assert text.index("--gold") < text.index("Advanced") < text.index("--odds")


def test_the_demo_leaves_labels_and_a_report_that_its_command_makes_again(covote, tmp_path):
    ran = covote("demo")
    assert {path.name for path in (tmp_path / "demo").iterdir()} == {
        "panel.toml", "answers.csv", "gold.csv", "labels.csv", "report.html",
    }  # fmt: skip
    (command,) = (line for line in ran.out.splitlines() if line.startswith("covote decode"))
    labels = (tmp_path / "demo" / "labels.csv").read_text()
    (tmp_path / "demo" / "labels.csv").unlink()
    assert covote(*command.split()[1:]).status == 0
    assert (tmp_path / "demo" / "labels.csv").read_text() == labels


def test_a_comparison_is_drawn_under_its_finding(covote, tmp_path):
    (tmp_path / "answers.csv").write_text(
        "item,ann,bob\n" + "".join(f"{n},a,{'ab'[n % 2]}\n" for n in range(20))
    )
    (tmp_path / "gold.csv").write_text("item,label\n" + "".join(f"{n},a\n" for n in range(20)))
    ran = covote("compare", "answers.csv", "--gold", "gold.csv", "--plot", "methods.svg")
    assert "Wrote methods.svg." in ran.out
    assert (
        "No method is significantly better than learned on 20 gold items"
        in (tmp_path / "methods.svg").read_text()
    )


def test_the_completed_panel_is_shown_without_those_who_left(covote):
    Path("panel.csv").write_text("doctor,skin,eye,ear,left\nAnn,x,x,,\nBob,,x,x,\nCy,x,,x,2024\n")
    told = covote("complete", "panel.csv", 2, "-o", "new.xlsx", "--plot", "new.svg").out
    assert "new-1: skin, ear" in told
    assert "3 experts who each know 2 of 3 classes cover all 3 pairs." in told
    assert "Cy" not in told
    assert "cannot suffice" not in told  # that one is needed goes without saying
    assert Panel.load("new.xlsx").left.tolist() == [False, False, True, False]
    assert "1 new: red" in Path("new.svg").read_text()
