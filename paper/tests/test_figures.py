"""The figures: FedAvg beside one-shot votes, and answers about unfamiliar classes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from covote.errors import DataError
from paper import paper_values
from paper.datasets import DataSource
from paper.experiment import SIZES, Context, paper_panel, paper_subsets
from paper.store import write_expert
from paper.tables import fedavg, greedy_covers, justification
from paper.tables.fedavg import ONE_SHOT, SCHEMES, Task
from paper.tests.made_up import bars
from paper.trainers import TrainedExpert
from paper.trainers.neural import quick_softmax


def a_context(folder: Path, profile: str = "quick") -> Context:
    context = Context(DataSource(folder), folder / "out", profile, curves=lambda size, scheme: False)
    # More images of a class than a plan wants.
    context._images["mnist"] = bars(train=8000, test=100, name="mnist")
    context._images["cifar10"] = bars(train=8000, test=100, name="cifar10", seed=1)
    return context


def keep_curves(context: Context, one_shot: float, averaged: float) -> None:
    """Write what an earlier run would have stored: straight curves with the given ends."""
    for name, plan in fedavg.PLANS[context.profile].items():
        data = context.images(name).reduced(plan.per_class)
        for size in SIZES:
            work = len(paper_panel(size)) * size * plan.per_class * plan.epochs
            for scheme in (ONE_SHOT, *SCHEMES):
                ends = (
                    [(work, one_shot)]
                    if scheme == ONE_SHOT
                    else [(work, averaged), (2 * work, averaged + 30)]
                )
                file = Task(size, scheme, plan, context.seed).file(context.store.folder, data)
                file.parent.mkdir(parents=True, exist_ok=True)
                np.savez(file, curve=np.array([[seen, right, right, 1.0] for seen, right in ends]).T)


def test_fedavg_is_compared_at_equal_compute_and_not_at_its_end(tmp_path):
    context = a_context(tmp_path)
    keep_curves(context, one_shot=90.0, averaged=70.0)
    section = fedavg.build(context)
    for grid in section.grids[:2]:
        rows = {name: [cell.ours for cell in cells] for name, cells in grid.rows}
        assert rows["one-shot votes: test accuracy"] == [90.0] * 4
        assert rows["all clients: test accuracy"] == [100.0] * 4
        assert rows["FedAvg at equal compute, all clients"] == [70.0] * 4
    verdicts = [claim for claim in section.claims if "at equal compute" in claim.text]
    assert len(verdicts) == 4
    assert all("R = 2: 90.0 and 70.0%" in claim.evidence for claim in verdicts)
    assert {claim.verdict for claim in verdicts} == {"holds"}
    assert section.seconds == 2 * 4 * 3 * 1.0
    assert section.surrogate
    printed = {name: cells[0] for name, cells in section.grids[2].rows}
    assert printed["MNIST, R = 2, 2 clients per round, test, round 200"].paper == 93.1
    assert printed["MNIST, R = 2, 2 clients per round, test, round 200"].ours is None
    assert printed["CIFAR-10, best R of 4, all clients, test, last round"].ours == 100.0
    # Everything that the paper's text says about its curves in numbers.
    values = [48.5, 93.1, 31.52, 67.25, 47.5, 78.37, 89.24, 100.0, 71.1, 70.8]
    assert [cell.paper for cell in printed.values()] == values


@pytest.mark.parametrize(("averaged", "said"), [(65.0, "does not hold"), (61.0, "cannot be told")])
def test_where_fedavg_is_ahead_it_is_said(tmp_path, averaged, said):
    context = a_context(tmp_path)
    keep_curves(context, one_shot=60.0, averaged=averaged)
    verdicts = [claim for claim in fedavg.build(context).claims if "at equal compute" in claim.text]
    assert {claim.verdict for claim in verdicts} == {said}


def test_what_is_stored_can_be_shown_without_training_and_in_part(tmp_path):
    context = a_context(tmp_path)
    context.train = False
    with pytest.raises(DataError, match="run again without --stored"):
        fedavg.build(context)
    keep_curves(context, 90.0, 70.0)
    for path in context.store.folder.rglob("*.npz"):
        if not path.name.startswith("mnist-2-2-clients"):
            path.unlink()
    section = fedavg.build(context)
    rows = {name: [cell.ours for cell in cells] for name, cells in section.grids[0].rows}
    assert rows["2 clients per round: test accuracy"] == [100.0, None, None, None]
    assert rows["one-shot votes: test accuracy"] == [None] * 4
    assert {claim.verdict for claim in section.claims} == {"cannot be told"}
    assert [picture.name for picture in section.pictures] == ["fedavg-mnist"]


def test_the_curves_are_drawn_with_the_papers_numbers_as_marks(tmp_path):
    context = a_context(tmp_path)
    keep_curves(context, 90.0, 70.0)
    marks = {}
    for picture in fedavg.build(context).pictures:
        panels = picture.figure.axes
        assert [axes.get_title() for axes in panels] == [
            f"{scheme}, {split}" for split in ("train", "test") for scheme in SCHEMES
        ]
        for axes in panels:
            for line in axes.lines:
                if line.get_marker() == "x":
                    marks[picture.name, axes.get_title()] = line.get_xydata().tolist()
    assert marks == {
        ("fedavg-mnist", "2 clients per round, test"): [[100, 48.5], [200, 93.1]],
        ("fedavg-cifar10", "2 clients per round, train"): [[200, 31.52], [400, 67.25]],
        ("fedavg-cifar10", "2 clients per round, test"): [[400, 47.5]],
        ("fedavg-cifar10", "all clients, train"): [[200, 78.37], [400, 89.24]],
    }


def test_two_clients_average_as_long_as_in_the_paper():
    plans = fedavg.PLANS["paper"]
    mnist, cifar10 = plans["mnist"], plans["cifar10"]
    assert (mnist.rounds[0], mnist.local.batch, mnist.per_class) == (200, 128, None)
    assert (cifar10.rounds[0], cifar10.local.batch, cifar10.per_class) == (400, 32, None)
    assert (mnist.local.network, cifar10.local.network) == ("mnist_cnn", "tutorial_cnn")


def test_every_plan_has_at_least_100_rounds_with_two_clients_and_20_with_all():
    for plans in fedavg.PLANS.values():
        assert all(plan.rounds[0] >= 100 and plan.rounds[1] >= 20 for plan in plans.values())


def keep_experts(context: Context, sure: float) -> None:
    """Store experts that answer with one probability, always their first class, or by the image's number."""
    data = context.images("mnist")
    place = context.store.place(data, quick_softmax())
    place.mkdir(parents=True)
    for n, subset in enumerate(paper_subsets()):
        test = np.full((100, len(subset)), (1 - sure) / (len(subset) - 1), dtype=np.float32)
        # Images come in turns of ten classes: the tens make answers about one class uniform over two.
        first = np.zeros(100, dtype=int) if n % 2 else np.arange(100) // 10 % 2
        test[np.arange(100), first] = sure
        write_expert(
            place / f"{'-'.join(map(str, subset))}.parquet",
            TrainedExpert(subset, test[:0], test, seconds=1.0),
        )


