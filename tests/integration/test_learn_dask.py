"""Experts are trained on a Dask cluster if joblib is told so."""

import os

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from covote.learn import PanelClassifier

distributed = pytest.importorskip("distributed")


class KnowsWhere(ClassifierMixin, BaseEstimator):
    """Naive Bayes that remembers the process in which it was trained."""

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_, self.process_ = self.model_.classes_, os.getpid()
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address="127.0.0.1:0", host="127.0.0.1"
    )
    with cluster, distributed.Client(cluster) as connected:
        yield connected


def test_the_cluster_trains_the_same_experts(client):
    X, y = load_digits(return_X_y=True)
    here = PanelClassifier(KnowsWhere(), size=4, n_jobs=1).fit(X, y)
    with joblib.parallel_config(backend="dask"):
        there = PanelClassifier(KnowsWhere(), size=4).fit(X, y)
    assert {expert.process_ for expert in here.experts_} == {os.getpid()}
    workers = set(client.run(os.getpid).values())
    assert {expert.process_ for expert in there.experts_} <= workers
    assert np.array_equal(here.predict(X), there.predict(X))
