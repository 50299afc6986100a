"""A project that changes all the time says what a plain model of it says."""

import pytest

from covote_studio.context import open_studio
from studio.tests.unit.edits_model import run


@pytest.mark.parametrize("seed", range(3))
def test_random_edits_between_answers_give_the_labels_history_and_exports_of_the_model(tmp_path, seed):
    studio = open_studio(tmp_path / "project")
    edited = run(studio, tmp_path, seed, 120)
    assert len(edited.model.answers) > 60
    assert edited.late > 10  # answers of pages that showed other classes
    assert edited.asked_again > 0
    studio.stop()
