"""Stored votes: trained once, found again, never mixed up."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pytest

from covote.errors import FileError
from paper.store import Store, read_expert
from paper.trainers import TrainedExpert

from .made_up import bars


@dataclass
class Guesser:
    """Experts that answer by chance, and remember whom they trained; they may stop early."""

    recipe: str = "chance"
    name: str = "by chance"
    surrogate: bool = True
    remarks: tuple = ()
    stop_after: int = 10**9
    trained: list = field(default_factory=list)

    def train(self, data, subsets, progress, folder=None) -> Iterator[TrainedExpert]:
        for subset in subsets:
            if len(self.trained) >= self.stop_after:
                raise KeyboardInterrupt
            rng = np.random.default_rng(subset)
            train, test = (
                rng.dirichlet(np.ones(len(subset)), n).astype(np.float32) for n in (150, len(data.test_y))
            )
            self.trained.append(subset)
            yield TrainedExpert(subset, train, test, 2.5)


def quiet(*_):
    pass


SUBSETS = [(0, 1), (2, 5, 7), (3, 4)]


def test_experts_come_back_as_they_were_trained(tmp_path):
    data, model = bars(), Guesser()
    experts = Store(tmp_path).experts(data, model, SUBSETS, quiet)
    for trained in Guesser().train(data, SUBSETS, quiet):
        kept = experts.by_subset[trained.subset]
        known = np.array(trained.subset)
        assert np.array_equal(kept.votes["test"], known[trained.test.argmax(axis=1)])
        np.testing.assert_allclose(kept.probabilities["train"], trained.train, atol=1e-3)
    again = Store(tmp_path)
    assert experts.seconds == again.experts(data, model, SUBSETS, quiet).seconds == 7.5
    assert experts.train_rows == 150
    assert np.array_equal(experts.truth("train"), data.train_y[:150])
    votes = experts.votes(SUBSETS, "train", soft=True)
    assert (len(votes), votes.soft, votes.panel.names) == (150, True, ("0-1", "2-5-7", "3-4"))


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path):
    store, data = Store(tmp_path), bars()
    with pytest.raises(KeyboardInterrupt):
        store.experts(data, Guesser(stop_after=2), SUBSETS, quiet)
    second, third = Guesser(), Guesser()
    store.experts(data, second, SUBSETS, quiet)
    assert second.trained == [(3, 4)]
    store.experts(data, third, SUBSETS[::-1], quiet)
    assert third.trained == []


def test_other_recipes_and_other_images_are_kept_apart(tmp_path):
    store, data = Store(tmp_path), bars()
    store.experts(data, Guesser(), SUBSETS, quiet)
    for images, model in ((data, Guesser(recipe="other")), (data.reduced(15), Guesser())):
        store.experts(images, model, SUBSETS, quiet)
        assert model.trained == SUBSETS


def test_a_spoilt_file_is_named_with_the_remedy(tmp_path):
    store, data = Store(tmp_path), bars()
    store.experts(data, Guesser(), SUBSETS, quiet)
    path = store.place(data, Guesser()) / "0-1.parquet"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(FileError, match=r"0-1\.parquet is not a file of votes .* remove it and run again"):
        Store(tmp_path).experts(data, Guesser(), SUBSETS, quiet)
    good = path.with_name("3-4.parquet")
    with pytest.raises(FileError, match="votes on 150 training and 100 test images"):
        read_expert(good, bars(test=90))


def test_the_folder_says_what_it_holds(tmp_path):
    place = Store(tmp_path).place(bars(), Guesser())
    Store(tmp_path).experts(bars(), Guesser(), SUBSETS, quiet)
    assert '"trainer": "by chance"' in (place / "about.json").read_text()
