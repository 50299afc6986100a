"""The example shows what every page is for."""

import time

import pytest

from covote_studio.context import open_studio
from covote_studio.demo import DECIDED, fill
from covote_studio.storage.schema import answer
from studio.tests.unit.conftest import Rig


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    studio = open_studio(tmp_path_factory.mktemp("demo") / "project")
    fill(studio)
    yield Rig(studio)
    studio.stop()


def test_the_example_has_a_tie_a_conflict_a_weak_expert_an_absence_and_a_decision(demo):
    rows = demo.rows(answer)
    assert len(rows) == 300
    assert max(row.at for row in rows) < time.time()
    results, _ = demo.studio.results.get()
    counts = results.labels.count()
    assert min(counts[one] for one in ("agreed", "tied", "conflict")) > 0
    assert counts["agreed"] > 40
    assert [(one.expert, one.name) for one in results.doubtful_claims] == [("Emil", "pear")]
    assert [one.name for one in results.roster.members if not one.active] == ["Farid"]
    owner = demo.browser("owner")
    assert DECIDED in owner.get("/export/everything.csv").text
    suggested = {(one.expert, one.name): one.suggestion for one in results.skills}
    assert suggested["Emil", "pear"] == "untick"
    assert suggested["Ada", "pear"] == "keep"
    assert "Flagged 1" in owner.get("/review", headers={"Accept": "text/html"}).text


def test_progress_begins_with_one_sentence(demo):
    text = demo.browser("owner").get("/progress", headers={"Accept": "text/html"}).text
    assert "of 60 items are settled." in text
    assert "answers can still come, from " in text
    assert "the last one is due on " in text


def test_filling_again_changes_nothing(demo):
    before = demo.rows(answer)
    fill(demo.studio)
    assert demo.rows(answer) == before
