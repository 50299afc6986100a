"""`covote simulate` as a person types it."""

import json
from pathlib import Path

import pytest


def test_the_curve_is_printed_and_drawn(covote):
    ran = covote(
        "simulate", 8, 3, "--experts", "4,12", "--panels", 3, "--items", 50, "--picture", "curve.svg"
    )
    assert ran.status == 0, ran.err
    assert "8 classes, experts that know 3" in ran.out
    assert "Thm 5" in ran.out
    assert Path("curve.svg").read_text().count("<svg") == 1


def test_json_and_a_default_range(covote):
    data = json.loads(covote("simulate", 6, 3, "--panels", 2, "--items", 20, "--json").out)
    experts = [row["experts"] for row in data["curve"]]
    assert experts == sorted(experts)
    assert len(experts) >= 4
    assert all(row["low"] <= row["error"] <= row["high"] for row in data["curve"])


def test_no_bounds_for_another_model(covote):
    ran = covote("simulate", 6, 3, "--experts", "4:8:4", "--panels", 2, "--items", 20, "--noise", "similar")
    assert ran.status == 0
    assert "none are shown" in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((6, 7), "7"),
        ((6, 3, "--experts", "few"), "'few' is not understood"),
        ((6, 3, "--experts", "0"), "0"),
        ((6, 3, "--experts", "4", "--noise", "loud"), "loud"),
        ((6, 3, "--experts", "4", "--accuracy", "2"), "accuracy is 2"),
        ((6, 3, "--picture", "curve.doc"), ".png"),
    ],
)
def test_mistakes(covote, arguments, words):
    ran = covote("simulate", *arguments)
    assert ran.status == 2
    assert words in ran.err
