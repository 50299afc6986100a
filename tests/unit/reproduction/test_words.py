"""Experts on texts, beside a plain twin."""

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.linear_model import Ridge

from covote.reproduction.datasets import TextSet
from covote.reproduction.trainers.ridge import WordRidge

WORDS = ("card lost", "card stolen", "top up", "exchange rate", "transfer money")


def questions(number, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, len(WORDS), number)
    fillers = ["please", "help", "me", "with", "my", "the", "today", "again", "how", "why"]
    return [f"{' '.join(rng.choice(fillers, 4))} {WORDS[k]}" for k in truth], truth


def test_an_expert_is_the_ridge_regression_of_its_own_texts():
    (train_x, train_y), (test_x, test_y) = questions(200, 0), questions(40, 1)
    data = TextSet("made up", WORDS, train_x, train_y, test_x, test_y)
    model, subsets = WordRidge(features=64, penalty=0.3), [(0, 1), (1, 3, 4)]
    found = list(model.train(data, subsets, lambda *_: None))
    assert [expert.subset for expert in found] == subsets
    counts = HashingVectorizer(n_features=64, ngram_range=(1, 2), alternate_sign=False, norm=None)
    scale = TfidfTransformer(use_idf=False, sublinear_tf=True)
    rows, asked = (scale.fit_transform(counts.transform(texts)) for texts in (train_x, test_x))
    for expert in found:
        mine = np.isin(train_y, expert.subset)
        one_hot = (train_y[mine, None] == expert.subset).astype(float)
        twin = Ridge(alpha=0.3, fit_intercept=False, solver="cholesky").fit(rows[mine], one_hot)
        scores = np.exp(model.sharpness * twin.predict(asked))
        np.testing.assert_allclose(expert.test, scores / scores.sum(axis=1, keepdims=True), atol=1e-4)
        assert expert.train.shape == (200, len(expert.subset))
        known = np.isin(test_y, expert.subset)
        assert (np.array(expert.subset)[expert.test.argmax(axis=1)] == test_y)[known].mean() > 0.9
