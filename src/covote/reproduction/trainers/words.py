"""Experts on short texts: ridge regression on hashed words and pairs of words."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from covote.reproduction.cores import in_threads
from covote.reproduction.datasets import TextSet
from covote.reproduction.trainers import Progress, Subset, Trained
from covote.reproduction.trainers.ridge import softmax

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class WordRidge:
    """A trainer for text sets; nothing but the expert's own texts enters an expert."""

    features: int = 3072
    penalty: float = 0.3
    sharpness: float = 12.0

    @property
    def name(self) -> str:
        """What the experts are, in words."""
        return f"ridge regression on {self.features} hashed words and pairs of words"

    @property
    def surrogate(self) -> bool:
        """The paper has no experiments on texts."""
        return False

    @property
    def recipe(self) -> str:
        """Everything that decides what comes out."""
        return f"version 2, {self}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """Nothing more to say."""
        return ()

    def train(self, data: TextSet, subsets: Sequence[Subset], progress: Progress) -> Iterator[Trained]:
        """Train one expert per subset."""
        from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

        counts = HashingVectorizer(
            n_features=self.features, ngram_range=(1, 2), alternate_sign=False, norm=None, dtype=np.float32
        )
        # No inverse document frequencies: they would be learned from everybody's texts.
        scale = TfidfTransformer(use_idf=False, sublinear_tf=True)
        train, test = (scale.fit_transform(counts.transform(texts)) for texts in (data.train_x, data.test_x))

        def expert(subset: Subset) -> Trained:
            started = time.thread_time()
            mine = np.isin(data.train_y, subset)
            weights = ridge(train[mine], data.train_y[mine], subset, self.penalty)
            of_train, of_test = (softmax(rows @ weights, self.sharpness) for rows in (train, test))
            return Trained(subset, of_train, of_test, time.thread_time() - started)

        progress(0, len(subsets), f"{data.name}: experts")
        for n, trained in enumerate(in_threads(expert, subsets), start=1):
            yield trained
            progress(n, len(subsets), f"{data.name}: experts")


def ridge(rows: csr_matrix, truth: NDArray[np.int64], subset: Subset, penalty: float) -> NDArray[np.float32]:
    """Return the weights of a ridge regression on one column of zeros and ones per class."""
    from scipy.linalg import cho_factor, cho_solve

    targets = (truth[:, None] == np.array(subset)).astype(np.float32)
    products = (rows.T @ rows).toarray()
    np.einsum("ii->i", products)[:] += np.float32(penalty)
    factor = cho_factor(products, lower=True, overwrite_a=True, check_finite=False)
    return np.asarray(cho_solve(factor, rows.T @ targets, check_finite=False), dtype=np.float32)