@pytest.mark.parametrize(("sure", "share", "said"), [(0.95, 100.0, "holds"), (0.8, 0.0, "does not hold")])
def test_the_share_of_sure_answers_is_counted_and_judged(tmp_path, sure, share, said):
    context = a_context(tmp_path)
    keep_experts(context, sure)
    section = justification.build(context)
    softmax, entropy = (dict(grid.rows) for grid in section.grids)
    assert [cell.ours for cell in softmax["unfamiliar, above 0.9"]] == [share] * 5
    assert section.claims[0].verdict == said
    # Experts of two classes: every second is uniform, the others always say the same.
    assert entropy["above 0.9, nearly uniform"][0].ours == pytest.approx(100 * 23 / 45)
    assert entropy["below 0.1, nearly always the same answer"][0].ours == pytest.approx(100 * 22 / 45)
    assert section.seconds == 62
    assert len(section.pictures) == 2


def test_entropy_equals_its_plain_formula():
    votes = np.array([1, 1, 1, 4, 6, 6])
    p = np.array([3, 1, 2]) / 6
    assert justification.normalised_entropy(votes, (1, 4, 6)) == pytest.approx(
        -sum(p * np.log(p)) / np.log(3)
    )


def test_one_stored_cover_is_not_called_the_worst():
    right = {8: np.ones(100), 10: np.arange(100) % 2.0}
    said = " ".join(greedy_covers.findings(right, paper_values.CIFAR10["test"]))
    assert "Not trained yet: R = 2, 4, 6." in said
    claim = greedy_covers.judge_gaps(right, paper_values.CIFAR10["test"])
    assert "R = 8: +50.00 ± 9.85 (paper: +0.01)" in claim.evidence
