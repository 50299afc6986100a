"""The colours of all pictures and pages; the style sheet of the studio has the same.

On a card or a page, each colour of a status can be read as text (WCAG 2.2, 1.4.3: a contrast of 4.5).
"""

LIGHT = {
    "page": "#fbfaf8", "card": "#ffffff", "ink": "#1d2126", "soft": "#5b6470", "line": "#dcd9d3",
    "faint": "#e8f0f6", "main": "#1f6f8b", "agreed": "#24703f", "tied": "#8a5300", "conflict": "#a52a20",
    "incomplete": "#6b7480", "given": "#4b6cb7", "paper": "#b8b8b8", "second": "#b5532a",
    "third": "#5b7f3a", "fourth": "#7a4f9a",
}  # fmt: skip
"""Colours by name; all differ, because a page finds them in a picture by value."""
DARK = {
    "page": "#15181c", "card": "#1e2227", "ink": "#eceae6", "soft": "#a7afb9", "line": "#383e46",
    "faint": "#22303b", "main": "#58b2cf", "agreed": "#84cf9c", "tied": "#f0be72", "conflict": "#f2998f",
    "incomplete": "#8b95a1", "given": "#8aa4e0", "paper": "#7d868c", "second": "#e0875f",
    "third": "#93bd6c", "fourth": "#b890da",
}  # fmt: skip
"""The same for people who prefer a dark screen."""
SERIES = tuple(LIGHT[name] for name in ("paper", "main", "second", "third", "fourth"))
"""The colours of several series in one picture."""
