"""The tables: what they compute, on a made-up set of images; and the run as a whole."""

import re
from dataclasses import replace

import numpy as np
import pytest

from covote import Panel, Votes
from covote.errors import DataError, FileError, InputError, MissingDependencyError
from paper import paper_values
from paper.datasets import DataSource, Predictions
from paper.experiment import (
    DEFAULT,
    PAPER,
    SIZES,
    TRAINERS,
    Context,
    label_accuracy,
    paper_panel,
    paper_subsets,
    subsets_of,
)
from paper.pages import stored_row
from paper.reproduce import reproduce
from paper.tables import TABLES, Experiment, missing, random
from paper.tables.beyond import (
    covers_grid,
    likeness,
    panels,
    restricted_votes,
)
from paper.tables.greedy_covers import findings as findings_of_covers
from paper.tables.greedy_covers import judge_gaps
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
    assert label_accuracy(votes, truth, method="authority") == pytest.approx((1 / 3 + 1 + 0) / 3)


def test_every_removal_is_tried_once_and_samples_repeat():
    panel = subsets_of(paper_panel(6))
    assert len(missing.reduced_panels(panel, 1, None, 0)) == 5
    pairs = missing.reduced_panels(panel, 2, None, 0)
    assert len({tuple(rest) for rest in pairs}) == 10
    assert all(len(rest) == 3 for rest in pairs)
    some = missing.reduced_panels(panel, 2, 4, 1)
    assert some == missing.reduced_panels(panel, 2, 4, 1)
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
        panels = random.draws(size, 0)
        assert len(panels) == random.DRAWS
        assert all(len(set(panel)) == len(panel) == paper_values.GREEDY_SIZES[size] + 3 for panel in panels)
        assert len({tuple(panel) for panel in panels}) == len(panels)


def test_random_panels_are_judged_by_intervals_paired_with_the_cover(context):
    section = random.build(context)
    fewer, more = section.claims
    assert len(section.grids) == len(random.SIZES)
    rows = dict(section.grids[0].rows)
    draws = [[cell.ours for cell in rows[f"test, {PAPER}: draw {n}"][:4]] for n in (1, 2)]
    assert [cell.ours for cell in rows[f"test, {PAPER}: mean"][:4]] == pytest.approx(np.mean(draws, axis=0))
    assert [cell.paper for cell in rows[f"test, {PAPER}: mean"][:4]] == [84.33, 84.98, 85.47, 87.22]
    cover = rows[f"test, {PAPER}: mean"][4].ours
    assert f"m = 9: {draws[0][0] - cover:+z.2f} ± " in fewer.evidence
    assert "R = 4" in fewer.evidence
    assert "R = 8" in fewer.evidence
    # Panels of 100 test images: hardly anything can be told.
    assert more.verdict in ("cannot be told", "does not hold") or "cannot be told" in more.verdict


def test_a_random_panel_beats_the_cover_only_beyond_what_the_best_of_many_has_by_chance():
    def judged(best, half):
        gaps = {(m, draw): (-2.0, half) for m in random.numbers(8) for draw in range(2)}
        return random._claims({8: gaps | {(6, 1): (best, half)}}, [])

    fewer, more = judged(1.0, 0.5)
    assert (fewer.verdict, more.verdict) == ("holds", "holds")
    assert judged(0.7, 0.5)[1].verdict == "cannot be told"  # 0.7 is beyond 0.5, but not beyond 0.76
    assert judged(-1.0, 0.5)[1].verdict == "does not hold"


def test_every_class_is_equally_likely_in_random_panels():
    counts = np.zeros(10)
    for seed in range(200):
        for panel in random.draws(4, seed):
            for subset in panel:
                counts[list(subset)] += 1
    expected = counts.sum() / 10
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_cut_networks_answer_only_what_they_know_and_are_right_where_the_network_is():
    rng = np.random.default_rng(0)
    best = np.stack([[rng.permutation(6)[:5] for _ in range(2)] for _ in range(200)]).astype(np.uint16)
    stored = Predictions(("a", "b"), best, rng.integers(0, 6, 40), 6)
    rows = np.arange(200)
    panel = Panel(6, [[1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 1], [1, 0, 0, 1, 1, 0]])
    votes = restricted_votes(stored, panel, rows, likeness(stored, rows))
    Votes.from_dense(votes, panel)  # raises if an expert answered what it does not know
    for n in rows:
        for i in range(3):
            known = [k for k in best[n, i % 2] if panel.knows[i, k]]
            assert not known or votes[n, i] == known[0]


