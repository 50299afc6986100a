"""`covote simulate` as a person types it."""

import json
from pathlib import Path

import pytest


def test_the_curve_is_printed_and_drawn(covote):
    ran = covote("simulate", 8, 3, "--experts", "4,12", "--panels", 3, "--items", 50, "--plot", "curve.svg")
    assert ran.status == 0, ran.err
    assert "8 classes, experts who know 3" in ran.out
    assert "Thm 5" in ran.out
    assert Path("curve.svg").read_text().count("<svg") == 1


def test_json_and_a_default_range(covote):
    data = json.loads(covote("simulate", 6, 3, "--panels", 2, "--items", 20, "--json").out)
    experts = [row["experts"] for row in data["curve"]]
    assert experts == sorted(experts)
    assert len(experts) >= 4
    assert all(row["low"] <= row["error"] <= row["high"] for row in data["curve"])


def test_methods_are_compared_on_ones_own_panel(covote):
    assert covote("design", 7, 3, "-o", "panel.toml").status == 0
    argv = ("simulate", "panel.toml", "--method", "authority,em", "--items", 400)
    ran = covote(*argv, "--plot", "methods.svg")
    assert ran.status == 0, ran.err
    assert ran.out.splitlines()[2].split() == ["accuracy", "authority", "em"]
    assert all(f">{name}<" in Path("methods.svg").read_text() for name in ("authority", "em"))
    curve = json.loads(covote(*argv, "--json").out)["curve"]
    errors = [row["authority"]["error"] for row in curve]
    assert errors[-1] == 0  # perfect experts that cover every pair
    assert errors[0] > 0.5 > errors[-2]
    assert all(row["em"]["low"] <= row["em"]["error"] <= row["em"]["high"] for row in curve)
    one = json.loads(covote(*argv, "--accuracy", 0.8, "--json").out)["curve"]
    assert [row["accuracy"] for row in one] == [0.8]


def test_several_methods_of_random_panels_in_one_picture(covote):
    argv = ("simulate", 6, 3, "--experts", "4,8", "--panels", 3, "--items", 50)
    ran = covote(*argv, "--method", "authority,likelihood", "--plot", "curves.svg")
    assert ran.status == 0, ran.err
    assert "Decoded by authority:" in ran.out
    drawn = Path("curves.svg").read_text()
    assert all(drawn.count(f">{name}<") == 1 for name in ("authority", "likelihood"))
    assert "measured" not in drawn
    both = json.loads(covote(*argv, "--method", "authority,likelihood", "--json").out)["curves"]
    assert both["likelihood"] == json.loads(covote(*argv, "--json").out)["curve"]


def test_no_bounds_for_another_model(covote):
    ran = covote("simulate", 6, 3, "--experts", "4:8:4", "--panels", 2, "--items", 20, "--noise", "similar")
    assert ran.status == 0
    assert "none are shown" in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((6, 7), "7"),
        ((6,), "how many of the 6 classes does one expert know"),
        (("many", 3), "neither a number of classes nor a panel file"),
        ((6, 3, "--method", "authority,guess"), "guess"),
        ((6, 3, "--experts", "few"), "cannot parse --experts 'few'"),
        ((6, 3, "--experts", "0"), "0"),
        ((6, 3, "--experts", "4", "--noise", "loud"), "loud"),
        ((6, 3, "--experts", "4", "--accuracy", "2"), "accuracy is 2"),
        ((6, 3, "--plot", "curve.doc"), ".png"),
    ],
)
def test_mistakes(covote, arguments, words):
    ran = covote("simulate", *arguments)
    assert ran.status == 2
    assert words in ran.err
