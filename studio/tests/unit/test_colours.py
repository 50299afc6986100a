"""The screens have the colours of the library's pictures and reports."""

import re
from importlib.resources import files

import pytest

from covote.colours import DARK, LIGHT

NAMES = {
    "paper": "page", "card": "card", "ink": "ink", "quiet": "soft", "line": "line", "soft": "faint",
    "accent": "main", "good": "agreed", "warn": "tied", "bad": "conflict", "incomplete": "incomplete",
    "given": "given",
}  # fmt: skip


def blocks():
    style = (files("covote_studio") / "static" / "studio.css").read_text()
    light, dark = style.split("prefers-color-scheme: dark", 1)
    return [(light, LIGHT), (dark, DARK)]


@pytest.mark.parametrize(("style", "colours"), blocks(), ids=["light", "dark"])
def test_the_style_sheet_has_the_colours_of_the_library(style, colours):
    found = {}
    for name, value in re.findall(r"--([a-z-]+): (#[0-9a-f]{6})", style):
        found.setdefault(name, value)
    assert {name: found[name] for name in NAMES} == {name: colours[ours] for name, ours in NAMES.items()}


def luminance(colour):
    channels = (int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5))
    linear = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["ink", "soft", "main", "agreed", "tied", "conflict", "incomplete", "given"])
def test_words_in_these_colours_can_be_read(colours, name):
    for below in ("card", "page"):
        lighter, darker = sorted((luminance(colours[name]), luminance(colours[below])), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5