def test_a_run_writes_pages_and_the_next_one_trains_nothing(context, monkeypatch):
    report = reproduce(context, ["mnist", "random"])
    assert [section.name for section in report.sections] == ["mnist", "random"]
    markdown = report.page.read_text()
    assert "Surrogate" in markdown
    assert "98.98" in markdown
    assert markdown.count(".svg)") == 2
    test = report.as_dict()["sections"][0]["grids"][0]["rows"]["test, paper's vote"]
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
    assert "## Not run yet\n\n- Table II:" in report.page.read_text()


def test_pages_show_what_earlier_runs_finished(context, monkeypatch):
    page = reproduce(context, ["cifar10"]).page
    before = page.read_text()
    reproduce(context, ["mnist"])
    both = page.read_text()
    assert re.findall("^## (.*?)[:\n]", both, re.MULTILINE) == [
        "What holds",
        "Table I",
        "Table II",
        "Not run yet",
    ]
    assert both.count(".svg)") == 2
    claims = [line.split(" | ") for line in both.splitlines() if line.startswith("| Table ")]
    assert [row[0] for row in claims] == ["| Table I", "| Table II"]
    old = before[before.index("## Table II") :]
    assert old[: old.index("## Not run yet")] in both
    # A table that is built again replaces its own section and claims; what cannot run now stays.
    monkeypatch.setitem(TABLES, "mnist", replace(TABLES["mnist"], build=lacking))
    assert list(reproduce(context, ["mnist", "cifar10"]).left_out) == ["mnist"]
    assert page.read_text() == both


def test_the_order_of_sizes_is_told_with_paired_intervals():
    right = np.arange(10_000)
    chances = {
        size: (right < 10_000 * share).astype(float) for size, share in ((2, 0.9), (4, 0.91), (10, 0.912))
    }
    chances[6] = np.roll(chances[4], 3)
    said = findings_of_covers(chances, {2: 88.0, 4: 90.0, 6: 91.9, 8: 92.1, 10: 92.0})
    assert said[0] == "Not trained yet: R = 8."
    assert "R = 2, 4, 6, 10 (paper: 2, 4, 6, 10)" in said[1]
    assert "not tell apart: 4 and 6." in said[1]
    claim = judge_gaps(chances, {2: 88.0, 4: 90.0, 6: 91.9, 8: 92.1, 10: 92.0})
    # 120 of 10,000 images are lost and none is won: 1.2 points, standard error 0.109.
    assert "R = 2: -1.20 ± 0.21 (paper: -4.00)" in claim.evidence
    assert claim.verdict == "holds: R = 4, R = 6; cannot be told: R = 2"


def test_without_training_the_pages_show_what_is_stored(context):
    context.experts("mnist", [*paper_subsets()[45:], tuple(range(10))])
    context.train = False
    report = reproduce(context, ["mnist", "cifar10"])
    cells = dict(report.sections[0].grids[0].rows)["test, paper's vote"]
    assert [cell.ours is None for cell in cells] == [True, False, False, False, False]
    assert "63 of 63 experts on cifar10 are not trained yet" in report.left_out["cifar10"]


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


def test_beyond_compares_the_covers_that_are_there(context):
    cover = subsets_of(paper_panel(8))
    more = subsets_of(panels(0)["R = 8, greedy cover completed to redundancy 2"][1])
    assert set(cover) < set(more)
    experts = context.experts("cifar10", [*cover, *more])
    assert [name for name, _ in covers_grid(context, experts).rows] == [
        "R = 8, greedy cover completed to redundancy 2"
    ]


def test_the_table_with_less_data_is_compared_with_what_the_page_has(context):
    fewer = replace(context, _images={"cifar10": bars(6000, 100, seed=1, noise=90, name="cifar10")})
    (claim,) = reproduce(fewer, ["lessdata"]).sections[0].claims
    assert (claim.verdict, "Table II is not on this page" in claim.evidence) == ("cannot be told", True)
    (table,) = reproduce(context, ["cifar10"]).sections
    (claim,) = reproduce(fewer, ["lessdata"]).sections[0].claims
    whole = dict(table.grids[0].rows)[f"test, {PAPER}"][0].ours
    assert stored_row(context.page, "Table II", f"test, {PAPER}")[0] == pytest.approx(whole, abs=0.005)
    few = dict(reproduce(fewer, ["lessdata"]).sections[0].grids[0].rows)[f"test, {PAPER}"][0].ours
    assert f"R = 2: {whole - few:.2f} ± " in claim.evidence
