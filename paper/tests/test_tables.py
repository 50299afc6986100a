"""The tables: what they compute, on a made-up set of images; and the run as a whole."""

import json

import numpy as np
import pytest
import torch

from covote import Panel, Votes
from covote.errors import DataError, FileError, InputError, MissingDependencyError
from paper import paper_values
from paper.datasets import DataSource, ImageSet, Predictions
from paper.experiment import (
    DEFAULT,
    PAPER,
    SIZES,
    TRAINERS,
    Context,
    decoded,
    paper_panel,
    paper_subsets,
    subsets_of,
)
from paper.reproduce import reproduce
from paper.sections import Measured
from paper.tables import TABLES, Experiment, missing, random
from paper.tables.beyond import (
    asking_grid,
    covers_grid,
    cut_votes,
    findings,
    likeness,
    lines,
    mixed_grid,
    panels,
)
from paper.tables.greedy_covers import compare_sizes
from paper.tables.greedy_covers import findings as findings_of_covers
from paper.trainers.neural import NeuralTrainer, Recipe
from paper.trainers.patches import PatchFeatures
from paper.trainers.ridge import PatchRidge

from .made_up import bars


def tiny(seed=0):
    return PatchRidge(PatchFeatures(side=4, filters=12, cells=3, sample=300, mirrored=False), 1e-2, 8.0, seed)


@pytest.fixture
def context(tmp_path, monkeypatch):
    monkeypatch.setitem(
        TRAINERS, "quick", dict.fromkeys(("mnist", "fashion", "cifar10", "cifar10-few"), tiny)
    )
    images = {
        name: bars(600, 100, seed=n, noise=90, name=name) for n, name in enumerate(("mnist", "cifar10"))
    }
    return Context(DataSource(tmp_path / "nothing"), tmp_path / "out", _images=images)


def test_the_greedy_covers_are_the_papers():
    assert {size: len(paper_panel(size)) for size in SIZES} == paper_values.GREEDY_SIZES
    assert len(set(paper_subsets())) == 62
    assert all(paper_panel(size).covers() for size in SIZES)


