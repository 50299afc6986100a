"""Work over the cores: in order, bounded, and the same on any number of them."""

import threading

import numpy as np
import pytest

from paper import cores
from paper.cores import in_threads
from paper.trainers.patches import PatchFeatures
from paper.trainers.ridge import PatchRidge

from .made_up import bars


def test_results_come_in_order_from_several_threads(monkeypatch):
    monkeypatch.setattr(cores, "cores", lambda: 3)
    together = threading.Barrier(3)

    def wait(n):
        if n < 3:
            together.wait(60)  # only three threads at once get past this
        return n

    assert list(in_threads(wait, range(10))) == list(range(10))


def test_few_results_wait_to_be_taken(monkeypatch):
    monkeypatch.setattr(cores, "cores", lambda: 2)
    begun = []
    results = in_threads(begun.append, range(100))
    next(results)
    assert len(begun) <= 5
    results.close()
    assert len(begun) <= 5


def test_an_error_comes_out_at_its_place():
    results = in_threads(lambda n: 1 / n, [2, 1, 0, 1])
    assert next(results) == 0.5
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_quick_experts_do_not_depend_on_the_number_of_cores(monkeypatch):
    data = bars(300, 50)
    model = PatchRidge(PatchFeatures(side=4, filters=40, cells=3, sample=2000), 1e-2, 8.0)
    subsets = [(k, k + 1) for k in range(9)] + [tuple(range(10))]
    answers = []
    for number in (1, 3):
        monkeypatch.setattr(cores, "cores", lambda number=number: number)
        answers.append(
            [np.concatenate([t.train, t.test]) for t in model.train(data, subsets, lambda *_: None)]
        )
    for one, other in zip(*answers, strict=True):
        assert np.array_equal(one, other)
