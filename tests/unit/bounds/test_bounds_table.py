"""The table of all bounds, as data and on the command line."""

import json

import pytest
import typer
from typer.testing import CliRunner

from covote.bounds import best_lower_bound, bound_table
from covote.cli.bounds import bounds
from covote.errors import InputError

app = typer.Typer()
app.command()(bounds)


@pytest.mark.parametrize(
    ("classes", "size"), [(2, 2), (3, 2), (10, 4), (10, 10), (100, 12), (10_000, 100), (9, 8)]
)
def test_for_each_goal_no_lower_bound_exceeds_an_upper_bound(classes, size):
    rows = bound_table(classes, size)
    for goal in {row.goal for row in rows}:
        lower = [row.value for row in rows if row.goal == goal and row.kind == "lower"]
        upper = [row.value for row in rows if row.goal == goal and row.kind == "upper"]
        assert max(lower) <= min(upper)


def test_the_table_shows_the_best_proved_bound():
    best, name = best_lower_bound(21, 6)
    assert (f"best proved: {name}", best) in [(row.name, row.value) for row in bound_table(21, 6)]


def test_json_is_the_same_table():
    result = CliRunner().invoke(app, ["100", "12", "--error", "0.02", "--json"])
    assert result.exit_code == 0
    rows = json.loads(result.stdout)
    assert [row["value"] for row in rows] == [row.value for row in bound_table(100, 12, error=0.02)]
    assert set(rows[0]) == {"name", "kind", "value", "goal", "needs", "source"}


def test_the_table_names_lower_and_upper_bounds():
    result = CliRunner().invoke(app, ["100", "12"])
    assert result.exit_code == 0
    assert "at least" in result.stdout
    assert "at most" in result.stdout
    assert "Schonheim" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "word"), [((10, 11), "11"), ((10, 4, 2.0), "error"), ((10, 4, 0.1, 0), "delta")]
)
def test_senseless_questions(arguments, word):
    with pytest.raises(InputError, match=word):
        bound_table(*arguments)