def test_ties_count_what_a_fair_draw_would_give():
    panel = Panel(3, [[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    votes = Votes.from_dense([[0, 1, 2], [0, 1, 0], [1, 1, 2]], panel)
    truth = np.array([2, 0, 0])
    assert decoded(votes, truth, method="authority") == pytest.approx((1 / 3 + 1 + 0) / 3)


def test_every_removal_is_tried_once_and_samples_repeat():
    panel = subsets_of(paper_panel(6))
    assert len(missing.removals(panel, 1, None, 0)) == 5
    pairs = missing.removals(panel, 2, None, 0)
    assert len({tuple(rest) for rest in pairs}) == 10
    assert all(len(rest) == 3 for rest in pairs)
    some = missing.removals(panel, 2, 4, 1)
    assert some == missing.removals(panel, 2, 4, 1)
    assert len(some) == 4
    assert all(rest in pairs for rest in some)


def test_losing_experts_costs_the_papers_vote_more_than_the_default(context):
    experts = context.experts("cifar10", paper_subsets())
    lost = {
        method: missing.measure(context, experts, 6, 0, "test", method).accuracy
        - missing.measure(context, experts, 6, 2, "test", method).accuracy
        for method in (PAPER, DEFAULT)
    }
    assert lost[PAPER] > lost[DEFAULT] + 1


def test_random_panels_are_different_experts_and_differ_between_draws():
    for size in random.SIZES:
        panels = random.draws(size, "quick", 0)
        assert len(panels) == random.DRAWS["quick"]
        assert all(len(set(panel)) == len(panel) == paper_values.GREEDY_SIZES[size] + 3 for panel in panels)
        assert len({tuple(panel) for panel in panels}) == len(panels)
    assert random.interval([5.0]) == 0


def test_every_class_is_equally_likely_in_random_panels():
    counts = np.zeros(10)
    for seed in range(40):
        for panel in random.draws(4, "quick", seed):
            for subset in panel:
                counts[list(subset)] += 1
    expected = counts.sum() / 10
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_cut_networks_answer_only_what_they_know_and_are_right_where_the_network_is():
    rng = np.random.default_rng(0)
    best = np.stack([[rng.permutation(6)[:5] for _ in range(2)] for _ in range(40)]).astype(np.uint16)
    stored = Predictions(("a", "b"), best, rng.integers(0, 6, 40), 6)
    rows = np.arange(40)
    panel = Panel(6, [[1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0]])
    votes = cut_votes(stored, panel, rows, likeness(stored, rows))
    Votes.from_dense(votes, panel)  # raises if an expert answered what it does not know
    for n in rows:
        for i in range(3):
            known = [k for k in best[n, i % 2] if panel.knows[i, k]]
            assert not known or votes[n, i] == known[0]


def test_every_decoder_is_in_the_table():
    from covote.decoding import DECODERS

    assert {method for _, method, _, _ in lines()} == set(DECODERS)


def test_a_run_writes_pages_and_the_next_one_trains_nothing(context, monkeypatch):
    report = reproduce(context, ["mnist", "random"])
    assert [section.name for section in report.sections] == ["mnist", "random"]
    markdown, facts = (path.read_text() for path in report.files)
    assert "Surrogate" in markdown
    assert "98.98" in markdown
    assert markdown.count(".svg)") == 2
    stored = json.loads(facts)
    test = stored["sections"][0]["grids"][0]["rows"]["test, paper's vote"]
    assert [cell["paper"] for cell in test] == list(paper_values.MNIST["test"].values())
    assert all(20 < cell["ours"] <= 100 for cell in test)

    def refuse(*_):
        raise AssertionError("trained again")

    monkeypatch.setattr(PatchRidge, "train", refuse)
    again = reproduce(context, ["mnist", "random"])
    assert again.sections[0].grids == report.sections[0].grids
    assert again.sections[1].grids == report.sections[1].grids
    assert again.sections[1].seconds == pytest.approx(report.sections[1].seconds)


def test_a_table_that_lacks_its_data_is_left_out_and_the_others_run(context):
    del context._images["cifar10"]
    report = reproduce(context, ["mnist", "cifar10"])
    assert [section.name for section in report.sections] == ["mnist"]
    assert "is missing: expected at" in report.left_out["cifar10"]
    assert "Not run" in report.files[0].read_text()


def test_pages_show_what_earlier_runs_finished(context, monkeypatch):
    first = reproduce(context, ["mnist"])
    both = reproduce(context, ["cifar10"])
    assert [section.name for section in both.sections] == ["mnist", "cifar10"]
    assert both.fresh == ("cifar10",)
    assert both.sections[0] == first.sections[0]
    assert both.files[0].read_text().count(".svg)") == 2
    # What cannot run now stays as it was.
    monkeypatch.setitem(TABLES, "mnist", Experiment("Table I", lacking))
    again = reproduce(context, ["mnist"])
    assert again.sections == both.sections
    assert (again.fresh, list(again.left_out)) == ((), ["mnist"])
    context.seed = 1
    assert [section.name for section in reproduce(context, ["cifar10"]).sections] == ["cifar10"]


def test_images_networks_and_sizes_of_your_own_are_arguments(tmp_path):
    data, told = six_bars(), []
    trainer = NeuralTrainer("dense", Recipe(dense, batch=8, rate=0.1, epochs=2), True, workers=1)
    section = compare_sizes(data, trainer, (3, 4), tmp_path, lambda *a: told.append(a))
    (grid,) = [grid for grid in section.grids if "accuracy in percent" in grid.title]
    assert grid.columns == ("R = 3", "R = 4", "R = 6, centralised")
    assert all(cell.ours is not None and cell.paper is None for _, row in grid.rows for cell in row)
    experts = 1 + len(paper_panel(3, 6)) + len(paper_panel(4, 6))
    assert len(list(tmp_path.rglob("*.parquet"))) == experts
    assert "dense" in next(tmp_path.rglob("about.json")).read_text()
    (curve,) = [grid for grid in section.grids if "CPU time" in grid.title]
    assert curve.columns == ("epoch 1", "epoch 2")


def dense(channels, side, classes):
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(channels * side * side, classes))


def six_bars():
    data = bars(train=120, test=60, noise=30, name="mine")
    train, test = data.train_y < 6, data.test_y < 6
    return ImageSet(
        "mine",
        tuple("abcdef"),
        data.train_x[train],
        data.train_y[train],
        data.test_x[test],
        data.test_y[test],
    )


def test_the_order_of_sizes_is_told_with_paired_intervals():
    right = np.arange(10_000)
    chances = {
        size: (right < 10_000 * share).astype(float) for size, share in ((2, 0.9), (4, 0.91), (10, 0.912))
    }
    chances[6] = np.roll(chances[4], 3)
    said = findings_of_covers(chances, {2: 88.0, 4: 90.0, 6: 91.9, 8: 92.1, 10: 92.0}, (2, 4, 6, 8, 10))
    assert said[0] == "Not trained yet: R = 8."
    # 120 of 10,000 images are lost and none is won: 1.2 points, standard error 0.109.
    assert "R = 2: -1.20 ± 0.21 (paper: -4.00)" in said[1]
    assert "R = 2, 4, 6, 10 (paper: 2, 4, 6, 10)" in said[2]
    assert "not tell apart: 4 and 6." in said[2]


def test_without_training_the_pages_show_what_is_stored(context):
    context.experts("mnist", [*paper_subsets()[45:], tuple(range(10))])
    context.train = False
    report = reproduce(context, ["mnist", "cifar10"])
    cells = dict(report.sections[0].grids[0].rows)["test, paper's vote"]
    assert [cell.ours is None for cell in cells] == [True, False, False, False, False]
    assert "63 of 63 experts on cifar10 are not trained yet" in report.left_out["cifar10"]
    page = (context.out / "quick.md").read_text(encoding="utf-8")
    assert "## Not run\n\n- `cifar10`: 63 of 63 experts" in page


def lacking(context):
    raise MissingDependencyError("needs torch: pip install 'covote[torch]'")


def test_a_table_that_lacks_a_library_is_left_out(context, monkeypatch):
    monkeypatch.setitem(TABLES, "mnist", Experiment("Table I", lacking))
    assert "covote[torch]" in reproduce(context, ["mnist"]).left_out["mnist"]


def test_unknown_tables_and_profiles_are_named(context, tmp_path):
    with pytest.raises(InputError, match=r"no table 'tableau'.*; choose from mnist"):
        reproduce(context, ["tableau"])
    with pytest.raises(InputError, match="no profile 'huge'"):
        Context(context.source, tmp_path, "huge")


def test_a_folder_that_cannot_be_made_is_named(context, tmp_path):
    (tmp_path / "file").write_text("")
    context.out = tmp_path / "file" / "out"
    with pytest.raises(FileError, match="choose another with --out"):
        reproduce(context, ["mnist"])


def test_beyond_needs_at_least_one_part(context):
    context._images.clear()
    with pytest.raises(DataError, match="is missing"):
        TABLES["beyond"].build(context)


def test_beyond_compares_what_is_there_with_answers_asked_one_by_one_and_mixed_panels(context):
    cover = subsets_of(paper_panel(8))
    more = subsets_of(panels(0)["R = 8, greedy cover completed to redundancy 2"][1])
    assert set(cover) < set(more)
    experts = context.experts("cifar10", [*cover, *more])
    assert [name for name, _ in covers_grid(context, experts).rows] == [
        "R = 8, greedy cover completed to redundancy 2"
    ]
    ((name, cells),) = asking_grid(experts).rows
    assert name == "R = 8"
    everyone, vote, vote_right = (cell.ours for cell in cells[1:4])
    # Answers that cannot change the vote are the only ones that this rule saves.
    assert vote <= 3
    assert vote_right == pytest.approx(everyone)


def test_every_second_expert_of_a_mixed_panel_is_of_the_other_kind(context, monkeypatch):
    def other(seed=0):
        return PatchRidge(PatchFeatures(side=4, filters=3, cells=1, sample=300, mirrored=False), 1.0, 8.0)

    monkeypatch.setattr("paper.tables.beyond.ridge.cifar10", other)
    cover = subsets_of(paper_panel(8))
    ((_, cells),) = mixed_grid(context, context.experts("cifar10", cover)).rows
    first = context.experts("cifar10", cover)
    second = context.experts_by(other(), first.data, cover)
    votes = np.stack(
        [(second, first)[n % 2].by_subset[subset].votes["test"] for n, subset in enumerate(cover)], axis=1
    )
    expected = decoded(Votes.from_dense(votes, first.panel(cover)), first.truth("test"), "authority")
    assert cells[2].ours == pytest.approx(100 * expected)
    assert cells[0].ours > cells[1].ours


def test_the_best_decoders_are_found_where_all_panels_were_measured():
    def line(decoder, whole, broken):
        found = [Measured("mnist", "test", decoder, size, whole) for size in SIZES]
        return found + [Measured("mnist", "test", decoder, size, broken, removed=2) for size in (4, 6)]

    found = line("em", 90.0, 80.0) + line("likelihood", 70.0, 85.0)
    found += line("dawid-skene", 95.0, 95.0)[1:]  # too large for one panel
    assert findings(found) == (
        "MNIST: on whole covers `em` is best (90.00% on average), with two experts removed `likelihood` "
        "(85.00%); the worst on whole covers is `likelihood` (70.00%).",
    )
