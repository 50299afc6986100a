"""`covote simulate` as a person types it."""

import json
from pathlib import Path

import pytest


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


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("nothing.toml",), "nothing.toml"),
        (("panel.toml", "--method", "authority,guess"), "guess"),
        (("panel.toml", "--items", "0"), "0"),
        (("panel.toml", "--noise", "loud"), "loud"),
        (("panel.toml", "--accuracy", "2"), "accuracy is 2"),
        (("panel.toml", "--plot", "curve.doc"), ".png"),
    ],
)
def test_mistakes(covote, arguments, words):
    assert covote("design", 7, 3, "-o", "panel.toml").status == 0
    ran = covote("simulate", *arguments)
    assert ran.status == 2
    assert words in ran.err
