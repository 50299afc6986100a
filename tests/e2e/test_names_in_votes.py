"""Commands that read votes understand names as people write them, or a table that says what they mean."""

import json

import pytest

PANEL = """
classes = ["skin", "eye", "ear"]
[[experts]]
name = "ann"
knows = ["skin", "eye"]
[[experts]]
name = "bob"
knows = ["eye", "ear"]
[[experts]]
name = "cy"
knows = ["skin", "ear"]
"""
VOTES = "item,expert,label\n" + "".join(
    f"i{n},Ann,SKIN\ni{n},bob,eye\ni{n},Cy,skin\n" if n % 2 else f"i{n},ANN,eye\ni{n},bob, Eye\ni{n},cy,ear\n"
    for n in range(12)
)
GOLD = "item,label\n" + "".join(f"i{n},{'skin' if n % 2 else 'eye'}\n" for n in range(12))
COMMANDS = [
    ["decode", "votes.csv", "--panel", "panel.toml"],
    ["check", "votes.csv", "--panel", "panel.toml"],
    ["check", "panel.toml", "votes.csv"],
    ["explain", "votes.csv", "i1", "--panel", "panel.toml"],
    ["compare", "votes.csv", "--panel", "panel.toml", "--gold", "gold.csv"],
    ["ask", "votes.csv", "--panel", "panel.toml"],
]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in (("panel.toml", PANEL), ("votes.csv", VOTES), ("gold.csv", GOLD)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda argv: argv[0])
def test_case_and_blanks_do_not_matter_unless_asked_for(covote, files, argv):
    ran = covote(*argv)
    assert ran.status == 0, ran.err
    ran = covote(*argv, "--match", "exact")
    assert ran.status == 2
    for name in ("Ann", "ANN", "Cy", "SKIN", "Eye"):
        assert name in ran.err + ran.out


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda argv: argv[0])
def test_a_table_says_what_other_names_mean(covote, files, argv):
    (files / "votes.csv").write_text(VOTES.replace("bob", "Dr. B"))
    ran = covote(*argv)
    assert ran.status == 2
    assert "Dr. B" in ran.err + ran.out
    (files / "names.csv").write_text("votes,panel\nDr. B,bob\n")
    ran = covote(*argv, "--rename", "names.csv")
    assert ran.status == 0, ran.err


def test_the_best_method_is_found_on_gold_items_and_a_sample(covote, files, monkeypatch):
    from covote.files import decoding_files

    whole = covote(
        "decode", "votes.csv", "--panel", "panel.toml", "--gold", "gold.csv", "--method", "auto", "--json"
    )
    compared = []
    compare = decoding_files.compare
    monkeypatch.setattr(
        decoding_files, "compare", lambda votes, gold: compared.append(len(votes)) or compare(votes, gold)
    )
    monkeypatch.setattr(decoding_files, "_COMPARED", 0)
    (files / "gold.csv").write_text("\n".join(GOLD.splitlines()[:9]))
    some = covote(
        "decode", "votes.csv", "--panel", "panel.toml", "--gold", "gold.csv", "--method", "auto", "--json"
    )
    assert compared == [8]
    assert json.loads(some.out)["items"] == json.loads(whole.out)["items"] == 12


def test_without_a_panel_names_that_differ_only_in_case_are_pointed_out(covote, files):
    first = covote("decode", "votes.csv").out.splitlines()[0]
    assert "'ANN' and 'Ann' differ only in case, blanks or accents: see --rename" in first


def test_a_file_of_votes_is_not_mistaken_for_a_panel(covote, files):
    for argv in (["check", "votes.csv"], ["decode", "votes.csv", "--panel", "votes.csv"]):
        ran = covote(*argv)
        assert ran.status == 2
        assert (
            "votes.csv: these are answers (item, expert, label), and a panel says who knows what" in ran.err
        )


def test_votes_in_which_nothing_is_wrong_lead_to_the_next_command(covote, files):
    ran = covote("check", "votes.csv", "--panel", "panel.toml")
    assert ran.out.endswith(
        "No problems found.\nNext: covote decode votes.csv --panel panel.toml -o labels.csv\n"
    )


def test_a_table_of_names_is_written_with_suggestions(covote, files):
    (files / "votes.csv").write_text(VOTES.replace("bob", "bobb") + "i99,who,skin\ni99,ann,skinn\n")
    ran = covote("check", "panel.toml", "votes.csv", "--fix", "names.csv")
    assert ran.status == 2
    assert (
        "fill in the second column (leave it empty to ignore the name), then add --rename names.csv"
        in ran.out
    )
    rows = (files / "names.csv").read_text().splitlines()
    assert rows == ["answers,panel", "bobb,?", "who,?", "skinn,skin"]
    ran = covote("check", "panel.toml", "votes.csv", "--rename", "names.csv")
    assert ran.status == 2
    assert "'?' (for 'bobb'), '?' (for 'who')" in ran.out
    (files / "names.csv").write_text("votes,panel\nbobb,bob\nwho,\nskinn,skin\n")
    assert covote("check", "panel.toml", "votes.csv", "--rename", "names.csv").status == 0
    assert covote("decode", "votes.csv", "--panel", "panel.toml", "--rename", "names.csv").status == 0
    assert covote("check", "panel.toml", "--fix", "names.csv").status == 2


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda argv: argv[0])
def test_words_for_no_answer_are_no_votes(covote, files, argv):
    """Usual words go without saying; others are said with --blank."""
    (files / "votes.csv").write_text(
        VOTES + "i1,bob,?\n".replace("i1,bob", "i90,bob") + "i91,cy,k.A.\ni92,ann,N/A\n"
    )
    ran = covote(*argv)
    assert ran.status == 0, ran.err + ran.out
    (files / "votes.csv").write_text(VOTES + "i90,bob,pass\n")
    assert covote(*argv).status == 2
    ran = covote(*argv, "--blank", "pass")
    assert ran.status == 0, ran.err + ran.out


def test_an_expert_who_loses_every_answer_comes_first(covote, files):
    (files / "votes.csv").write_text(
        "item,expert,label\n" + "".join(f"i{n},ann,skin\ni{n},cy,eye\n" for n in range(9))
    )
    ran = covote("decode", "votes.csv", "--panel", "panel.toml", "--unknown", "drop")
    first, *others = ran.out.splitlines()
    assert "cy" in first
    assert any("9 of 18 answers were dropped" in line for line in others)


@pytest.mark.parametrize(
    ("votes", "written"),
    [(VOTES.replace("bob", "bobb"), True), (VOTES, False), ("item,expert,label\ni1,ann,ear\n", False)],
    ids=["unknown name", "nothing wrong", "outside what they know"],
)
@pytest.mark.parametrize("more", [(), ("--unknown", "drop")], ids=["", "drop"])
def test_check_says_that_it_wrote_names_exactly_if_it_did(covote, files, votes, written, more):
    (files / "votes.csv").write_text(votes)
    ran = covote("check", "panel.toml", "votes.csv", "--fix", "names.csv", *more)
    assert ("Wrote names.csv" in ran.out, (files / "names.csv").exists()) == (written, written)


@pytest.mark.parametrize("argv", COMMANDS[3:], ids=lambda argv: argv[0])
@pytest.mark.parametrize("word", ["all", "infer"])
def test_the_answers_can_say_who_knows_what(covote, files, argv, word):
    ran = covote(*(word if part == "panel.toml" else part for part in argv))
    assert ran.status == 0, ran.err
